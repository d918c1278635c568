package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/lookpath"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/load"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newDoctor(t terminal) *cobra.Command {
	d := new(doctor)
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what a session here would use, and what is wrong",
		Long: `Doctor shows what a session in a directory would use: the provider, the model, the mode and the sandbox, the files of configuration, which
variables have keys (never the keys), which levels of the sandbox work on this machine, MCP servers, hooks, rules, and what is read from whom.
Then it names what in the settings of other agents has no effect here, and each problem with what to do.

It makes no request. MCP servers are started only with --servers, and those of a project only once you trust it.

The exit code is 1 if something is broken: if no session could begin here, or a file has mistakes.`,
		Example: `  attractor doctor
  attractor doctor --dir ~/project --servers`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return maskedOut(t, func(t terminal) error {
				d.terminal = t
				return d.run(cmd.Context())
			})
		},
	}
	cmd.Flags().StringVar(&d.dir, "dir", ".", "look at sessions in this `directory`")
	cmd.Flags().BoolVar(&d.servers, "servers", false, "start the MCP servers, to see whether they work")
	cmd.Flags().BoolVar(&d.trustProject, "trust-project", false, "look as if the project were trusted")
	return cmd
}

// doctor looks at what a session would use.
type doctor struct {
	terminal
	dir                   string
	servers, trustProject bool

	flags    *sessionFlags // those of run, none of which is given
	project  *load.Project
	profile  string   // that a session would have, or ""
	problems []string // lines about what is broken, with what to do
	found    int      // how many problems they are about
	hints    []string // what a person may want to know
}

// run prints everything.
func (d *doctor) run(ctx context.Context) (err error) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	d.flags = new(sessionFlags)
	d.flags.register(flags)
	d.flags.trustProject = d.trustProject
	if err := printVersion(d.terminal); err != nil {
		return err
	}
	if d.project, err = load.ReadProject(d.dir, os.Getenv, d.flags.trustProject); err != nil {
		return hostError(err)
	}
	d.session(ctx, flags)
	d.configuration()
	d.keys()
	d.sandboxes()
	d.rules()
	d.mcp(ctx)
	d.hooks()
	d.extensions()
	d.documents(ctx)
	return d.verdict()
}

// section prints a title.
func (d *doctor) section(title string) { fmt.Fprintf(d.out, "\n%s\n", title) }

// line prints a line of a section, with what follows a name.
func (d *doctor) line(name, format string, args ...any) {
	fmt.Fprintf(d.out, "  %-14s %s\n", render.OneLine(name), render.OneLine(fmt.Sprintf(format, args...)))
}

// shown prints what another command prints.
func (d *doctor) shown(print func(t terminal) error) {
	var text bytes.Buffer
	t := d.terminal
	t.out, t.err = &text, &text
	if err := print(t); err != nil {
		d.broken(err)
	}
	for line := range strings.Lines(text.String()) {
		fmt.Fprintf(d.out, "  %s", strings.TrimPrefix(line, "attractor: "))
	}
}

// broken keeps a problem.
func (d *doctor) broken(err error) {
	before := len(d.problems)
	for line := range strings.SplitSeq(render.Error(err.Error()), "\n") {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(d.problems, line) {
			d.problems = append(d.problems, line)
		}
	}
	if len(d.problems) > before {
		d.found++
	}
}

// session prints what a session would use.
func (d *doctor) session(ctx context.Context, flags *pflag.FlagSet) {
	dir, err := filepath.Abs(d.dir)
	if err != nil {
		dir = d.dir
	}
	d.section("A session in " + render.OneLine(dir))
	if err := d.flags.readSettings(flags, false); err != nil {
		d.broken(err)
		return
	}
	config, err := d.flags.config(flags.Changed)
	if err == nil {
		err = d.program.configure(&config)
	}
	if err == nil {
		config.Dir = d.dir
		err = config.Check(ctx)
	}
	if err != nil {
		d.broken(hostError(err))
		return
	}
	w, err := config.Would()
	if err != nil {
		d.broken(hostError(err))
	}
	said := func(text string) string {
		if text == "" {
			return "none: see the problems below"
		}
		return text
	}
	d.line("provider", "%s", said(w.Provider))
	d.line("model", "%s", said(w.Model))
	if w.Effort != "" {
		d.line("effort", "%s", w.Effort)
	}
	if d.profile = w.Profile; w.Profile != "" {
		tools := "its own tools"
		if w.Native {
			tools = "the vendor's tools"
		}
		d.line("profile", "%s, with %s", w.Profile, tools)
	}
	d.line("mode", "%s", said(string(w.Mode)))
	d.line("sandbox", "%s", d.sandbox(w.Sandbox))
}

// sandbox returns which sandbox a session has whose level was chosen. It tries that, with the hosts
// and sockets that are allowed. If another agent's settings chose it, a session goes on without.
func (d *doctor) sandbox(level sandbox.Level) string {
	if level == "" || level == sandbox.Off {
		return string(level)
	}
	options := d.flags.sandboxOptions()
	options.Level = level
	err := d.try(options)
	if err == nil {
		return string(level)
	}
	other := d.flags.settings.Clone().WithoutOtherSandbox("it cannot be had here")
	if other == nil || !errors.Is(err, errors.ErrUnsupported) {
		d.broken(err)
		return string(level)
	}
	d.hints = append(d.hints, fmt.Sprintf("a session goes on without the sandbox that %s chooses: %v", other.Origin,
		err))
	return fmt.Sprintf("off: %s was chosen and cannot be had here; the notes below say why", level)
}

