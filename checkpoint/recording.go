package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/search"
)

// recording is one walk of a Recorder.
type recording struct {
	o         *RecorderOptions
	env       env.Environment
	tree      env.Tree
	batch     Batch
	include   included
	skip      map[string]bool // paths from the top
	only      *wanted         // nil for the whole tree
	old       *index
	trusted   bool // the store has what the old index names
	foldsCase bool // names may differ only in case from those on the disk
	direct    bool // operations are system calls of this machine

	queue recordQueue
	top   *folder
	root  env.Hash
	total int          // files of the tree
	files atomic.Int64 // the files, links and directories found so far
	bytes atomic.Int64
	read  atomic.Int64 // the files that were read
	clock atomic.Int64 // the latest change that was seen, in nanoseconds

	mu   sync.Mutex
	left Left
}

func (r *Recorder) newRecording(e env.Environment, batch Batch, only *wanted) (*recording, error) {
	include, err := newIncluded(e.WorkDir(), r.o.Include)
	if err != nil {
		return nil, err
	}
	run := &recording{o: &r.o, env: e, tree: env.TreeOf(e), batch: batch, include: include, skip: map[string]bool{},
		only: only, old: r.index, trusted: r.kept != "" && r.kept == r.index.root}
	system := e.Platform().OS
	run.foldsCase = system == "darwin" || system == "windows"
	for _, name := range r.o.Skip {
		if rel, inside := strings.CutPrefix(path.Clean(name), strings.TrimSuffix(e.WorkDir(), "/")+"/"); inside {
			run.skip[rel] = true
		}
	}
	return run, nil
}

// walk records the tree.
func (run *recording) walk(ctx context.Context) (Tree, error) {
	at := time.Now()
	dir := run.env.WorkDir()
	rules, err := search.RulesAbove(ctx, run.env, dir)
	if err != nil {
		return Tree{}, err
	}
	opened, err := env.OpenDir(ctx, run.env, dir)
	if err != nil {
		return Tree{}, err
	}
	run.direct = env.Direct(opened)
	run.queue.most = workersFor(run.direct)
	run.top = &folder{run: run, dir: opened, prefix: strings.TrimSuffix(dir, "/") + "/", rules: rules, old: run.old.top}
	run.top.base = len(run.top.prefix)
	if run.only != nil {
		run.top.want, run.top.was = run.only, run.only.tree.Root
		run.files.Store(int64(run.only.tree.Files))
		run.bytes.Store(run.only.tree.Bytes)
	}
	err = run.queue.run(ctx, recordTask{in: run.top}, run.do)
	if err = errors.Join(err, run.abandon()); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return Tree{}, cause
		}
		return Tree{}, err
	}
	tree := Tree{Root: run.root, At: at, Files: run.top.files, Bytes: run.top.bytes, Left: run.left}
	if run.only != nil {
		tree.Files += run.only.tree.Files
		tree.Bytes += run.only.tree.Bytes
		tree.Left = run.left.without(&run.only.tree.Left)
		tree.Left.merge(&run.only.tree.Left)
	}
	run.total = tree.Files
	return tree, nil
}

// abandon closes the directories of tasks that were not done.
func (run *recording) abandon() error {
	var err error
	for _, t := range run.queue.tasks {
		if t.files != nil {
			err = errors.Join(err, t.in.release())
		} else if t.in.up != nil {
			err = errors.Join(err, t.in.up.release())
		}
	}
	return err
}

func (run *recording) do(ctx context.Context, t recordTask) error {
	if t.files == nil {
		return t.in.look(ctx)
	}
	return t.in.readFiles(ctx, t.files)
}

// skips reports whether an entry is left out without a word.
func (run *recording) skips(in *folder, name string, isDir bool) bool {
	if name == ".git" || run.foldsCase && strings.EqualFold(name, ".git") {
		return true
	}
	return isDir && len(run.skip) > 0 && run.skip[in.rel(name)]
}

// count counts what was found.
func (run *recording) count(newFiles int, newBytes int64) error {
	files, bytes := run.files.Add(int64(newFiles)), run.bytes.Add(newBytes)
	if files > int64(run.o.MaxFiles) || bytes > run.o.MaxBytes {
		return &TooLargeError{Files: int(files), Bytes: bytes, MaxFiles: run.o.MaxFiles, MaxBytes: run.o.MaxBytes}
	}
	return nil
}

// leave notes something that was left out.
func (run *recording) leave(add func(*Left)) {
	run.mu.Lock()
	defer run.mu.Unlock()
	add(&run.left)
}

// resolution is more than the resolution of the clock of any file system.
const resolution = 2 * time.Second

// settled reports whether a file that is read now will have other times if it changes afterwards.
// The clock of another machine is known only by the latest change that was seen.
func (run *recording) settled(k *known) bool {
	now := time.Now()
	clock := now.UnixNano()
	if !run.direct {
		clock = min(clock, run.clock.Load())
	}
	if k.changedAt() < clock-int64(resolution) {
		return true
	}
	return k.young && !run.old.at.IsZero() && now.Sub(run.old.at) >= resolution
}

// saw takes notice of a file's times.
func (run *recording) saw(k *known) {
	for at, changed := run.clock.Load(), k.changedAt(); at < changed; at = run.clock.Load() {
		if run.clock.CompareAndSwap(at, changed) {
			return
		}
	}
}

// reusable reports whether the store still has an object.
func (run *recording) reusable(object digest) bool {
	return run.trusted || run.batch.Has(object.hash())
}

// weigh returns the files and bytes of an entry and of what is below.
func (run *recording) weigh(ctx context.Context, e *Entry) (files int, bytes int64, err error) {
	if e == nil {
		return 0, 0, nil
	}
	add := func(e *Entry) {
		if e.kind() != kindUnread {
			files++
			bytes += e.Size
		}
	}
	add(e)
	if e.kind() == kindDir {
		err = Walk(ctx, run.o.Store, e.Object, func(_ string, e Entry) error {
			add(&e)
			return nil
		})
	}
	return files, bytes, err
}

// index returns what the recording knows now.
func (run *recording) index() *index {
	top := run.top.now
	if top == nil {
		top = run.top.old
	}
	return &index{dir: run.env.WorkDir(), root: run.root, top: top, at: time.Now(), files: run.total}
}

// gone reports whether an error says that a file is not there any more, or is something else by
// now.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// fatal reports whether an error says more about the environment than about a file.
func fatal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, env.ErrLost) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}
