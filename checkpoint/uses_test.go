package checkpoint

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestO7_WorkspacesInUseCannotBeClaimed(t *testing.T) {
	path := t.TempDir()
	d, other := openDir(t, path, DirOptions{}), openDir(t, path, DirOptions{})
	use := func(d *Dir, workspace, owner string) func() error {
		t.Helper()
		release, err := d.Use(t.Context(), workspace, owner)
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	first, second := use(d, "/w/repo", "first"), use(other, "/w/repo", "second")
	for _, w := range []string{"/w/repo", "/w", "/", "/w/repo/sub"} {
		_, err := other.Claim(t.Context(), w, "undo")
		var inUse *InUseError
		if !errors.As(err, &inUse) || inUse.PID != os.Getpid() || inUse.Owner == "undo" ||
			inUse.Workspace != "/w/repo" || inUse.Claimed {
			t.Errorf("claiming %s: %v", w, err)
		}
	}
	for _, w := range []string{"/w/repo2", "/w/rep", "docker box:/w/repo"} {
		release, err := other.Claim(t.Context(), w, "undo")
		if err != nil {
			t.Errorf("claiming %s: %v", w, err)
			continue
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(first(), first()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Claim(t.Context(), "/w/repo", "undo"); err == nil {
		t.Error("claimed what the second one uses")
	}
	if err := second(); err != nil {
		t.Fatal(err)
	}
	claim, err := d.Claim(t.Context(), "/w/repo", "undo")
	if err != nil {
		t.Fatal(err)
	}
	var inUse *InUseError
	if _, err := other.Use(t.Context(), "/w/repo/sub", "third"); !errors.As(err, &inUse) || !inUse.Claimed ||
		inUse.Owner != "undo" {
		t.Errorf("using what is claimed: %v", err)
	}
	if err := claim(); err != nil {
		t.Fatal(err)
	}
	if err := use(other, "/w/repo/sub", "third")(); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(d.file(usesName, "*"+useExt))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestO7_UsesEndWithTheirProcess(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path, DirOptions{})
	child := startWorker(t, path, "use", 0)
	if got := child.line(t); got != "uses" {
		t.Fatalf("the child says %q", got)
	}
	_, err := d.Claim(t.Context(), workerWorkspace, "undo")
	var inUse *InUseError
	if !errors.As(err, &inUse) || inUse.PID != child.pid() || inUse.Owner != "worker" {
		t.Fatalf("claimed what another process uses: %v", err)
	}
	child.kill(t)
	release, err := d.Claim(t.Context(), workerWorkspace, "undo")
	if err != nil {
		t.Fatal(err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