// configuration prints the files of settings, and who has chosen what.
func (d *doctor) configuration() {
	d.section("Configuration")
	d.flags.settings = d.flags.settings.Clone() // there are none after a mistake
	r, err := d.flags.report(d.dir)
	if err != nil {
		d.broken(err)
		return
	}
	r.Settings = slices.DeleteFunc(r.Settings, func(s shownSetting) bool {
		return s.Origin == settings.PlaceDefault && len(s.Unused) == 0
	})
	for i := range r.Settings {
		r.Settings[i].hideKeys()
	}
	d.hints = append(d.hints, r.Problems...)
	r.Problems, r.Other = nil, nil // which come at the end
	d.shown(r.print)
	others := settings.ReadOthers(os.Getenv)
	for _, provider := range slices.Sorted(maps.Keys(others.Models)) {
		m := others.Models[provider]
		name := "model"
		if m.Model == "" {
			name = "effort"
		}
		d.line(name, "%s with %s, if nothing else chooses one (%s)", strings.TrimSpace(m.Model+" "+m.Effort), provider,
			m.From)
	}
	if len(others.Vars) > 0 {
		names := slices.Sorted(maps.Keys(others.Vars))
		d.line("variables", "%s (%s)", strings.Join(names, ", "), others.VarsFrom)
	}
	if others.NoFull != "" {
		d.line("no mode full", "%s", others.NoFull)
	}
}

// hideKeys takes out of the values what may be a key.
func (s *shownSetting) hideKeys() {
	hide := func(values []string) {
		for i, text := range values {
			switch s.Setting {
			case "key_command":
				values[i] = "set"
			case "base_url":
				values[i] = withoutKeys(text)
			}
		}
	}
	hide(s.Value)
	for _, u := range s.Unused {
		hide(u.Value)
	}
}

// withoutKeys returns a URL without what stands around its host and path, which may have a key.
func withoutKeys(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "set"
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// thereOrNot returns whether a file of settings exists, for a person.
func thereOrNot(name string) string {
	if _, err := os.Stat(name); err != nil {
		return "not there"
	}
	return "used"
}

// keys prints the variables that have keys.
func (d *doctor) keys() {
	d.section("Keys (the variables; doctor shows no values)")
	none := true
	for _, kind := range providers.Kinds() {
		for _, name := range slices.Concat(kind.KeyVars, []string{kind.BaseURLVar}) {
			if name != "" && os.Getenv(name) != "" {
				none = false
				d.line(kind.Name, "%s is set", name)
			}
		}
	}
	for _, p := range d.flags.settings.Named() {
		none = false
		d.named(p)
	}
	if none {
		d.line("none", "to list the variables of all providers, run: attractor models --providers")
	}
}

// named prints where the server of a provider of the user's own is, and whether a session has what
// that needs.
func (d *doctor) named(p settings.Named) {
	key := "needs no key"
	switch {
	case p.KeyCommand != "":
		key = "key by key_command"
	case p.KeyVars != nil:
		key = p.KeyVars[0] + " is set"
	}
	at := withoutKeys(strings.Join(p.URLs, ","))
	if _, set := p.Config(os.Getenv); !set {
		lacks := slices.DeleteFunc(p.Variables(), func(name string) bool { return os.Getenv(name) != "" })
		d.hints = append(d.hints, fmt.Sprintf("the provider %s cannot be used: set %s in the environment", p.Name,
			strings.Join(lacks, " and ")))
		key = "lacks " + strings.Join(lacks, " and ")
	}
	d.line(p.Name, "%s at %s, %s, %s", p.Format, at, key, render.Count(len(p.Models), "model"))
}

// sandboxes prints which levels work here.
func (d *doctor) sandboxes() {
	d.section("Sandbox levels on this machine")
	for _, name := range append(sandbox.Levels(), string(sandbox.Observe)) {
		level := sandbox.Level(name)
		if level == sandbox.Off {
			continue
		}
		if err := d.try(sandbox.Options{Level: level}); err != nil {
			d.line(name, "does not work: %s", render.Error(err.Error()))
		} else {
			d.line(name, "works")
		}
	}
}

// try runs a command in a sandbox with these options, in an empty directory. Like a session it uses
// no program that PATH finds in the project.
func (d *doctor) try(options sandbox.Options) (err error) {
	dir, err := os.MkdirTemp("", "attractor-doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	options.Environ = append(os.Environ(),
		"PATH="+lookpath.Outside(os.Getenv("PATH"), d.project.WorkTrees(os.Getenv("HOME"))...))
	box, err := sandbox.New(dir, options)
	if err != nil {
		return err
	}
	return box.Close()
}

// verdict prints the notes and the problems, and returns an error if something is broken.
func (d *doctor) verdict() error {
	notes := append(load.OtherSettings(d.project, os.Getenv), d.hints...)
	if len(notes) > 0 {
		d.section(render.Count(len(notes), "note"))
		for _, note := range notes {
			fmt.Fprintf(d.out, "  %s\n", render.OneLine(note))
		}
	}
	if len(d.problems) == 0 {
		_, err := io.WriteString(d.out, "\nNothing is broken.\n")
		return err
	}
	d.section(render.Count(d.found, "problem"))
	for _, problem := range d.problems {
		fmt.Fprintf(d.out, "  %s\n", problem)
	}
	return &exitError{code: exitFailed}
}
