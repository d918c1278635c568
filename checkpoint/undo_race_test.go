//go:build unix

package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
)

// busyRounds bounds what each of the others writes during an undo.
const busyRounds = 2000

// busy is somebody else who writes until an undo is over.
type busy struct {
	w    *world
	over chan struct{}
	last map[string]string // what it has written last, by path
	err  error
}

// run calls write again and again.
func (b *busy) run(others *sync.WaitGroup, write func(round int) error) {
	others.Go(func() {
		for round := range busyRounds {
			select {
			case <-b.over:
				return
			default:
			}
			if err := write(round); err != nil {
				b.err = err
				return
			}
		}
	})
}

// edit changes one of the first files, as an editor does that looks whether the file has changed.
func (b *busy) edit(round int) error {
	name := fmt.Sprintf("src/%d", round*7%(busyFiles/2))
	was, err := env.HashFile(b.w.t.Context(), b.w.env, name)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("edited %d", round)
	err = env.Replace(b.w.t.Context(), b.w.env, name, was, []byte(text), 0o644)
	switch {
	case errors.Is(err, env.ErrChanged):
		return nil
	case err == nil:
		b.last[name] = text
	}
	return err
}

// build writes a new file into one of the directories that the session has made, and again into one
// file.
func (b *busy) build(round int) error {
	for name, text := range map[string]string{fmt.Sprintf("out/%d/%d.o", round%busyFiles, round): "object",
		"out/log": fmt.Sprint(round)} {
		err := errors.Join(os.MkdirAll(filepath.Dir(b.w.path(name)), 0o755),
			os.WriteFile(b.w.path(name), []byte(text), 0o644))
		switch {
		case err == nil:
			b.last[name] = text
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EINVAL): // its directory has just been removed
		default:
			return err
		}
	}
	return nil
}

const busyFiles = 60

// An editor and a build that write all the time lose nothing to an undo, and what they leave alone
// is taken back.
func TestO7_EditorAndBuildDuringUndo(t *testing.T) {
	w := testWorld(t)
	for i := range busyFiles {
		w.put(fmt.Sprintf("src/%d", i), "old")
		w.put(fmt.Sprintf("other/%d", i), "old")
	}
	p := w.session(func() {
		for i := range busyFiles {
			w.put(fmt.Sprintf("src/%d", i), "by the session")
			w.put(fmt.Sprintf("out/%d/made", i), "by the session")
			w.put(fmt.Sprintf("other/%d", i), "by the session")
		}
	})
	plan := w.planFor(checkpoint.PlanOptions{}, p)
	editor, build := &busy{w: w, last: map[string]string{}}, &busy{w: w, last: map[string]string{}}
	editor.over = make(chan struct{})
	build.over = editor.over
	var others sync.WaitGroup
	editor.run(&others, editor.edit)
	build.run(&others, build.build)
	r, err := checkpoint.Undo(t.Context(), w.workspace(), plan, w.plan)
	close(editor.over)
	others.Wait()
	w.must(err, editor.err, build.err)
	for _, b := range []*busy{editor, build} {
		for name, text := range b.last {
			if got := w.get(name); got != text {
				t.Errorf("%s is %q, want %q", name, got, text)
			}
		}
	}
	named := map[string]bool{}
	for _, kept := range r.Left {
		named[string(kept.Path)] = true
	}
	for i := range busyFiles {
		src, made := fmt.Sprintf("src/%d", i), fmt.Sprintf("out/%d/made", i)
		if _, edited := editor.last[src]; !edited && w.get(src) != "old" ||
			w.get(fmt.Sprintf("other/%d", i)) != "old" || w.has(made) && !named[made] {
			t.Errorf("the session's changes number %d are neither taken back nor edited since", i)
		}
	}
	t.Logf("%d files edited, %d files built, %d paths left alone", len(editor.last), len(build.last), len(r.Left))
}

