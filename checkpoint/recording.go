package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/search"
)

// recording is one walk of a Recorder.
type recording struct {
	o         *RecorderOptions
	env       env.Environment
	batch     Batch
	include   included
	skip      map[string]bool // paths from the top
	old       *index
	trusted   bool // the store has what the old index names
	foldsCase bool // names may differ only in case from those on the disk
	direct    bool // operations are system calls of this machine

	fail  context.CancelCauseFunc // ends the recording
	slots chan struct{}           // holds a value for each worker
	files atomic.Int64            // the files, links and directories found so far
	bytes atomic.Int64
	read  atomic.Int64 // the files that were read
	clock atomic.Int64 // the latest change that was seen, in nanoseconds

	mu   sync.Mutex
	left Left
}

func (r *Recorder) newRecording(e env.Environment, batch Batch) (*recording, error) {
	include, err := newIncluded(e.WorkDir(), r.o.Include)
	if err != nil {
		return nil, err
	}
	run := &recording{o: &r.o, env: e, batch: batch, include: include, skip: map[string]bool{}, old: r.index,
		trusted: r.kept != "" && r.kept == r.index.Top.Object}
	system := e.Platform().OS
	run.foldsCase = system == "darwin" || system == "windows"
	for _, name := range r.o.Skip {
		if rel, inside := strings.CutPrefix(path.Clean(name), strings.TrimSuffix(e.WorkDir(), "/")+"/"); inside {
			run.skip[rel] = true
		}
	}
	return run, nil
}

// farWorkers is the number of directories and files that are read at the same time where each
// operation may have to wait for another machine.
const farWorkers = 8

// walk records the tree, and returns what is known of it then.
func (run *recording) walk(ctx context.Context) (Tree, *index, error) {
	ctx, run.fail = context.WithCancelCause(ctx)
	defer run.fail(nil)
	now := newIndex(run.env.WorkDir())
	rules, err := search.RulesAbove(ctx, run.env, now.Dir)
	if err != nil {
		return Tree{}, nil, err
	}
	top := &folder{recording: run, prefix: strings.TrimSuffix(now.Dir, "/") + "/", rules: rules, old: run.old.Top}
	if top.dir, err = env.OpenDir(ctx, run.env, now.Dir); err != nil {
		return Tree{}, nil, err
	}
	top.base = len(top.prefix)
	run.direct = env.Direct(top.dir)
	workers := farWorkers
	if run.direct {
		workers = runtime.GOMAXPROCS(0)
	}
	run.slots = make(chan struct{}, workers)
	run.slots <- struct{}{}
	var reason error
	if now.Top, reason, err = top.record(ctx); err != nil || reason != nil {
		return Tree{}, nil, errors.Join(reason, err)
	}
	now.At = time.Now()
	tree := Tree{Root: now.Top.Object, Files: now.Top.Files, Bytes: now.Top.Bytes, Left: run.left}
	return tree, now, nil
}

// each calls a function for the numbers below n, at the same time as far as there are workers. The
// first error ends the recording. It returns when all calls have ended, also after a panic.
func (run *recording) each(ctx context.Context, n int, do func(i int) error) (err error) {
	var others guard.Group
	defer func() {
		<-run.slots // who waits does not work
		defer func() { run.slots <- struct{}{} }()
		others.Wait()
		err = context.Cause(ctx)
	}()
	try := func(i int) {
		if err := do(i); err != nil {
			run.fail(err)
		}
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		select {
		case run.slots <- struct{}{}:
			others.Go(func() {
				defer func() { <-run.slots }()
				try(i)
			})
		default:
			try(i)
		}
	}
	return nil
}

// skips reports whether an entry is left out without a word.
func (run *recording) skips(rel, name string, isDir bool) bool {
	if name == ".git" || run.foldsCase && strings.EqualFold(name, ".git") {
		return true
	}
	return isDir && run.skip[rel]
}

// count counts what was found.
func (run *recording) count(size int64) error {
	files, bytes := run.files.Add(1), run.bytes.Add(size)
	switch {
	case files > int64(run.o.MaxFiles):
		return fmt.Errorf("checkpoint: the tree has more than %d files and directories; add what need not be "+
			"recorded to .gitignore", run.o.MaxFiles)
	case bytes > run.o.MaxBytes:
		return fmt.Errorf("checkpoint: the files of the tree have more than %d bytes (%d in the first %d files); add "+
			"what need not be recorded to .gitignore", run.o.MaxBytes, bytes, files)
	}
	return nil
}

// leave notes something that was left out in a list of run.left.
func (run *recording) leave(list *Names, name string) {
	run.mu.Lock()
	defer run.mu.Unlock()
	list.add(name)
}

// resolution is more than the resolution of the clock of any file system.
const resolution = 2 * time.Second

// settled reports whether a file that is read now will have other times if it changes afterwards.
// Seen says that it was in the same state at the last recording. The clock of another machine is
// known only by the latest change that was seen.
func (run *recording) settled(k *known, seen bool) bool {
	now := time.Now()
	clock := now.UnixNano()
	if !run.direct {
		clock = min(clock, run.clock.Load())
	}
	return k.changedAt() < clock-int64(resolution) || seen && !run.old.At.IsZero() && now.Sub(run.old.At) >= resolution
}

// saw takes notice of a file's times.
func (run *recording) saw(k *known) {
	for at, changed := run.clock.Load(), k.changedAt(); at < changed; at = run.clock.Load() {
		if run.clock.CompareAndSwap(at, changed) {
			return
		}
	}
}

// stored reports whether the store still has an object of the old index.
func (run *recording) stored(object env.Hash) bool { return run.trusted || run.batch.Has(object) }

// gone reports whether an error says that a file is not there any more.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// fatal reports whether an error says more about the environment than about a file.
func fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, env.ErrLost) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}
