package permit_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// write writes files, given as names and contents by turns.
func (g *gated) write(pairs ...string) {
	g.Helper()
	for i := 0; i < len(pairs); i += 2 {
		name := filepath.Join(g.dir, pairs[i])
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(pairs[i+1]),
			0o644)); err != nil {
			g.Fatal(err)
		}
	}
}

// link makes a symbolic link, in place of another one.
func (g *gated) link(to, name string) {
	g.Helper()
	name = filepath.Join(g.dir, name)
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.Fatal(err)
	}
	if err := os.Symlink(to, name); err != nil {
		g.Fatal(err)
	}
}

// swapping is an environment in which a link leads elsewhere as soon as it was looked at.
type swapping struct {
	env.Base
	swap func()
}

func (s *swapping) Resolve(ctx context.Context, name string) (string, error) {
	target, err := env.Resolve(ctx, s.Environment, name)
	s.swap()
	return target, err
}

// What is read is the file that was approved, also if the link that led to it changes between the
// question and the read, or between the last look at it and the read.
func TestL11_LinksThatChangeBeforeTheRead(t *testing.T) {
	for name, c := range map[string]struct {
		tool string
		args map[string]any
	}{
		"file":      {"read_file", map[string]any{"file_path": "link"}},
		"directory": {"list_dir", map[string]any{"path": "dirs"}},
		"search":    {"grep", map[string]any{"pattern": "text", "path": "dirs"}},
		"names":     {"glob", map[string]any{"pattern": "*", "path": "dirs"}},
	} {
		for _, late := range []bool{false, true} {
			g := newGate(t, `{"permissions": {"ask": ["Read"]}}`)
			g.registry = approvedTools(t)
			g.write("f", "shown text", "other", "hidden text", "a/shown", "shown text", "b/hidden", "hidden text")
			relink := func(to, dir string) { g.link(to, "link"); g.link(dir, "dirs") }
			relink("f", "a")
			data, err := json.Marshal(c.args)
			if err != nil {
				t.Fatal(err)
			}
			call := tool.Call{Env: g.Env, SessionID: "s", Session: new(tool.Plain)}
			p, asks := g.registry.Authorize(t.Context(),
				g.registry.Prepare(llm.ToolCall{ID: "1", Name: c.tool, Args: string(data)}), call, g.Authorize)
			if !asks {
				t.Fatalf("%s: nobody is asked", name)
			}
			p, _ = g.registry.Authorize(t.Context(), p, call, g.Approve)
			if late {
				call.Env = &swapping{env.Base{Environment: g.Env}, func() { relink("other", "b") }}
			} else {
				relink("other", "b")
			}
			result := p.Run(t.Context(), call, []tool.Middleware{g.Middleware}, nil).Model.Text()
			if strings.Contains(result, "hidden") || !late && !strings.Contains(result, "leads to") || name == "file" &&
				late && !strings.Contains(result, "shown") {
				t.Errorf("%s, late %v: %s", name, late, result)
			}
		}
	}
}

// swappedWrite is an environment in which a directory is swapped for a link right before a change.
type swappedWrite struct {
	env.Base
	swap func()
}

func (s *swappedWrite) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	s.swap()
	return s.Environment.WriteFile(ctx, name, data, perm)
}

func (s *swappedWrite) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	s.swap()
	return env.Replace(ctx, s.Environment, name, was, data, perm)
}

func (s *swappedWrite) Remove(ctx context.Context, name string) error {
	s.swap()
	return s.Environment.Remove(ctx, name)
}

func (s *swappedWrite) Delete(ctx context.Context, name string, was env.Hash) error {
	s.swap()
	return env.Delete(ctx, s.Environment, name, was)
}

