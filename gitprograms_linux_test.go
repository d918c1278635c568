package attractor

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

// What git runs in a repository is as it was after a session in a sandbox: the programs of its
// configuration, and what its hooks run.
func TestU17_ProgramsOfGitInASandbox(t *testing.T) {
	peer.Need(t, "bwrap")
	program := peer.Need(t, "git")
	attack := "for f in tools/clean.sh tools/fsm.sh scripts/lint.sh scripts/ext.sh; do " +
		"echo 'touch \"$ROOT/ran\"' >>$f; rm -f $f; done; mv tools t; mv scripts s; " +
		"mkdir -p tools scripts; for f in tools/clean.sh tools/fsm.sh scripts/lint.sh; do " +
		"printf '#!/bin/sh\\ntouch \"$ROOT/ran\"\\n' >$f; chmod +x $f; done; echo y >>main.txt; echo x >go.mod"
	b := newBench(t, calls(t, "shell", object{"command": attack}),
		calls(t, "read_file", object{"file_path": "tools/clean.sh"}),
		calls(t, "write_file", object{"file_path": "tools/clean.sh", "content": "touch \"$ROOT/ran\""}),
		fakellm.Turn{Text: "done"})
	config := b.config()
	dir := config.Dir
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "ROOT="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	const filter = "#!/bin/sh\ncat\n"
	for name, text := range map[string]string{"tools/clean.sh": filter, "tools/fsm.sh": "#!/bin/sh\nexit 1\n",
		"scripts/lint.sh": "test -f go.mod\n", "scripts/ext.sh": "#!/bin/sh\nexit 1\n", "go.mod": "module x\n",
		"main.txt": "x\n", ".gitattributes": "*.txt filter=f\n",
		".git/hooks/pre-commit": "#!/bin/sh\nset -e\nsh scripts/lint.sh\ngrep -q x go.mod\n"} {
		put(t, dir, name, text)
		if err := os.Chmod(filepath.Join(dir, name), 0o755); filepath.Ext(name) != ".mod" && err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "go.mod"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"filter.f.clean": "./tools/clean.sh", "core.fsmonitor": "./tools/fsm.sh",
		"protocol.ext.allow": "always", "remote.o.url": "ext::scripts/ext.sh", "user.name": "x", "user.email": "x@x"} {
		git("config", name, value)
	}
	config.Mode, config.Sandbox = permit.ModeFull, sandbox.Options{Level: sandbox.Workspace, State: t.TempDir(),
		Cache: t.TempDir()}
	b.submit(config, "attack", func(*agent.Options) {})
	if data, err := os.ReadFile(filepath.Join(dir, "tools/clean.sh")); err != nil || string(data) != filter {
		t.Errorf("the filter is %q: %v", data, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil || string(data) != "x\n" {
		t.Errorf("a file that no program is could not be changed: %q, %v", data, err)
	}
	git("status")
	git("add", "main.txt")
	git("commit", "-q", "-m", "x")
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("git ran a program that a command has changed")
	}
	data, err := os.ReadFile(filepath.Join(dir, "scripts/ext.sh"))
	if err != nil || string(data) != "#!/bin/sh\nexit 1\n" {
		t.Errorf("the program of a remote is %q: %v", data, err)
	}
}
