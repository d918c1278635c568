package rules_test

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// Where commands that only read can change nothing, it does not ask what the machine makes unclear:
// only what the text says.
func TestU15_UnclearRunsWhereItCanDoNothing(t *testing.T) {
	dir := t.TempDir()
	git := peer.Need(t, "git")
	for _, args := range [][]string{{"init", "-q"}, {"config", "core.fsmonitor", "./monitor"},
		{"config", "remote.o.url", "https://me:secret@example.com/x"}} {
		cmd := exec.Command(git, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	for name, mode := range map[string]os.FileMode{"bin/ls": 0o755, "-n": 0o644, "a.txt": 0o644} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	local, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	for script, unclear := range map[string]bool{
		"git status":                 true,
		"git -C . log --oneline":     true,
		"ls":                         true, // PATH finds one in the workspace
		"sort *":                     true, // a file is named like an option
		"cat ?.txt [ab].txt":         true,
		"go version":                 true,
		"go env GOMOD":               true,
		"git status; cat a.txt | wc": true,
		"git remote -v":              false, // which shows a password
		"git commit -m x":            false,
		"git status; make":           false,
		"make && git status":         false, // a rule allows make, which runs like any other command
		"git status >out":            false,
		"bin/ls":                     false, // no program of the system
	} {
		for _, observed := range []bool{false, true} {
			set, err := rules.Load(rules.Dirs{Work: dir, Home: t.TempDir(),
				Vars: []string{"PATH=" + dir + "/bin:/usr/bin:/bin"}, Resolve: rules.RealPath,
				Outside:  func(_ context.Context, name string) ([]byte, error) { return nil, fs.ErrNotExist },
				Observed: func() bool { return observed }},
				rules.Source{Name: "rules", Data: []byte(`{"permissions": {"allow": ["Bash(make)"]}}`)})
			if err != nil {
				t.Fatal(err)
			}
			d := set.Decide(t.Context(), local, tool.Request{Dir: dir,
				Access: tool.Access{Effect: tool.Writes, Command: script}, Call: llm.ToolCall{Name: "shell"}})
			if runs := d.Verdict == tool.Allow; runs != (observed && unclear) || d.Unclear != runs {
				t.Errorf("%s, observed %v: %+v", script, observed, d)
			}
		}
	}
}
