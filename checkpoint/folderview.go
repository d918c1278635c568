package checkpoint

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

// view is a look at the entries of a folder.
type view struct {
	*folder
	next   int // the first entry of old that may be the next one
	below  []*folder
	unread []int // the places of files to read

	newFiles int // not counted yet
	newBytes int64
}

// visit goes through the entries that were found.
func (v *view) visit(ctx context.Context, found []env.Entry) error {
	v.expected = len(found)
	if v.want != nil {
		return v.visitWanted(ctx, found)
	}
	for i := range found {
		if err := v.one(ctx, &found[i]); err != nil {
			return err
		}
	}
	if v.now == nil && v.old != nil && v.same < len(v.old.entries) {
		v.own()
	}
	return nil
}

// visitWanted goes through the entries of the tree that has the rest, and looks at those that are
// wanted.
func (v *view) visitWanted(ctx context.Context, found []env.Entry) error {
	was, err := ReadDirObject(ctx, v.run.o.Store, v.was)
	if err != nil {
		return err
	}
	v.now = &knownDir{}
	for len(was) > 0 || len(found) > 0 {
		if len(found) == 0 || len(was) > 0 && was[0].Name < found[0].Name {
			err = v.other(ctx, &was[0], nil)
			was = was[1:]
		} else if len(was) == 0 || found[0].Name < was[0].Name {
			err = v.other(ctx, nil, &found[0])
			found = found[1:]
		} else {
			err = v.other(ctx, &was[0], &found[0])
			was, found = was[1:], found[1:]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// other takes an entry of the tree that has the rest, or what was found in its place if that is
// wanted.
func (v *view) other(ctx context.Context, was *Entry, found *env.Entry) error {
	name := ""
	if was != nil {
		name = was.Name
	} else {
		name = found.Name
	}
	below, wanted := v.want.below[name]
	switch {
	case !wanted && was == nil:
		return nil
	case !wanted:
		return v.keep(was)
	case found != nil && below != nil && found.Type == fs.ModeSymlink:
		return errThroughLink
	case found != nil && below != nil && found.Type.IsDir() && was != nil && was.kind() == kindDir:
		if err := v.one(ctx, found); err != nil {
			return err
		}
		if n := len(v.below); n > 0 && v.below[n-1].name() == name {
			v.below[n-1].want, v.below[n-1].was = below, was.Object
			v.uncount(1, 0)
			return nil
		}
		found = nil // it is ignored by now, or gone
	}
	files, bytes, err := v.run.weigh(ctx, was)
	if err != nil {
		return err
	}
	v.uncount(files, bytes)
	if found == nil {
		return nil
	}
	return v.one(ctx, found)
}

// keep takes an entry of the tree that has the rest.
func (v *view) keep(was *Entry) error {
	k := knownEntry(*was)
	if old, _ := v.match(was.Name); old != nil {
		if e := old.entry(); e.Same(was) {
			k = *old
		}
	}
	v.now.entries = append(v.now.entries, k)
	return nil
}

// uncount takes back what was counted in another tree.
func (v *view) uncount(files int, bytes int64) {
	v.files -= files
	v.bytes -= bytes
	v.run.files.Add(-int64(files))
	v.run.bytes.Add(-bytes)
}

// count counts something that was found. The recording learns of many at once, because several
// workers count.
func (v *view) count(size int64) error {
	v.newFiles++
	v.newBytes += size
	if v.newFiles < 1000 {
		return nil
	}
	return v.flush()
}

// flush lets the recording know what was counted.
func (v *view) flush() error {
	files, bytes := v.newFiles, v.newBytes
	v.newFiles, v.newBytes = 0, 0
	v.files += files
	v.bytes += bytes
	return v.run.count(files, bytes)
}

// match returns what is known of a name and its place. Names come in order.
func (v *view) match(name string) (*known, int) {
	if v.old == nil {
		return nil, 0
	}
	for ; v.next < len(v.old.entries); v.next++ {
		if known := &v.old.entries[v.next]; known.name == name {
			return known, v.next
		} else if known.name > name {
			break
		}
	}
	return nil, 0
}

// repeat adds an entry that is as it was, and returns its place.
func (v *view) repeat(old *known, at int) int {
	if v.now == nil && at == v.same {
		v.same++
		return at
	}
	return v.add(*old)
}

// add adds an entry and returns its place.
func (v *view) add(k known) int {
	if v.now == nil {
		v.own()
		if v.now.entries == nil {
			v.now.entries = make([]known, 0, v.expected)
		}
	}
	v.now.entries = append(v.now.entries, k)
	return len(v.now.entries) - 1
}

// one looks at an entry that was found.
func (v *view) one(ctx context.Context, e *env.Entry) error {
	isDir := e.Type.IsDir()
	if v.run.skips(v.folder, e.Name, isDir) {
		return nil
	}
	all, within, ignored := v.verdict(e.Name, isDir)
	if ignored {
		v.run.leave(func(left *Left) { left.Ignored.add(shownAs(v.rel(e.Name), isDir)) })
		return nil
	}
	node, err := v.dir.Lstat(ctx, e.Name)
	switch {
	case gone(err):
		return nil
	case err != nil && fatal(ctx, err):
		return err
	case err != nil:
		v.run.leave(func(left *Left) { left.Unreadable.add(reasonFor(v.rel(e.Name), err)) })
		v.unrecorded(known{name: e.Name, mode: entryMode(e.Type)})
		return nil
	}
	k := knownFrom(&node)
	if !v.run.direct {
		v.run.saw(&k)
	}
	switch {
	case !k.mode.IsDir():
		return v.file(k)
	case len(v.rel(k.name)) > maxPath:
		v.run.leave(func(left *Left) { left.Unreadable.add(reasonFor(v.rel(k.name), errTooDeep)) })
		v.unrecorded(k)
		return nil
	}
	return v.subdirectory(k, all, within)
}

// maxPath bounds the path of a directory that is recorded, in bytes, as systems do. Directories
// within each other would take memory with the square of their number.
const maxPath = 4096

var errTooDeep = fmt.Errorf("its path has more than %d bytes", maxPath)

// shownAs returns a name for Left.
func shownAs(rel string, isDir bool) string {
	if isDir {
		rel += "/"
	}
	return texts.Shown(rel)
}

// verdict reports whether an entry is ignored and, for a directory, what holds below.
func (v *view) verdict(name string, isDir bool) (all, within, ignored bool) {
	in := &v.run.include
	switch {
	case v.all:
		return true, false, false
	case !v.within && !v.rules.Exclude(v.prefix, name, isDir):
		return false, false, false
	case in.matches(v.prefix, name, isDir):
		return true, false, false
	case isDir && in.leads(v.prefix, name):
		return false, true, false
	}
	return false, false, true
}

// unrecorded adds an entry that has no content.
func (v *view) unrecorded(k known) {
	k.forget()
	if old, at := v.match(k.name); old != nil && !old.read && old.mode == k.mode {
		v.repeat(old, at)
		return
	}
	v.add(k)
}

// subdirectory adds a directory.
func (v *view) subdirectory(k known, all, within bool) error {
	f := &folder{run: v.run, up: v.folder, prefix: v.prefix + k.name + "/", base: v.base, rules: v.rules, all: all,
		within: within}
	if old, at := v.match(k.name); old != nil && old.dir != nil && old.mode == k.mode {
		f.old = old.dir
		f.at = v.repeat(old, at)
	} else {
		f.at = v.add(k)
	}
	v.below = append(v.below, f)
	return v.count(0)
}

// file adds anything but a directory.
func (v *view) file(k known) error {
	regular := k.mode.IsRegular()
	switch {
	case !regular && k.mode != fs.ModeSymlink:
		v.run.leave(func(left *Left) { left.Special.add(texts.Shown(v.rel(k.name))) })
		v.unrecorded(k)
		return nil
	case regular && k.size > v.run.o.MaxFile:
		v.run.leave(func(left *Left) { left.Large.add(texts.Shown(v.rel(k.name))) })
		v.unrecorded(k)
		return nil
	}
	old, at := v.match(k.name)
	if old != nil && old.read && old.sameFile(&k) {
		if !old.young && (!regular || v.run.reusable(old.object)) {
			v.repeat(old, at)
			return v.count(k.size)
		}
		k.young = true
	}
	v.unread = append(v.unread, v.add(k))
	return v.count(k.size)
}

const (
	maxReadFiles = 16      // files of a task
	maxReadBytes = 1 << 20 // bytes of a task with several files
)

// tasks returns what has to be done next, the files to read at the end.
func (v *view) tasks() []recordTask {
	var tasks []recordTask
	for _, f := range v.below {
		tasks = append(tasks, recordTask{in: f})
	}
	for len(v.unread) > 0 {
		n, size := 0, int64(0)
		for n < len(v.unread) && n < maxReadFiles && (n == 0 || size < maxReadBytes) {
			size += v.now.entries[v.unread[n]].size
			n++
		}
		tasks = append(tasks, recordTask{in: v.folder, files: v.unread[:n:n]})
		v.unread = v.unread[n:]
	}
	return tasks
}
