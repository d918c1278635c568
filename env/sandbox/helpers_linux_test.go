package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
)

// box is a sandbox with an environment in it.
type box struct {
	*env.Local
	sandbox *sandbox.Sandbox
	dir     string
}

// newBox returns a sandbox for a directory, which is closed when the test ends. Home directory,
// temporary files and state are the test's own.
func newBox(t testing.TB, dir string, o sandbox.Options, lo env.LocalOptions) *box {
	t.Helper()
	if o.Level == "" {
		o.Level = sandbox.Workspace
	}
	if o.Level != sandbox.WorkspaceWeak {
		peer.Need(t, "bwrap")
	}
	if o.State == "" {
		o.State = t.TempDir()
	}
	s, err := sandbox.New(dir, o)
	if errors.Is(err, errors.ErrUnsupported) {
		peer.Missing(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	lo.Environ = o.Environ
	l, err := env.NewLocal(dir, s.Confine(lo))
	if err != nil {
		t.Fatal(errors.Join(err, s.Close()))
	}
	b := &box{l, s, dir}
	t.Cleanup(func() { b.end(t) })
	return b
}

// end closes the environment and the sandbox, which then has removed everything of its own.
func (b *box) end(t testing.TB) {
	t.Helper()
	if err := errors.Join(b.Close(), b.sandbox.Close()); err != nil {
		t.Error(err)
	}
}

// run runs a script and returns its output and exit code.
func (b *box) run(t testing.TB, script string) (string, int) {
	t.Helper()
	var out strings.Builder
	result, err := env.Run(t.Context(), b, env.Command{Script: script, Output: func(_ int, p []byte) { out.Write(p) }},
		env.MaxTimeout)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), result.Code
}

// succeeds runs a script that must succeed.
func (b *box) succeeds(t testing.TB, script string) string {
	t.Helper()
	out, code := b.run(t, script)
	if code != 0 {
		t.Errorf("%s\nexit code %d:\n%s", script, code, out)
	}
	return out
}

// fails runs a script that must fail.
func (b *box) fails(t testing.TB, script string) string {
	t.Helper()
	out, code := b.run(t, script)
	if code == 0 {
		t.Errorf("%s\nsucceeded:\n%s", script, out)
	}
	return out
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// list returns the names in a directory, one a line.
func list(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, "\n")
}

// git runs git outside the sandbox.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(peer.Need(t, "git"), append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com",
		"-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}
