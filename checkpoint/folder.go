package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/search"
)

// folder is a directory of a recording.
type folder struct {
	run    *recording
	up     *folder // nil for the top
	at     int     // its place among the entries of up
	prefix string  // its absolute path, with a slash at the end
	base   int     // the first bytes of prefix are the top's
	rules  search.Rules
	// all is set below what RecorderOptions.Include names; within is set in an ignored directory
	// that has something that is included.
	all, within bool
	old         *knownDir // nil if nothing is known
	want        *wanted   // nil for everything
	was         env.Hash  // with want: the directory's object in the tree that has the rest

	dir   env.Dir
	users atomic.Int32 // tasks that need dir

	mu       sync.Mutex
	open     int       // tasks and folders below that are not done, and one for looking at the entries
	now      *knownDir // nil as long as everything is as in old
	same     int       // entries of old that are the same, if now is nil
	expected int       // entries
	files    int
	bytes    int64
}

func (f *folder) abs(name string) string { return f.prefix + name }
func (f *folder) rel(name string) string { return f.prefix[f.base:] + name }

// release closes the directory if no other task needs it.
func (f *folder) release() error {
	if f.users.Add(-1) == 0 {
		return f.dir.Close()
	}
	return nil
}

// look looks at the entries of the directory, and adds tasks for what has to be done.
func (f *folder) look(ctx context.Context) error {
	found, err := f.list(ctx)
	if err != nil || f.dir == nil {
		return err
	}
	v := &view{folder: f}
	err = v.visit(ctx, found)
	if err == nil {
		err = v.flush()
	}
	if err != nil {
		return errors.Join(err, f.release())
	}
	tasks := v.tasks()
	f.mu.Lock()
	f.open += len(tasks)
	f.mu.Unlock()
	f.users.Add(int32(len(tasks)))
	f.run.queue.add(tasks)
	return errors.Join(f.release(), f.done(ctx))
}

// list opens the directory and returns its entries. If it cannot be read, that is noted, and f.dir
// is nil.
func (f *folder) list(ctx context.Context) (found []env.Entry, err error) {
	f.open = 1
	if f.up != nil {
		if f.dir, found, err = f.openDir(ctx); err != nil {
			err = f.unreadable(ctx, err)
		}
		err = errors.Join(err, f.up.release())
	} else if found, err = f.dir.List(ctx); err != nil {
		err = errors.Join(err, f.dir.Close())
		f.dir = nil
	}
	if f.dir == nil {
		return nil, err
	}
	f.users.Store(1)
	if top, rules := gitFiles(found); err == nil && !f.all && !f.within && (top || rules) {
		f.rules, err = f.rules.Enter(ctx, f.run.env, path.Clean(f.prefix), top)
	}
	if err != nil {
		return nil, errors.Join(err, f.release())
	}
	return found, nil
}

// openDir opens and lists a directory below. It tries again if another one has taken its place.
func (f *folder) openDir(ctx context.Context) (dir env.Dir, found []env.Entry, err error) {
	for range steadyTries {
		if dir, err = f.up.dir.OpenDir(ctx, f.name()); err == nil {
			if found, err = dir.List(ctx); err == nil {
				return dir, found, nil
			}
			err = errors.Join(err, dir.Close())
		}
		if fatal(ctx, err) || errors.Is(err, fs.ErrPermission) {
			break
		}
		if node, errNow := f.up.lstat(ctx, f.name()); errNow != nil || !node.IsDir() {
			break
		}
	}
	return nil, nil, err
}

// name returns the directory's name.
func (f *folder) name() string { return strings.TrimSuffix(f.prefix[len(f.up.prefix):], "/") }

// unreadable takes notice of a directory below the top that could not be opened or listed. It may
// be something else by now.
func (f *folder) unreadable(ctx context.Context, reason error) error {
	if fatal(ctx, reason) {
		return reason
	}
	up := f.up
	node, err := up.lstat(ctx, f.name())
	switch {
	case gone(err):
		up.drop(f.at, 0, nil)
	case err != nil && fatal(ctx, err):
		return err
	case err == nil && !node.IsDir():
		up.set(f.at, knownFrom(&node))
		if err := up.readFile(ctx, f.at, 0); err != nil { // it has been counted as a directory
			return err
		}
	default:
		up.mu.Lock() // another folder below may be making the entries
		k := *up.entry(f.at)
		up.mu.Unlock()
		up.drop(f.at, 0, &k)
		up.run.leave(func(left *Left) { left.Unreadable.add(reasonFor(f.rel(""), reason)) })
	}
	return up.done(ctx)
}

