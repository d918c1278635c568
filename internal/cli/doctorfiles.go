package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/env"
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
	d.line("kept", "%s: attractor rules list", render.Count(len(kept), "rule"))
	local, err := env.NewLocal(d.dir, env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		d.broken(err)
		return
	}
	defer local.Close() // nothing was started
	set, err := load.ReadRules(local, d.project, d.flags.settings.List("rules"), os.Getenv)
	if err != nil {
		d.broken(err)
		return
	}
	given, own, err := load.UserSources(d.flags.settings.List("rules"), d.project, os.Getenv)
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
	if d.servers {
		d.started(ctx)
	} else {
		d.configured()
	}
	if name, has := claudeServers(os.Getenv); has && !slices.Contains(d.flags.settings.List("mcp"), name) {
		d.line("not used", "those of Claude Code: --mcp %s uses them", name)
	}
}

// configured prints the servers without starting them.
func (d *doctor) configured() {
	list, err := load.ReadServers(load.ServerOptions{Dir: d.dir, Project: d.project,
		Files: d.flags.settings.List("mcp"), Getenv: os.Getenv})
	if err != nil {
		d.broken(err)
		return
	}
	for _, problem := range list.Problems {
		d.hints = append(d.hints, problem.Error())
	}
	for i := range list.List {
		d.line(list.List[i].Name, "%s, %s: not started (--servers starts it)", list.List[i].Origin, list.List[i].File)
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
	f := &mcpFlags{settingFlags: d.flags.settingFlags, dir: d.dir, trustProject: d.trustProject}
	d.shown(func(t terminal) error {
		return f.with(ctx, t, "", func(_ context.Context, s *attractor.ServerSetup) error {
			return errors.Join(f.list(t, s), failedServers(s))
		})
	})
}

// hooks prints the hooks.
func (d *doctor) hooks() {
	d.section("Hooks")
	d.shown(func(t terminal) error { return listHooks(t, load.ReadHooks(d.project, os.Getenv), false) })
}

// extensions prints what else is read from whom.
func (d *doctor) extensions() {
	d.section("Skills, commands and agents")
	d.shown(func(t terminal) error {
		e, err := (&extensionFlags{dir: d.dir, trustProject: d.trustProject}).open(t)
		if err != nil {
			return err
		}
		return errors.Join(printCommands(t, e), printAgents(t, e))
	})
}

// documents prints which files with instructions are in the prompt.
func (d *doctor) documents(ctx context.Context) {
	d.section("Instructions in the prompt")
	p, err := profiles.Find(cmp.Or(d.profile, profiles.Names()[0]), false)
	if err != nil {
		d.broken(err)
		return
	}
	d.shown(func(t terminal) error { return showSources(ctx, t, d.dir, p) })
}