// A link that somebody else has made lead elsewhere since the plan, and a directory whose
// permissions somebody else changes while the undo fills it, keep that.
func TestO7_LinksAndPermissionsOfOthers(t *testing.T) {
	w := testWorld(t)
	w.put("gone/file", "old")
	w.must(os.Symlink("old", w.path("link")), os.Symlink("old", w.path("lost")), os.Chmod(w.path("gone"), 0o755))
	p := w.session(func() {
		w.must(os.RemoveAll(w.path("gone")), os.Remove(w.path("link")), os.Symlink("by the session", w.path("link")),
			os.Remove(w.path("lost")))
	})
	plan := w.planFor(checkpoint.PlanOptions{}, p)
	w.must(os.Remove(w.path("link")), os.Symlink("theirs", w.path("link")), os.Symlink("theirs", w.path("lost")))
	local := w.env.(*env.Local)
	w.env = &meddling{Local: local, meddle: func() {
		if w.has("gone") {
			w.must(os.Chmod(w.path("gone"), 0o711))
		}
	}}
	r, err := checkpoint.Undo(t.Context(), w.workspace(), plan, w.plan)
	w.must(err)
	w.env = local
	if got := left(r.Left); got != "gone changed\nlink changed\nlost changed" {
		t.Errorf("left alone: %s", got)
	}
	for _, name := range []string{"link", "lost"} {
		target, err := os.Readlink(w.path(name))
		w.must(err)
		if target != "theirs" {
			t.Errorf("%s leads to %q", name, target)
		}
	}
	info, err := os.Stat(w.path("gone"))
	w.must(err)
	if info.Mode().Perm() != 0o711 || w.get("gone/file") != "old" {
		t.Errorf("the directory is %v", info.Mode())
	}
}

// replacing is the environment of an undo while which somebody else does something between the look
// at a file and its replacement.
type replacing struct {
	*env.Local
	do func()
}

func (r *replacing) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	r.do()
	return r.Local.Replace(ctx, name, was, data, perm)
}

// Permissions that somebody else gives a file after the undo has looked at it stay, also where the
// file is made again meanwhile.
func TestO7_PermissionsBeforeReplace(t *testing.T) {
	for name, was := range map[string]string{"rewritten": "by the session", "removed": ""} {
		t.Run(name, func(t *testing.T) {
			w := testWorld(t)
			w.put("file", "old")
			p := w.session(func() {
				if w.must(os.Remove(w.path("file"))); was != "" {
					w.put("file", was)
				}
			})
			plan := w.planFor(checkpoint.PlanOptions{}, p)
			local := w.env.(*env.Local)
			w.env = &replacing{local, func() {
				if was == "" {
					w.put("file", "old") // as before the session
				}
				w.must(os.Chmod(w.path("file"), 0o640))
			}}
			r, err := checkpoint.Undo(t.Context(), w.workspace(), plan, w.plan)
			w.must(err)
			w.env = local
			info, err := os.Stat(w.path("file"))
			w.must(err)
			if info.Mode().Perm() != 0o640 || w.get("file") != "old" || left(r.Left) != "file changed" {
				t.Errorf("the file is %v with %q, left alone: %s", info.Mode(), w.get("file"), left(r.Left))
			}
		})
	}
}

// A directory that somebody swaps for a link between the look at a file and its replacement has
// nothing written where the link leads.
func TestO7_DirectorySwappedBeforeReplace(t *testing.T) {
	w := testWorld(t)
	w.put("dir/hooks/pre-commit", "old")
	p := w.session(func() { w.must(os.Remove(w.path("dir/hooks/pre-commit"))) })
	plan := w.planFor(checkpoint.PlanOptions{}, p)
	w.must(os.MkdirAll(w.path(".git/hooks"), 0o755))
	local := w.env.(*env.Local)
	w.env = &replacing{local, func() {
		w.must(os.Rename(w.path("dir"), w.path("aside")), os.Symlink(".git", w.path("dir")))
	}}
	r, err := checkpoint.Undo(t.Context(), w.workspace(), plan, w.plan)
	w.must(err)
	w.env = local
	if w.has(".git/hooks/pre-commit") || left(r.Left) != "dir/hooks/pre-commit blocked" {
		t.Errorf("left alone: %s; in .git: %v", left(r.Left), w.has(".git/hooks/pre-commit"))
	}
}
