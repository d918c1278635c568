package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/instructions"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/profile/profiles"
)

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
	switch {
	case len(list.List)+len(list.Untrusted) > 0:
	case len(list.Problems) > 0:
		d.line("none", "that can be used: the notes say why")
	default:
		d.line("none", "attractor mcp --help says where they are configured")
	}
	if name, has := claudeServers(os.Getenv); has && !slices.Contains(d.flags.mcp, name) {
		d.line("not used", "those of Claude Code: --mcp %s uses them", name)
	}
}

// claudeServers returns the file in which Claude Code keeps the user's MCP servers, and whether it
// has any.
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
	f := &mcpFlags{dir: d.dir, files: d.flags.mcp, trustProject: d.flags.trustProject,
		sandbox: d.flags.sandbox, settings: d.flags.settings}
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
