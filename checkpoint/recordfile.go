package checkpoint

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

// steadyTries is how often something is looked at that changes while it is read.
const steadyTries = 4

// readFiles reads files of the directory.
func (f *folder) readFiles(ctx context.Context, places []int) error {
	var err error
	for _, at := range places {
		k := f.entry(at)
		if err = f.readFile(ctx, at, k.size); err != nil {
			break
		}
	}
	if err := errors.Join(err, f.release()); err != nil {
		return err
	}
	return f.done(ctx)
}

// readFile reads a file or a link until it is the same before and after, so that its content is of
// one moment. It may have become something else, or nothing. Counted is the size that was counted
// for it.
func (f *folder) readFile(ctx context.Context, at int, counted int64) error {
	k := *f.entry(at)
	var last *known // what was read while the file changed
	var reason error
	for range steadyTries {
		if !f.run.readable(&k) {
			return f.replaced(at, counted, k)
		}
		k.young = !f.run.settled(&k)
		var err error
		if reason, err = f.readOnce(ctx, &k); err != nil {
			return err
		}
		node, err := f.lstat(ctx, k.name)
		if gone(err) {
			f.drop(at, counted, nil)
			return nil
		}
		if err != nil {
			return f.failed(ctx, at, counted, k, err)
		}
		now := knownFrom(&node)
		switch same := k.sameFile(&now); {
		case same && reason == nil:
			f.keep(at, counted, k)
			return nil
		case same:
			return f.failed(ctx, at, counted, k, reason)
		case reason == nil:
			last = new(k)
		}
		k = now
	}
	if last == nil {
		return f.failed(ctx, at, counted, k, reason)
	}
	f.keep(at, counted, *last)
	f.run.leave(func(left *Left) { left.Unsteady.add(texts.Shown(f.rel(last.name))) })
	return nil
}

// readable reports whether something is a link or a file that is not too large.
func (run *recording) readable(k *known) bool {
	return k.mode == fs.ModeSymlink || k.mode.IsRegular() && k.size <= run.o.MaxFile
}

// readOnce reads the content of a file or the target of a link. Reason says why it could not be
// read.
func (f *folder) readOnce(ctx context.Context, k *known) (reason, err error) {
	f.run.read.Add(1)
	if k.mode == fs.ModeSymlink {
		k.target, reason = f.dir.Readlink(ctx, k.name)
	} else {
		reason, err = f.put(ctx, k)
	}
	k.read = reason == nil && err == nil
	if reason != nil && fatal(ctx, reason) {
		return nil, reason
	}
	return reason, err
}

// put stores the content of a file.
func (f *folder) put(ctx context.Context, k *known) (reason, err error) {
	r, err := f.dir.Open(ctx, k.name)
	if err != nil {
		return err, nil
	}
	from := &failing{from: io.LimitReader(r, f.run.o.MaxFile+1)}
	hash, size, err := f.run.batch.Put(ctx, from)
	closeErr := r.Close()
	if from.err != nil || closeErr != nil {
		return errors.Join(from.err, closeErr), nil
	}
	if size > f.run.o.MaxFile {
		return errGrown, nil
	}
	k.object, _ = digestOf(hash) // zero after an error
	k.stored = size
	return nil, err
}

// errGrown reports that a file has grown above the limit.
var errGrown = errors.New("it has grown above the limit while it was read")

// failing keeps the error of a reader.
type failing struct {
	from io.Reader
	err  error
}

func (r *failing) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// lstat looks at an entry again.
func (f *folder) lstat(ctx context.Context, name string) (env.Node, error) {
	if f.run.direct {
		return f.dir.Lstat(ctx, name)
	}
	return f.run.tree.Lstat(ctx, f.abs(name))
}

// keep sets an entry that was read.
func (f *folder) keep(at int, counted int64, k known) {
	f.set(at, k)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes += k.stored - counted
}

// failed takes notice of something that cannot be read.
func (f *folder) failed(ctx context.Context, at int, counted int64, k known, reason error) error {
	if reason == nil || fatal(ctx, reason) {
		return reason
	}
	f.drop(at, counted, &k)
	f.run.leave(func(left *Left) { left.Unreadable.add(reasonFor(f.rel(k.name), reason)) })
	return nil
}

// replaced takes notice of what has taken a file's place.
func (f *folder) replaced(at int, counted int64, k known) error {
	if k.mode.IsDir() {
		f.set(at, k)
		below := &folder{run: f.run, up: f, at: at, prefix: f.abs(k.name) + "/", base: f.base, rules: f.rules,
			all: f.all, within: f.within}
		f.mu.Lock()
		f.open++
		f.bytes -= counted
		f.mu.Unlock()
		f.users.Add(1)
		f.run.queue.add([]recordTask{{in: below}})
		return nil
	}
	f.drop(at, counted, &k)
	f.run.leave(func(left *Left) {
		list := &left.Special
		if k.mode.IsRegular() {
			list = &left.Large
		}
		list.add(texts.Shown(f.rel(k.name)))
	})
	return nil
}
