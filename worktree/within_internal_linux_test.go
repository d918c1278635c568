package worktree

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/internal/landlock"
	"github.com/attractor-go/attractor/internal/peer"
)

// A link in the place of a directory, into which a command has put it meanwhile, allows nothing.
func TestO8_WithinNoLink(t *testing.T) {
	if _, err := landlock.ABI(); err != nil {
		peer.Missing(t, "%v", err)
	}
	dir, outside := t.TempDir(), t.TempDir()
	link, inside := filepath.Join(dir, "link"), filepath.Join(dir, "inside")
	if err := errors.Join(os.Symlink(outside, link), os.Mkdir(inside, 0o755)); err != nil {
		t.Fatal(err)
	}
	dirs := []string{link, inside, filepath.Join(dir, "missing")}
	if err := runWithin(exec.Command("sh", "-c", `: >"$0"`, inside+"/x"), dirs); err != nil {
		t.Errorf("in one of the directories: %v", err)
	}
	if err := runWithin(exec.Command("sh", "-c", `: >"$0"`, link+"/x"), dirs); err == nil {
		t.Error("a file was made where a link leads")
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("made %v, %v", list, err)
	}
}
