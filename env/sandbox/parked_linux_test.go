package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

// parked returns the inode numbers of what is in the directory of parked placeholders.
func parked(t *testing.T, state string) map[uint64]bool {
	t.Helper()
	found := make(map[uint64]bool)
	for name := range strings.Lines(list(t, filepath.Join(state, "parked"))) {
		var stat unix.Stat_t
		if err := unix.Lstat(filepath.Join(state, "parked", strings.TrimSpace(name)), &stat); err != nil {
			t.Fatal(err)
		}
		found[stat.Ino] = true
	}
	return found
}

// Between two commands placeholders wait in the state directory, and the next command gets the same
// ones.
func TestL5_ParkedPlaceholders(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	git(t, dir, "init", "-q")
	before := list(t, dir) + list(t, filepath.Join(dir, ".git"))
	b := newBox(t, dir, sandbox.Options{State: state}, env.LocalOptions{})
	b.succeeds(t, "true")
	first := parked(t, state)
	if len(first) < len(env.DefaultProtection().Ask) {
		t.Fatalf("%d placeholders wait", len(first))
	}
	for _, name := range env.DefaultProtection().Ask {
		b.fails(t, "echo x >"+name+" || echo x >"+name+"/file || rmdir "+name)
	}
	second := parked(t, state)
	for inode := range second {
		if !first[inode] {
			t.Error("a placeholder is not one of those that waited")
		}
	}
	if after := list(t, dir) + list(t, filepath.Join(dir, ".git")); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	b.end(t)
	if left := list(t, filepath.Join(state, "parked")); left != "" {
		t.Errorf("left: %s", left)
	}
}

// What somebody else puts at the place of a placeholder, or into it, stays there.
func TestL5_ParkedPlaceholdersAreNobodys(t *testing.T) {
	dir := t.TempDir()
	b := newBox(t, dir, sandbox.Options{}, env.LocalOptions{})
	b.succeeds(t, "true")
	if err := os.Mkdir(filepath.Join(dir, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	p, err := b.Start(t.Context(), env.Command{Script: "echo ready; read x", Stdin: true,
		Output: func(int, []byte) { close(ready) }})
	if err != nil {
		t.Fatal(err)
	}
	<-ready
	if err := os.Chmod(filepath.Join(dir, ".vscode"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".vscode/settings.json"), "mine")
	if _, err := p.Stdin().Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.end(t)
	if left := list(t, dir); left != ".claude\n.vscode" ||
		read(t, filepath.Join(dir, ".vscode/settings.json")) != "mine" {
		t.Errorf("left: %s", left)
	}
}

// What killed hosts have left waiting does not stay for good, also if nobody comes back to their
// roots.
func TestL5_ForgottenPlaceholders(t *testing.T) {
	state := t.TempDir()
	for name, age := range map[string]time.Duration{"old": 48 * time.Hour, "new": time.Hour} {
		dir, then := filepath.Join(state, "parked", name), time.Now().Add(-age)
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chmod(dir, 0o755|os.ModeSticky),
			os.Chtimes(dir, then, then)); err != nil {
			t.Fatal(err)
		}
	}
	newBox(t, t.TempDir(), sandbox.Options{State: state}, env.LocalOptions{}).end(t)
	if left := list(t, filepath.Join(state, "parked")); left != "new" {
		t.Errorf("left: %s", left)
	}
}

// Where placeholders cannot wait, each command gets new ones: on another file system, and where
// commands could change them.
func TestL5_PlaceholdersThatCannotBeParked(t *testing.T) {
	dir := t.TempDir()
	states := map[string]string{"in the root": filepath.Join(dir, "state")}
	if other, err := os.MkdirTemp("/dev/shm", "attractor-test-"); err == nil {
		states["another file system"] = other
		t.Cleanup(func() {
			if err := os.RemoveAll(other); err != nil {
				t.Error(err)
			}
		})
	}
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, dir, sandbox.Options{State: state}, env.LocalOptions{})
			b.succeeds(t, "true")
			if waiting, err := os.ReadDir(filepath.Join(state, "parked")); len(waiting) > 0 || err != nil &&
				!errors.Is(err, fs.ErrNotExist) {
				t.Errorf("parked: %v, %v", waiting, err)
			}
			b.fails(t, "echo x >.mcp.json || rmdir .mcp.json")
			b.end(t)
			if left := list(t, dir); left != "state" && left != "" {
				t.Errorf("left: %s", left)
			}
		})
	}
}
