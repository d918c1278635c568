//go:build unix

package checkpoint_test

import (
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/internal/peer"
)

// diff returns the diff of points.
func (w *world) diff(maxBytes int, points ...checkpoint.Point) *checkpoint.Diff {
	w.t.Helper()
	changes, err := checkpoint.Compose(w.t.Context(), w.store, points, w.record())
	w.must(err)
	d, err := checkpoint.NewDiff(w.t.Context(), w.store, changes, maxBytes)
	w.must(err)
	return d
}

// What git makes of a diff is the tree after the changes.
func TestO4_GitAppliesTheDiff(t *testing.T) {
	git := peer.Need(t, "git")
	w := testWorld(t)
	for _, name := range []string{"edited", "gone", "dir/moved", "dir/stays", "mode", "with space", "swapped", "file",
		"ends"} {
		w.put(name, strings.Repeat("line of "+name+"\n", 20))
	}
	w.put("ends", "no newline")
	w.must(os.Symlink("edited", w.path("link")), os.Symlink("gone", w.path("moved-link")),
		os.MkdirAll(w.path("empty/inner"), 0o755))
	before := w.record()
	p := w.session(func() {
		w.put("edited", strings.Replace(w.get("edited"), "line", "first line", 1)+"last line\n")
		w.put("with space", "short\n")
		w.put("ends", "no newline at all")
		w.put("made/deep/new", "new\n")
		w.put("made/empty", "")
		w.must(os.Remove(w.path("gone")), os.Rename(w.path("dir/moved"), w.path("renamed")),
			os.Chmod(w.path("mode"), 0o755),
			os.Remove(w.path("swapped")), os.Symlink("made", w.path("swapped")), os.Remove(w.path("link")),
			os.Symlink("made", w.path("link")),
			os.Remove(w.path("file")), os.RemoveAll(w.path("empty")))
		w.put("file/inside", "now a directory\n")
	})
	d := w.diff(0, p)
	text := d.Text()
	w.undo(checkpoint.PlanOptions{}, p)
	if w.record() != before {
		t.Fatal("the undo is not complete")
	}
	cmd := exec.Command(git, "apply", "--unsafe-paths", "--verbose", "-")
	cmd.Dir, cmd.Stdin = w.dir, strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, text)
	}
	w.must(os.RemoveAll(w.path("empty"))) // git does not know empty directories
	if diff := gocmp.Diff(w.flat(p.After), w.flat(w.record())); diff != "" {
		t.Errorf("the tree differs (-after the session +after git apply):\n%s\n%s", diff, text)
	}
	for _, want := range []string{"rename from dir/moved\nrename to renamed\n",
		"deleted directory empty/inner/, mode 755\n", "new directory made/, mode 755\n",
		"old mode 100644\nnew mode 100755\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the diff lacks %q:\n%s", want, text)
		}
	}
	if again := w.diff(0, p).Text(); again != text {
		t.Error("the diff is not always the same")
	}
}

// A diff is bounded, says what it does not show, and has no control characters in names.
func TestO4_DiffIsBounded(t *testing.T) {
	w := testWorld(t)
	w.put("binary", "a\x00b")
	w.put("large", strings.Repeat("x\n", 1<<20))
	w.put("lines", "1\n2\n3\n")
	p := w.session(func() {
		w.put("binary", "a\x00c")
		w.put("large", strings.Repeat("y\n", 1<<20))
		w.put("lines", "1\n3\n4\n5\n")
		w.put("name\x1b[2J\n", "x\n")
		w.put("z1", "x")
		w.put("z2", "x")
	})
	d := w.diff(len(w.diff(0, p).Text())-1, p)
	if len(d.Files) != 5 || d.More != 1 || !d.Files[0].Binary || !d.Files[1].Large || d.Files[2].Added != 2 ||
		d.Files[2].Removed != 1 {
		t.Errorf("%+v", d)
	}
	text := d.Text()
	for _, want := range []string{"Binary files a/binary and b/binary differ\n",
		"too large to be shown: 2097152 bytes before, 2097152 bytes now\n",
		`+++ "b/name\x1b[2J\n"` + "\n", "and 1 more changed path, which is not shown\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the diff lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
	if d := w.diff(100, p); len(d.Files) != 1 || d.More != 5 {
		t.Errorf("with at most 100 bytes: %+v", d)
	}
}

// A diff does not say that what was not recorded is too large to be shown: it may be a FIFO.
func TestO4_DiffOfWhatWasNotRecorded(t *testing.T) {
	changes := []checkpoint.Change{{Path: "pipe",
		After: &checkpoint.Entry{Name: "pipe", Mode: fs.ModeNamedPipe | 0o600}}}
	d, err := checkpoint.NewDiff(t.Context(), newMemory(), changes, 0)
	if err != nil || len(d.Files) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	if text := d.Text(); !strings.Contains(text, "was not recorded") || strings.Contains(text, "0 bytes") {
		t.Errorf("the diff is\n%s", text)
	}
}
