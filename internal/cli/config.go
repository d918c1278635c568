package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/load"
)

func newConfig(t terminal) *cobra.Command {
	f := new(sessionFlags)
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings and where they come from",
		Long: `Config shows every setting of a session in a directory, its value and where that comes from. These places count, the
first before the later ones:

  flags, which config takes as run does, to try them
  variables: ATTRACTOR_ and the name of the setting in capitals, such as ATTRACTOR_MODEL; an empty one counts as not set
  .attractor/config.json of the project, once you trust it (attractor trust); it can choose little
  $XDG_CONFIG_HOME/attractor/config.json (or ~/.config/attractor/config.json), which is yours
  your settings of Claude Code, codex and gemini-cli, for what they say about safety and models (docs/configuration.md)

A file is a JSON object whose members are named as the settings are:

  {"provider": "anthropic", "model": "claude-sonnet-5-5", "budget_usd": 5, "allow_host": ["proxy.golang.org"]}

docs/configuration.md describes the settings, and which of them a project can choose.`,
		Example: `  attractor config
  attractor config --dir ~/project --sandbox workspace
  attractor config --json | jq '.settings[] | select(.origin != "default")'`,
		Args: func(_ *cobra.Command, given []string) error { return notSetHere(given) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.readSettings(cmd.Flags(), false); err != nil {
				return err
			}
			r, err := f.report(dir)
			if err != nil {
				return err
			}
			if asJSON {
				return printMaskedJSON(t, r)
			}
			return maskedOut(t, r.print)
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().StringVar(&dir, "dir", ".", "show the settings of sessions in this `directory`")
	cmd.Flags().BoolVar(&asJSON, "json", false,
		"print a JSON object: settings, files, problems, and other_settings (of other agents, without an effect here)")
	return cmd
}

// notSetHere returns an error for arguments such as set or get, with the file in which settings are
// changed.
func notSetHere(given []string) error {
	err := unexpected(0, given)
	if err == nil {
		return nil
	}
	name, fileErr := settings.File(os.Getenv)
	if fileErr != nil {
		return err
	}
	return fmt.Errorf("%w: config shows all settings, and your own are in the file %s (attractor config --help)", err,
		name)
}

// settingsReport holds what config shows.
type settingsReport struct {
	Settings []shownSetting `json:"settings"`
	Files    []settingsFile `json:"files"`
	Problems []string       `json:"problems"`
	Other    []string       `json:"other_settings,omitempty"` // of other agents, which have no effect
}

// shownSetting is a setting with its value. A list has several values, also from several places.
type shownSetting struct {
	Setting string         `json:"setting"`
	Value   []string       `json:"value"` // as a flag takes it; empty for a default that depends on other settings
	Origin  settings.Place `json:"origin"`
	From    []string       `json:"from"` // the flags, variables and lines
	Unused  []unusedValue  `json:"unused,omitempty"`
}

// unusedValue is a value that does not count.
type unusedValue struct {
	Value  []string       `json:"value"`
	Origin settings.Place `json:"origin"`
	From   string         `json:"from"`
	Why    string         `json:"why"`
}

// settingsFile is a file of settings that may exist.
type settingsFile struct {
	Name  string         `json:"name"`
	Whose settings.Place `json:"whose"`
	State string         `json:"state"`
}

// report returns the settings of sessions in a directory, with those of its project.
func (f *sessionFlags) report(dir string) (*settingsReport, error) {
	p, err := load.ReadProject(dir, os.Getenv, f.trustProject)
	if err != nil {
		return nil, hostError(err)
	}
	r := &settingsReport{Problems: []string{}}
	for _, problem := range f.settings.UseProject(p.SettingsFile()) {
		r.Problems = append(r.Problems, problem.Error())
	}
	r.Problems = append(r.Problems, settings.StrayVariables(os.Environ())...)
	for _, s := range settings.All() {
		r.Settings = append(r.Settings, f.show(&s))
	}
	if name, err := settings.File(os.Getenv); err == nil {
		r.Files = append(r.Files, settingsFile{name, settings.PlaceUser, thereOrNot(name)})
	}
	r.Files = append(r.Files, settingsFile{p.SettingsFile().Name, settings.PlaceProject, p.SettingsState()})
	r.Other = load.OtherSettings(p, os.Getenv)
	return r, nil
}

// show describes a setting.
func (f *sessionFlags) show(s *settings.Setting) shownSetting {
	shown := shownSetting{Setting: s.Key, Value: []string{}, From: []string{}}
	for _, v := range f.settings.All(s.Key) {
		if v.Unused != "" {
			shown.Unused = append(shown.Unused, unusedValue{v.Shown(), v.Origin.Place, v.Origin.String(), v.Unused})
			continue
		}
		shown.Origin = max(shown.Origin, v.Origin.Place)
		shown.Value, shown.From = append(shown.Value, v.Shown()...), append(shown.From, v.Origin.String())
	}
	if len(shown.From) == 0 && s.Default != "" {
		shown.Value = []string{s.Default}
	}
	return shown
}

// print prints the settings for a person.
func (r *settingsReport) print(t terminal) error {
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	if len(r.Settings) > 0 { // doctor shows only those that somebody has set
		fmt.Fprintln(w, "SETTING\tVALUE\tFROM")
	}
	for _, s := range r.Settings {
		from := strings.Join(s.From, "; ")
		if s.Origin == settings.PlaceDefault {
			from = "default"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Setting, cmp.Or(render.Shorten(strings.Join(s.Value, ", "), 80), "-"),
			render.OneLine(from))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(r.Settings) > 0 {
		fmt.Fprintln(t.out)
	}
	for _, s := range r.Settings {
		for _, u := range s.Unused {
			fmt.Fprintf(t.out, "%s: %s %s is not used: %s\n", render.OneLine(u.From), s.Setting,
				render.Shorten(strings.Join(u.Value, ", "), 80), render.OneLine(u.Why))
		}
	}
	for _, f := range r.Files {
		fmt.Fprintf(t.out, "%s (%s): %s\n", render.OneLine(f.Name),
			map[settings.Place]string{settings.PlaceUser: "yours", settings.PlaceProject: "the project's"}[f.Whose],
			render.OneLine(f.State))
	}
	for _, other := range r.Other {
		fmt.Fprintln(t.out, render.OneLine(other))
	}
	for _, problem := range r.Problems {
		warn(t.err, render.OneLine(problem))
	}
	return nil
}
