package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/permit"
)

// settingFlags are flags that choose settings, which files and variables can choose as well.
type settingFlags struct {
	// settings is who has chosen what. It is nil before readSettings.
	settings *settings.Values
}

// register adds the flags of the settings with these keys, or of all.
func (f *settingFlags) register(flags *pflag.FlagSet, keys ...string) {
	for _, s := range settings.All() {
		if s.Kind == settings.KindProviders || keys != nil && !slices.Contains(keys, s.Key) {
			continue
		}
		flag := flags.VarPF(&settingFlag{Setting: s}, s.Flag(), "", s.Usage)
		if s.Kind == settings.KindSwitch {
			flag.NoOptDefVal = "true"
		}
	}
}

// readSettings reads what the flags, the user's files and variables of the environment choose.
// Resumes says that the session is an earlier one or a fork.
func (f *settingFlags) readSettings(flags *pflag.FlagSet, resumes bool) error {
	given, err := givenValues(flags)
	if err != nil {
		return err
	}
	values, err := settings.Users(os.Getenv)
	if err != nil {
		return hostError(&attractor.Error{Kind: attractor.ErrConfig, Err: err})
	}
	values = append(values, settings.ReadOthers(os.Getenv).Values...)
	f.settings = settings.Choose(append(given, values...), resumes)
	return nil
}

// readFirst lets a command that runs no session read the settings before it runs.
func (f *settingFlags) readFirst(cmd *cobra.Command) {
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return f.readSettings(cmd.Flags(), false) }
}

// sandboxOptions returns what confines commands.
func (f *settingFlags) sandboxOptions() sandbox.Options {
	return sandbox.Options{Level: sandbox.Level(f.settings.Text("sandbox")),
		Network:    f.settings.Text("network") == "true",
		AllowHosts: f.settings.List("allow_host"), AllowSockets: f.settings.List("allow_socket")}
}

// limits returns the limits of each command.
func (f *settingFlags) limits() (l env.Limits) {
	for _, v := range slices.Backward(f.settings.Counting("limit")) { // the highest place last
		_ = settings.ParseLimits(&l, v.One()) // which has been checked
	}
	return l
}

// settingFlag is the value of a flag that chooses a setting.
type settingFlag struct {
	settings.Setting
	texts []string // nil if the flag is not on the command line
}

// Set takes a value from the command line. Whether there is such a value, readSettings says.
func (f *settingFlag) Set(text string) error {
	if !f.Joins && !f.IsList() {
		f.texts = nil
	}
	f.texts = append(f.texts, text)
	return nil
}

// String returns the value, or the default.
func (f *settingFlag) String() string {
	if f.texts == nil {
		return f.Default
	}
	return strings.Join(f.texts, ",")
}

// Type returns what kind of value it is. The names are those of pflag: a shell's completion offers
// an array again when it is there.
func (f *settingFlag) Type() string {
	switch f.Kind {
	case settings.KindList, settings.KindFiles:
		return "stringArray"
	case settings.KindSwitch:
		return "bool"
	case settings.KindText, settings.KindPrompt:
		return "string"
	}
	return string(f.Kind)
}

// givenValues returns what the flags on the command line choose.
func givenValues(flags *pflag.FlagSet) (values []settings.Value, err error) {
	flags.VisitAll(func(flag *pflag.Flag) {
		f, is := flag.Value.(*settingFlag)
		if !is || !flag.Changed {
			return
		}
		texts := []string{f.String()}
		if f.IsList() {
			texts = f.texts
		}
		for _, text := range texts {
			if wrong := f.CheckFlag(text); wrong != nil && err == nil {
				err = fail(exitUsage, "--%s %w", flag.Name, wrong)
			}
		}
		v, _ := settings.New(f.Key, texts, ofFlag(flag.Name)) // which has been checked
		values = append(values, v)
	})
	for flag, mode := range map[string]permit.Mode{"yes": permit.ModeFull, "ask": permit.ModeAsk,
		"read-only": permit.ModeReadOnly} {
		if f := flags.Lookup(flag); f != nil && f.Value.String() == "true" {
			values = append(values, settings.Value{Key: "mode", Text: []string{string(mode)}, Origin: ofFlag(flag)})
		}
	}
	return values, err
}

// ofFlag returns the origin of what a flag chooses.
func ofFlag(name string) settings.Origin {
	return settings.Origin{Place: settings.PlaceFlag, Name: "--" + name}
}