// reasonFor returns a name and why it could not be read.
func reasonFor(rel string, err error) string {
	if in, ok := errors.AsType[*fs.PathError](err); ok {
		err = in.Err
	}
	return texts.Shown(rel) + ": " + texts.Error(err)
}

// gitFiles reports whether a directory's sorted entries have a .git and a .gitignore.
func gitFiles(found []env.Entry) (top, rules bool) {
	for i := range found {
		switch name := found[i].Name; {
		case name == ".git":
			top = true
		case name == ".gitignore":
			return top, true
		case name > ".gitignore":
			return top, false
		}
	}
	return top, false
}

// entry returns an entry by its place.
func (f *folder) entry(at int) *known {
	if f.now != nil {
		return &f.now.entries[at]
	}
	return &f.old.entries[at]
}

// set replaces an entry.
func (f *folder) set(at int, k known) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.own()
	f.now.entries[at] = k
}

// drop replaces an entry that was counted by one that has no content, or by nothing if k is nil.
func (f *folder) drop(at int, size int64, k *known) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.own()
	f.files--
	f.bytes -= size
	if k == nil {
		f.now.entries[at].name = "" // its place is kept until the end
		return
	}
	f.now.entries[at] = *k
	f.now.entries[at].forget()
}

// own makes entries that can be changed.
func (f *folder) own() {
	if f.now == nil {
		f.now = &knownDir{}
		if f.old != nil {
			f.now.entries = append(make([]known, 0, max(f.expected, f.same)), f.old.entries[:f.same]...)
		}
	}
}

// done ends a task or a folder below. With the last one it makes the directory's object, and tells
// the directory above.
func (f *folder) done(ctx context.Context) error {
	for f != nil {
		f.mu.Lock()
		f.open--
		last := f.open == 0
		f.mu.Unlock()
		if !last {
			return nil
		}
		object, err := f.finish(ctx)
		if err != nil {
			return err
		}
		if f.up == nil {
			f.run.root = object.hash()
			return nil
		}
		f.up.take(f, object)
		f = f.up
	}
	return nil
}

// take takes over the result of a folder below.
func (f *folder) take(below *folder, object digest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files += below.files
	f.bytes += below.bytes
	dir := below.now
	if dir == nil {
		dir = below.old
	}
	if k := f.entry(below.at); k.dir == dir && k.object == object && k.read {
		return
	}
	f.own()
	k := &f.now.entries[below.at]
	k.dir, k.object, k.read = dir, object, true
}

// finish makes the object of the directory, unless the store has it.
func (f *folder) finish(ctx context.Context) (digest, error) {
	if f.now == nil && f.old == nil {
		f.now = &knownDir{}
	}
	if f.now == nil {
		if object, known := f.oldObject(); known && f.run.reusable(object) {
			return object, nil
		}
	} else {
		f.now.entries = slices.DeleteFunc(f.now.entries, func(k known) bool { return k.name == "" })
	}
	dir := f.now
	if dir == nil {
		dir = f.old
	}
	entries := make([]Entry, len(dir.entries))
	for i := range dir.entries {
		entries[i] = dir.entries[i].entry()
	}
	data, err := EncodeDir(entries)
	if err != nil {
		return digest{}, err
	}
	object := digest(sha256.Sum256(data))
	if !f.run.batch.Has(object.hash()) {
		_, _, err = f.run.batch.Put(ctx, bytes.NewReader(data))
	}
	return object, err
}

// oldObject returns the object that the directory had when old was known.
func (f *folder) oldObject() (object digest, known bool) {
	if f.up == nil {
		return digestOf(f.run.old.root)
	}
	f.up.mu.Lock()
	defer f.up.mu.Unlock()
	k := f.up.entry(f.at)
	return k.object, k.dir == f.old && k.read
}
