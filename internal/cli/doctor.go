package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/instructions"
	"github.com/attractor-go/attractor/internal/lookpath"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/profile/profiles"
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
	problems []string // what is broken, each with what to do
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

// broken keeps a problem.
func (d *doctor) broken(err error) {
	for line := range strings.SplitSeq(render.Error(err.Error()), "\n") {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(d.problems, line) {
			d.problems = append(d.problems, line)
		}
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
	d.line("sandbox", "%s", w.Sandbox)
	if level := w.Sandbox; level != "" && level != sandbox.Off {
		if err := d.try(level); err != nil {
			d.broken(err)
		}
	}
}

// configuration prints the files of settings, and who has chosen what.
func (d *doctor) configuration() {
	d.section("Configuration")
	problems := d.flags.settings.Clone().UseProject(d.project.SettingsFile())
	for _, problem := range problems {
		d.hints = append(d.hints, problem.Error())
	}
	d.hints = append(d.hints, settings.StrayVariables(os.Environ())...)
	if name, err := settings.File(os.Getenv); err == nil {
		d.line("yours", "%s: %s", name, thereOrNot(name))
	}
	d.line("the project's", "%s: %s", d.project.SettingsFile().Name, d.project.SettingsState())
	for _, place := range []settings.Place{settings.PlaceFlag, settings.PlaceEnvironment, settings.PlaceUser,
		settings.PlaceOther} {
		for _, v := range d.flags.settings.Of(place) {
			d.line(v.Key, "%s (%s)", withoutKeys(&v), v.Origin)
		}
	}
	for _, s := range settings.All() {
		for _, v := range d.flags.settings.All(s.Key) {
			if v.Unused != "" {
				d.line(v.Key, "%s is not used, because %s (%s)", withoutKeys(&v), v.Unused, v.Origin)
			}
		}
	}
	others := settings.ReadOthers(os.Getenv)
	for _, provider := range sortedKeys(others.Models) {
		m := others.Models[provider]
		d.line("model", "%s with %s, if nothing else chooses one (%s)", strings.TrimSpace(m.Model+" "+m.Effort), provider, m.From)
	}
	if len(others.Vars) > 0 {
		d.line("variables", "%s (%s)", strings.Join(sortedKeys(others.Vars), ", "), others.VarsFrom)
	}
	if others.NoFull != "" {
		d.line("no mode full", "%s", others.NoFull)
	}
	d.line("all settings", "attractor config")
}

// withoutKeys returns a value without what may be a key in it: what stands around the host and the
// path of a URL, and a command that prints one.
func withoutKeys(v *settings.Value) string {
	switch v.Key {
	case "key_command":
		return "set"
	case "base_url":
		u, err := url.Parse(v.One())
		if err != nil {
			return "set"
		}
		u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
		return u.String()
	}
	return strings.Join(v.Shown(), ",")
}

// thereOrNot says whether there is a file.
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
	at := withoutKeys(&settings.Value{Key: "base_url", Text: p.URLs})
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
		if err := d.try(level); err != nil {
			d.line(name, "does not work: %s", render.Error(err.Error()))
		} else {
			d.line(name, "works")
		}
	}
}

