package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
)

// Files that start programs are read-only, whether they exist or not, for commands and for the file
// tools.
func TestL4_Protected(t *testing.T) {
	for _, exist := range []bool{true, false} {
		dir := t.TempDir()
		names := env.DefaultProtection().Ask
		if len(names) < 20 {
			t.Fatal("the list of protected files is short:", names)
		}
		if exist {
			for i, name := range names {
				if i%2 == 0 {
					write(t, filepath.Join(dir, name), "content")
				} else {
					write(t, filepath.Join(dir, name, "file"), "content")
				}
			}
		}
		before := list(t, dir)
		b := newBox(t, dir, sandbox.Options{}, env.LocalOptions{})
		for _, name := range names {
			b.fails(t, "echo x >"+name+" || echo x >"+name+"/file || mkdir -p "+name+"/dir")
		}
		b.fails(t, "for f in "+strings.Join(names,
			" ")+"; do rm -rf $f || mv $f x || mv f $f || ln -sfT /tmp $f || rmdir $f; done 2>/dev/null; ls x")
		e := env.Protect(b, b.sandbox.Protection())
		for _, name := range names {
			if err := e.WriteFile(t.Context(), name+"/file", nil, 0o644); !errors.Is(err, env.ErrProtected) {
				t.Errorf("the file tools write %s: %v", name, err)
			}
		}
		b.end(t)
		if after := list(t, dir); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	}
}

// While a command of any sandbox runs, the placeholders of all of them stay, and afterwards they
// are gone.
func TestL4_PlaceholdersOfTwoSessions(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	one := newBox(t, dir, sandbox.Options{State: state}, env.LocalOptions{})
	two := newBox(t, dir, sandbox.Options{State: state}, env.LocalOptions{})
	ready := make(chan struct{})
	p, err := one.Start(t.Context(), env.Command{Script: "echo ready; read x; echo evil >.mcp.json", Stdin: true,
		Output: func(_ int, p []byte) {
			if strings.Contains(string(p), "ready") {
				close(ready)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	<-ready
	two.succeeds(t, "true")
	two.end(t)
	if !strings.Contains(list(t, dir), ".mcp.json") {
		t.Error("the second session removed the placeholders of the first")
	}
	if _, err := p.Stdin().Write([]byte("go on\n")); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Code == 0 {
		t.Errorf("the protected file was written: %+v, %v", exit, err)
	}
	one.end(t)
	if left := list(t, dir); left != "" {
		t.Errorf("left: %s", left)
	}
}

// The placeholders in a repository are as they were when another command has ended.
func TestL4_PlaceholdersInARepository(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "one\n")
	repository(t, dir)
	b := newBox(t, dir, sandbox.Options{Environ: user(t)}, env.LocalOptions{})
	_, out := b.start(t, env.Command{Script: "echo ready; read x", Stdin: true})
	out.until(t, "ready")
	b.succeeds(t, "true")
	if info, err := os.Stat(filepath.Join(dir, ".git/remotes")); err != nil || info.Mode().Perm()&0o222 != 0 {
		t.Errorf("got %v, %v", info, err)
	}
}

// What a killed host has left is removed by the next sandbox; files of the same names are not.
func TestL4_PlaceholdersOfAKilledHost(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, ".claude"), 0o700), os.Chmod(filepath.Join(dir, ".claude"),
		0o555|os.ModeSticky),
		os.Mkdir(filepath.Join(dir, ".vscode"), 0o755)); err != nil {
		t.Fatal(err)
	}
	newBox(t, dir, sandbox.Options{}, env.LocalOptions{}).end(t)
	if left := list(t, dir); left != ".vscode" {
		t.Errorf("left: %s", left)
	}
}

// A link at a protected place cannot be covered, so commands are refused.
func TestL4_ProtectedLink(t *testing.T) {
	peer.Need(t, "bwrap")
	dir := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(dir, ".mcp.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := sandbox.New(dir, sandbox.Options{Level: sandbox.Workspace, State: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), ".mcp.json is a symbolic link") {
		t.Errorf("%v", err)
	}
}