// What is changed is the file that was approved, also if its directory is swapped for a link
// between the last look at it and the change.
func TestL11_DirectoriesSwappedBeforeTheChange(t *testing.T) {
	for name, patch := range map[string]string{
		"write":  "*** Add File: a/new\n+text\n",
		"change": "*** Update File: a/f\n@@\n-old\n+text\n",
		"remove": "*** Delete File: a/f\n",
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, `{"permissions": {"allow": ["Edit(./a/**)"]}}`)
			r, err := tool.NewRegistry(coding.ApplyPatch())
			if err != nil {
				t.Fatal(err)
			}
			g.write("a/f", "old\n", "b/f", "old\n")
			data, err := json.Marshal(map[string]string{"patch": "*** Begin Patch\n" + patch + "*** End Patch"})
			if err != nil {
				t.Fatal(err)
			}
			call := tool.Call{Env: g.Env, SessionID: "s", Session: new(tool.Plain)}
			p, _ := r.Authorize(t.Context(), r.Prepare(llm.ToolCall{ID: "1", Name: "apply_patch", Args: string(data)}),
				call, g.Authorize)
			call.Env = &swappedWrite{env.Base{Environment: g.Env}, func() {
				if err := os.RemoveAll(filepath.Join(g.dir, "a")); err != nil {
					t.Error(err)
				}
				g.link("b", "a")
			}}
			result := p.Run(t.Context(), call, []tool.Middleware{g.Middleware}, nil).Model.Text()
			if !strings.Contains(result, "leads to") {
				t.Errorf("it says %s", result)
			}
			list, err := os.ReadDir(filepath.Join(g.dir, "b"))
			was, errRead := os.ReadFile(filepath.Join(g.dir, "b/f"))
			if err := errors.Join(err, errRead); err != nil || len(list) != 1 || string(was) != "old\n" {
				t.Errorf("what the link leads to has changed: %v, %q, %v", list, was, err)
			}
		})
	}
}

// approvedTools are tools that read.
func approvedTools(t *testing.T) *tool.Registry {
	t.Helper()
	r, err := tool.NewRegistry(coding.ReadFile(), coding.ListDir(), coding.Grep(), coding.Glob())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// All calls of an answer are judged before the first one runs. One that was allowed is judged again
// if another call has changed something since: a search does not read what was ignored then.
func TestL11_JudgedAgainAfterAChange(t *testing.T) {
	g := newGate(t, `{"permissions": {"allow": ["Edit(.gitignore)"]}}`)
	r, err := tool.NewRegistry(coding.Grep(), coding.WriteFile())
	if err != nil {
		t.Fatal(err)
	}
	g.registry = r
	g.write(".env", "KEY=secret-text\n", ".gitignore", ".env\n", "a", "ordinary secret-text\n")
	call := tool.Call{Env: g.Env, SessionID: "s", Session: new(tool.Plain)}
	authorized := func(id, name, args string) *tool.Prepared {
		p, asks := r.Authorize(t.Context(), r.Prepare(llm.ToolCall{ID: id, Name: name, Args: args}), call, g.Authorize)
		if asks {
			t.Fatalf("%s asks", name)
		}
		return p
	}
	run := func(p *tool.Prepared) string {
		return p.Run(t.Context(), call, []tool.Middleware{g.Middleware}, nil).Model.Text()
	}
	const grep = `{"pattern":"secret-text"}`
	write := authorized("1", "write_file", `{"file_path":".gitignore","content":"other\n"}`)
	before, after := authorized("2", "grep", grep), authorized("3", "grep", grep)
	full := authorized("4", "grep", grep)
	if got := run(before); !strings.Contains(got, "ordinary") || strings.Contains(got, "KEY") {
		t.Errorf("before: %s", got)
	}
	if got := run(write); strings.Contains(got, "Error") {
		t.Error(got)
	}
	if got := run(after); strings.Contains(got, "KEY") || !strings.Contains(got, "another call has changed") {
		t.Errorf("after: %s", got)
	}
	g.SetMode(permit.ModeFull) // which allows what the rules ask about
	if got := run(full); !strings.Contains(got, "KEY") {
		t.Errorf("in the mode full: %s", got)
	}
}
