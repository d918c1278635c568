//go:build unix

package checkpoint_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/checkpoint"
)

// recorded returns a world that is recorded by a Recorder.
func recorded(t *testing.T) *world {
	t.Helper()
	w := testWorld(t)
	w.recorder = checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: w.store, Owner: "session", MaxFile: 100})
	return w
}

// Files that were ignored look as if the session had made them when it changes what is ignored.
// They stay.
func TestO7_FilesThatWereIgnored(t *testing.T) {
	w := recorded(t)
	w.put(".gitignore", "*.log\n/build/\n")
	w.put("sub/.gitignore", "!kept.log\nsecret\n")
	for _, name := range []string{"a.log", "build/out", "sub/secret", "sub/kept.log", "file"} {
		w.put(name, "theirs")
	}
	p := w.session(func() {
		w.put(".gitignore", "*.txt\n")
		w.must(os.Remove(w.path("sub/.gitignore")))
		w.put("new", "by the session")
		w.put("sub/kept.log", "by the session")
		w.put("made/perhaps.log", "by the session")
	})
	r := w.undo(checkpoint.PlanOptions{}, p)
	want := "a.log ignored\nbuild ignored\nbuild/out ignored\nmade not-empty\nmade/perhaps.log ignored\n" +
		"sub/secret ignored"
	if got := left(r.Left); got != want {
		t.Errorf("left alone\n%s\nwant\n%s", got, want)
	}
	for name, content := range map[string]string{".gitignore": "*.log\n/build/\n",
		"sub/.gitignore": "!kept.log\nsecret\n", "a.log": "theirs",
		"build/out": "theirs", "sub/secret": "theirs", "sub/kept.log": "theirs", "made/perhaps.log": "by the session"} {
		if got := w.get(name); got != content {
			t.Errorf("%s is %q, want %q", name, got, content)
		}
	}
	if w.has("new") {
		t.Error("a file of the session is still there")
	}
}

// Files that are ignored only now look as if the session had removed them. They stay, and what is
// in them.
func TestO7_FilesThatAreIgnoredNow(t *testing.T) {
	w := recorded(t)
	for _, name := range []string{"same.txt", "edited.txt", "gone.txt", "made/old.txt"} {
		w.put(name, "old")
	}
	p := w.session(func() {
		w.put(".gitignore", "*.txt\n")
		w.put("edited.txt", "new")
		w.put("made/new", "new")
		w.put("made/deep/new.txt", "new")
		w.must(os.Remove(w.path("gone.txt")))
	})
	r := w.undo(checkpoint.PlanOptions{Force: true}, p)
	if got := left(r.Left); got != "edited.txt unrecorded\nmade/deep not-empty" {
		t.Errorf("left alone: %s", got)
	}
	if got := w.get("same.txt") + w.get("edited.txt") + w.get("gone.txt") + w.get(
		"made/deep/new.txt"); got != "oldnewoldnew" {
		t.Errorf("the files are %q", got)
	}
	if w.has(".gitignore") || w.has("made/new") {
		t.Error("a file of the session is still there")
	}
}

// What is no file, or too large to be recorded, stays as it is.
func TestO7_FilesThatAreNotRecorded(t *testing.T) {
	w := recorded(t)
	large := string(make([]byte, 200))
	for _, name := range []string{"was-large", "file", "gets-large"} {
		w.put(name, "old")
	}
	w.put("was-large", large)
	p := w.session(func() {
		w.put("was-large", "new")
		w.put("gets-large", large)
		w.must(os.Remove(w.path("file")), syscall.Mkfifo(w.path("file"), 0o600), os.Mkdir(w.path("dir"), 0o755),
			syscall.Mkfifo(w.path("dir/fifo"), 0o600))
	})
	now := w.record()
	r := w.undo(checkpoint.PlanOptions{Force: true}, p)
	if got := left(r.Left); got != "dir not-empty\ndir/fifo unrecorded\nfile unrecorded\ngets-large unrecorded\n"+
		"was-large unrecorded" {
		t.Errorf("left alone: %s", got)
	}
	if w.record() != now || r.Point.Before != r.Point.After {
		t.Error("the tree was changed")
	}
}
