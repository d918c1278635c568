package worktree

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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

// A FIFO in the place of a .gitignore, which git would wait for, does not hold up the end.
func TestO8_NoEndlessStatus(t *testing.T) {
	git := peer.Need(t, "git")
	dir := t.TempDir()
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	repo := filepath.Join(dir, "repo")
	for _, args := range [][]string{{"init", "-q", repo}, {"-C", repo, "-c", "user.name=T", "-c",
		"user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "first"}} {
		cmd := exec.Command(git, args...)
		cmd.Env = environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	w, err := Open(t.Context(), Options{Dir: repo, Name: "a", Home: filepath.Join(dir, "trees"), Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(w.Top, ".gitignore"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.git.patience = time.Millisecond
	if w.Close(t.Context()); !strings.Contains(w.Kept, "it is not known what has changed") {
		t.Errorf("kept because %q", w.Kept)
	}
}