// try runs a command at a level of the sandbox, in an empty directory. Like a session it uses no
// program that PATH finds in the project.
func (d *doctor) try(level sandbox.Level) (err error) {
	dir, err := os.MkdirTemp("", "attractor-doctor-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	outside := "PATH=" + lookpath.Outside(os.Getenv("PATH"), d.project.Root)
	box, err := sandbox.New(dir, sandbox.Options{Level: level, Environ: append(os.Environ(), outside)})
	if err != nil {
		return err
	}
	return box.Close()
}

// rules prints whose rules count.
func (d *doctor) rules() {
	d.section("Rules")
	kept, err := load.KeptRules(os.Getenv)
	if err != nil {
		d.broken(err)
	}
	here := 0
	for _, k := range kept {
		if k.Project != "" && k.Project == d.project.KeptAs() {
			here++
		}
	}
	everywhere := len(slices.DeleteFunc(slices.Clone(kept), func(k load.KeptRule) bool { return k.Project != "" }))
	d.line("kept", "%d for this project, %d everywhere: attractor rules list", here, everywhere)
	local, err := env.NewLocal(d.dir, env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		d.broken(err)
		return
	}
	defer local.Close() // nothing was started
	set, err := load.ReadRules(local, d.project, d.flags.rules, os.Getenv)
	if err != nil {
		d.broken(err)
		return
	}
	given, own, err := load.UserSources(d.flags.rules, d.project, os.Getenv)
	if err != nil {
		d.broken(err)
		return
	}
	for _, source := range slices.Concat(given, own) {
		d.line("yours", "%s", source.Name)
	}
	for _, source := range d.project.Rules(own) {
		d.line("the project's", "%s: %s", source.Name, d.countsAs("all count", "those that deny or ask count"))
	}
	d.hints = append(d.hints, set.Warnings()...)
}

// countsAs returns what counts of a project, by its trust.
func (d *doctor) countsAs(trusted, otherwise string) string {
	if d.project.Trusted {
		return trusted
	}
	return otherwise + ", because " + d.project.Because() + "; to decide, run: attractor trust"
}

// mcp prints the servers, and starts them if that was asked for.
func (d *doctor) mcp(ctx context.Context) {
	d.section("MCP servers")
	list, err := load.ReadServers(load.ServerOptions{Dir: d.dir, Project: d.project, Files: d.flags.mcp, Getenv: os.Getenv})
	if err != nil {
		d.broken(err)
		return
	}
	for _, problem := range list.Problems {
		d.hints = append(d.hints, problem.Error())
	}
	for i := range list.List {
		if s := &list.List[i]; !d.servers {
			d.line(s.Name, "%s, %s: not started (--servers starts it)", s.Origin, s.File)
		}
	}
	if d.servers && len(list.List) > 0 {
		d.started(ctx)
	}
	for _, name := range list.Untrusted {
		d.line(name, "%s: not started, because %s; to decide, run: attractor trust", mcp.Project, list.Why)
	}
	if len(list.List)+len(list.Untrusted) == 0 {
		d.line("none", "attractor mcp --help says where they are configured")
	}
	if name, has := claudeServers(os.Getenv); has && !slices.Contains(d.flags.mcp, name) {
		d.line("not used", "those of Claude Code: --mcp %s uses them", name)
	}
}

// claudeServers returns the file in which Claude Code keeps the user's MCP servers, and whether it has
// any.
func claudeServers(getenv func(string) string) (name string, has bool) {
	const most = 64 << 20 // it has the history of all projects, too
	name = filepath.Join(userfiles.HomeDir(getenv), ".claude.json")
	data, err := userfiles.Read(name, most)
	if err != nil {
		return name, false
	}
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	return name, json.Unmarshal(data, &file) == nil && len(file.Servers) > 0
}

// started starts the servers and prints what has become of them.
func (d *doctor) started(ctx context.Context) {
	f := &mcpFlags{dir: d.dir, files: d.flags.mcp, trustProject: d.flags.trustProject, sandbox: d.flags.sandbox}
	err := f.with(ctx, d.terminal, "", func(_ context.Context, s *attractor.ServerSetup) error {
		for _, st := range s.Status() {
			one := listServer(st, s.Secrets.String)
			if one.Error == "" {
				d.line(one.Name, "%s, %s: %s, %s", one.Origin, one.File, one.State, render.Count(one.Tools, "tool"))
				continue
			}
			d.line(one.Name, "%s, %s: %s", one.Origin, one.File, one.State)
			d.broken(fmt.Errorf("the MCP server %s: %s; attractor mcp tools %s tries it", one.Name, one.Error, one.Name))
		}
		return nil
	})
	if err != nil {
		d.broken(err)
	}
}

// hooks prints the hooks.
func (d *doctor) hooks() {
	d.section("Hooks")
	c := load.ReadHooks(d.project, os.Getenv)
	for i := range c.List {
		h := &c.List[i]
		d.line(string(h.Event), "%s:%d: %s", h.File, h.Line, strings.Join(append([]string{h.Command}, h.Args...), " "))
	}
	for i := range c.Untrusted {
		h := &c.Untrusted[i]
		d.line(string(h.Event), "%s:%d: does not run, because %s; to decide, run: attractor trust", h.File, h.Line, c.Why)
	}
	for _, name := range c.Off {
		d.hints = append(d.hints, "hooks are turned off by disableAllHooks in "+name)
	}
	for _, m := range c.Mistakes {
		d.hints = append(d.hints, m.Error())
	}
	if len(c.List)+len(c.Untrusted) == 0 {
		d.line("none", "attractor hooks --help says where they are configured")
	}
}

// extensions prints what else is read from whom.
func (d *doctor) extensions() {
	d.section("Skills, commands and agents")
	skills, commands, agents := load.ReadSkills(d.project, os.Getenv), load.ReadCommands(d.project, os.Getenv),
		load.ReadAgents(d.project, os.Getenv)
	if len(skills.List)+len(commands.List)+len(agents.List) == 0 {
		d.line("none", "that would be used")
	}
	for _, s := range skills.List {
		d.line("skill", "%s (%s), %s", s.Name, s.Origin, s.File)
	}
	for _, c := range commands.List {
		d.line("command", "/%s (%s), %s", c.Name, c.Origin, c.File)
	}
	for _, a := range agents.List {
		d.line("agent", "%s (%s), %s", a.Name, a.Origin, a.File)
	}
	for _, kind := range []struct {
		name     string
		problems []error
		unused   []string
	}{{"skills", skills.Problems, skills.Untrusted}, {"commands", commands.Problems, commands.Untrusted},
		{"agents", agents.Problems, agents.Untrusted}} {
		for _, problem := range kind.problems {
			d.hints = append(d.hints, problem.Error())
		}
		if len(kind.unused) > 0 {
			d.line(kind.name, "%s (%s): not used, because %s; to decide, run: attractor trust", strings.Join(kind.unused, ", "),
				mcp.Project, d.project.Because())
		}
	}
}

// documents prints which files with instructions are in the prompt.
func (d *doctor) documents(ctx context.Context) {
	d.section("Instructions in the prompt")
	p, err := profiles.Find(cmp.Or(d.profile, profiles.Names()[0]), false)
	if err != nil {
		d.broken(err)
		return
	}
	o := agent.Options{Profile: p, Documents: attractor.Documents(ctx, p.Name, os.Getenv)}
	o.Documents.Warn = func(m instructions.Mistake) { d.hints = append(d.hints, m.String()) }
	found, err := attractor.FindDocuments(ctx, d.dir, o)
	if err != nil {
		d.broken(hostError(err))
		return
	}
	if len(found.Documents) == 0 {
		d.line("none", "there is no AGENTS.md or the like")
	}
	for i := range found.Documents {
		fmt.Fprintf(d.out, "  %s: %s\n", render.OneLine(found.Documents[i].Path), describeSource(&found.Documents[i]))
	}
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
	d.section(render.Count(len(d.problems), "problem"))
	for _, problem := range d.problems {
		fmt.Fprintf(d.out, "  %s\n", problem)
	}
	return &exitError{code: exitFailed}
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// tellNotes tells how many settings of other agents have no effect, once for each.
func tellNotes(t terminal, setup *attractor.Setup) {
	notes := append(load.OtherSettings(setup.Project, os.Getenv), setup.Rules.Warnings()...)
	if len(notes) > 0 && load.NewNotes(notes, os.Getenv) {
		fmt.Fprintf(t.err, "attractor: %s about settings that have no effect here: attractor doctor\n",
			render.Count(len(notes), "note"))
	}
}

// useOtherVars gives this process the variables that the user's settings of another agent set, as
// if they were exported. Those of the environment count before.
func useOtherVars(args []string) {
	if len(args) > 0 && args[0] == "env" { // the helper of a session that is elsewhere
		return
	}
	for name, text := range settings.ReadOthers(os.Getenv).Vars {
		if _, is := os.LookupEnv(name); !is {
			_ = os.Setenv(name, text) // a name that the system does not take stays unset
		}
	}
}
