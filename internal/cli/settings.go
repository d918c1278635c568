package cli

import (
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/permit"
)

// readSettings gives the flags that are not on the command line the values that the user's file and
// variables of the environment choose. Every command that runs sessions calls it before it checks
// the flags. Resumes says that the session is an earlier one or a fork.
func (f *sessionFlags) readSettings(flags *pflag.FlagSet, resumes bool) (err error) {
	given := f.limits.Limits
	f.settings, err = setFlags(flags, resumes, nil)
	f.limits.add(given) // each limit of the flag replaces that of a lower place
	return err
}

// fromSettings lets a command that runs no session, and has some flags of sessions, take their
// values from the settings with these keys. Once it runs, chosen has who has chosen what.
func fromSettings(cmd *cobra.Command, keys ...string) (chosen *settings.Values) {
	chosen = new(settings.Values)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		values, err := setFlags(cmd.Flags(), false, keys)
		if err == nil {
			*chosen = *values
		}
		return err
	}
	return chosen
}

// setFlags sets the flags that are not on the command line to the values of settings with these
// keys, or of all.
func setFlags(flags *pflag.FlagSet, resumes bool, keys []string) (*settings.Values, error) {
	values, err := settings.Users(os.Getenv)
	if err != nil {
		return nil, hostError(&attractor.Error{Kind: attractor.ErrConfig, Err: err})
	}
	values = append(values, settings.ReadOthers(os.Getenv).Values...)
	chosen := settings.Choose(append(givenValues(flags), values...), resumes)
	for _, s := range settings.All() {
		flag := flags.Lookup(s.Flag())
		if flag == nil || keys != nil && !slices.Contains(keys, s.Key) {
			continue
		}
		values := chosen.Counting(s.Key)
		if s.Key == "limit" { // the last one that sets a limit counts
			slices.Reverse(values)
		}
		for _, v := range values {
			if v.Origin.Place == settings.PlaceFlag || v.Origin.Place == settings.PlaceOther && s.Joins {
				continue // the session adds those of other agents itself, if it is on this machine
			}
			for _, text := range v.Text {
				if err := flag.Value.Set(text); err != nil { // not flags.Set: nobody has given the flag
					return nil, fail(exitUsage, "%s: %w", v.Origin, err)
				}
			}
		}
	}
	return chosen, nil
}

// givenValues returns the settings that flags on the command line choose.
func givenValues(flags *pflag.FlagSet) (values []settings.Value) {
	for _, s := range settings.All() {
		flag := flags.Lookup(s.Flag())
		if flag == nil || !flag.Changed {
			continue
		}
		text := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			text = list.GetSlice()
		}
		values = append(values, settings.Value{Key: s.Key, Text: text,
			Origin: settings.Origin{Place: settings.PlaceFlag, Name: "--" + s.Flag()}})
	}
	for flag, mode := range map[string]permit.Mode{"yes": permit.ModeFull, "ask": permit.ModeAsk,
		"read-only": permit.ModeReadOnly} {
		if f := flags.Lookup(flag); f != nil && f.Value.String() == "true" {
			values = append(values, settings.Value{Key: "mode", Text: []string{string(mode)},
				Origin: settings.Origin{Place: settings.PlaceFlag, Name: "--" + flag}})
		}
	}
	return values
}
