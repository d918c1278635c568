package workspace

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
)

// Patch implements [fleet.Workspace]. It compares the recorded files with the cloned commit in the
// worker's own repository, so the result does not depend on the task's repository, and nothing of
// the task is run.
func (m *made) Patch(ctx context.Context, w io.Writer) (err error) {
	end, err := m.alone(ctx)
	if err != nil {
		return err
	}
	defer end()
	tree, err := m.recorder.Record(ctx, m.place.task)
	if err != nil {
		return err
	}
	p, err := m.newPatch(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if err := p.compare(ctx, tree.Root); err != nil {
		return fmt.Errorf("workspace: comparing the files: %w", err)
	}
	return p.write(ctx, &limited{to: w, left: m.limits.StoredBytes})
}

// emptyTree is git's name of a tree without files.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// patch compares a recorded tree with a commit.
type patch struct {
	store *store
	git   *git // with an index and a directory for files of its own
	from  string
	root  *os.Root
	dirs  []string // to remove

	files   map[string]treeFile // of the commit
	changed bytes.Buffer        // paths, each followed by a zero byte
	removed bytes.Buffer
}

func (m *made) newPatch(ctx context.Context) (*patch, error) {
	dir, index := m.dir("patch"), m.dir("patch.index")
	p := &patch{store: m.store, from: emptyTree, dirs: []string{dir, index}, files: map[string]treeFile{}}
	g := newGit(m.dir("repo.git"), m.dir("home"), "core.protectNTFS=false", "core.protectHFS=false")
	p.git = g.with("GIT_INDEX_FILE="+index, "GIT_WORK_TREE="+dir)
	if m.cloned == nil {
		if err := g.run(ctx, nil, nil, "init", "-q", "--bare", "--template="); err != nil {
			return nil, err
		}
	} else {
		p.from = m.cloned.base
	}
	err := errors.Join(p.removeDirs(), os.Mkdir(dir, 0o700))
	if err == nil {
		p.root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return nil, err
	}
	if m.cloned != nil {
		for _, f := range m.cloned.files {
			p.files[f.path] = f
		}
	}
	return p, nil
}

func (p *patch) removeDirs() error {
	var errs []error
	for _, dir := range p.dirs {
		errs = append(errs, removeAll(dir))
	}
	return errors.Join(errs...)
}

func (p *patch) close() error { return errors.Join(p.root.Close(), p.removeDirs()) }

// compare finds the files that differ, and writes those of the tree into the patch's directory.
func (p *patch) compare(ctx context.Context, root env.Hash) error {
	there := map[string]bool{}
	err := checkpoint.Walk(ctx, p.store, root, func(name string, e checkpoint.Entry) error {
		there[name] = !e.Mode.IsDir() || !e.Recorded()
		switch {
		case p.files[name].mode == modeModule && e.Mode.IsDir():
			there[name] = true
			return fs.SkipDir
		case strings.EqualFold(path.Base(name), ".git"):
			if e.Mode.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !e.Recorded() || e.Mode.IsDir() || p.same(name, &e):
			return nil
		}
		p.changed.WriteString(name + "\x00")
		return p.make(ctx, name, &e)
	})
	if err != nil {
		return err
	}
	for name, f := range p.files {
		if f.mode != modeModule && !isThere(there, name) {
			p.removed.WriteString(name + "\x00")
		}
	}
	return nil
}

// isThere reports whether a path is in a tree, or in a directory that was not recorded.
func isThere(there map[string]bool, name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if there[name] {
			return true
		}
	}
	return false
}

// same reports whether an entry is the same as in the commit.
func (p *patch) same(name string, e *checkpoint.Entry) bool {
	f, ok := p.files[name]
	if !ok {
		return false
	}
	if e.Mode.Type() == fs.ModeSymlink {
		sum := sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(e.Target), e.Target))
		return f.mode == modeLink && f.name == hex.EncodeToString(sum[:])
	}
	return p.store.base != nil && p.store.base.blobs[e.Object] == f.name && f.mode != modeLink &&
		(f.mode == "100755") == (e.Mode&0o100 != 0)
}

// make writes a file or a link into the patch's directory.
func (p *patch) make(ctx context.Context, name string, e *checkpoint.Entry) (err error) {
	if err := p.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	if e.Mode.Type() == fs.ModeSymlink {
		return p.root.Symlink(string(e.Target), name)
	}
	from, err := p.store.Open(ctx, e.Object)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := p.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|e.Mode.Perm()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// write writes the patch.
func (p *patch) write(ctx context.Context, w io.Writer) error {
	tree := []string{"read-tree", p.from}
	if p.from == emptyTree {
		tree = []string{"read-tree", "--empty"}
	}
	if err := p.git.run(ctx, nil, nil, tree...); err != nil {
		return err
	}
	if err := p.git.run(ctx, &p.removed, nil, "update-index", "-z", "--force-remove", "--stdin"); err != nil {
		return err
	}
	if err := p.git.run(ctx, &p.changed, nil, "update-index", "-z", "--add", "--replace", "--stdin"); err != nil {
		return err
	}
	return p.git.run(ctx, nil, w, "diff", "--cached", "--binary", "--full-index", "--no-color", "--no-ext-diff",
		"--no-textconv", "--no-renames", p.from)
}
