package rules_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// project is a real directory with an environment.
type project struct {
	t    testing.TB
	dir  string
	home string
	env  *env.Local
}

// newProject returns a project with some files and links. Names that end with a slash are
// directories.
func newProject(t testing.TB, names ...string) *project {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: filepath.Join(base, "work"), home: filepath.Join(base, "home")}
	for _, dir := range []string{p.dir, p.home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		p.write(name, name)
	}
	if p.env, err = env.NewLocal(p.dir, env.LocalOptions{Containment: env.ContainGroup}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.env.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// write writes a file of the project, or makes a directory.
func (p *project) write(name, content string) {
	p.t.Helper()
	full := filepath.Join(p.dir, name)
	dir := filepath.Dir(full)
	if name[len(name)-1] == '/' {
		dir = full
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if dir == full {
		return
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// link makes a symbolic link in the project.
func (p *project) link(to, name string) {
	p.t.Helper()
	if err := os.Symlink(to, filepath.Join(p.dir, name)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) dirs() rules.Dirs {
	return rules.Dirs{Work: p.dir, Home: p.home, Resolve: rules.RealPath}
}

// source returns the user's own file with the rules.
func source(permissions string) rules.Source {
	return rules.Source{Name: "rules.json", Data: []byte(`{"permissions": ` + permissions + `}`)}
}

// load returns the rules of a permissions object.
func (p *project) load(permissions string) *rules.Set {
	p.t.Helper()
	s, err := rules.Load(p.dirs(), source(permissions))
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// tools are the tools of our own dialect.
func tools(t testing.TB) *tool.Registry {
	t.Helper()
	r, err := tool.NewRegistry(append(coding.Agents(), coding.Shell(0), coding.ReadFile(), coding.WriteFile(),
		coding.EditFile(), coding.Grep(), coding.Glob(), coding.ApplyPatch(),
		coding.ReadManyFiles(), coding.ListDir())...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// request returns what the real registry asks about a call.
func (p *project) request(e env.Environment, registry *tool.Registry, name string, args any) tool.Request {
	p.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.requestText(e, registry, name, string(text))
}

// requestOf is request for tools that take a text instead of an object.
func (p *project) requestOf(e env.Environment, registry *tool.Registry, name string, args map[string]any) tool.Request {
	p.t.Helper()
	if t, _ := registry.Get(name); t.Grammar != nil {
		return p.requestText(e, registry, name, args["patch"].(string))
	}
	return p.request(e, registry, name, args)
}

func (p *project) requestText(e env.Environment, registry *tool.Registry, name, text string) (req tool.Request) {
	p.t.Helper()
	prepared := registry.Prepare(llm.ToolCall{ID: "1", Name: name, Args: text})
	if prepared.Outcome != nil {
		p.t.Fatalf("%s %s: %s", name, text, prepared.Outcome.Model.Text())
	}
	registry.Authorize(p.t.Context(), prepared, tool.Call{Env: e},
		func(_ context.Context, r tool.Request) (tool.Decision, error) {
			req = r
			return tool.Decision{}, nil
		})
	return req
}

// decide decides about a call of one of our tools.
func (p *project) decide(s *rules.Set, name string, args any) rules.Decision {
	p.t.Helper()
	e := env.Protect(p.env, env.DefaultProtection())
	return s.Decide(p.t.Context(), e, p.request(e, tools(p.t), name, args))
}

// command decides about a script.
func (p *project) command(s *rules.Set, script string) rules.Decision {
	p.t.Helper()
	return p.decide(s, "shell", map[string]string{"command": script})
}
