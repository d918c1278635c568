package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
)

// RecorderOptions are the options of a [Recorder].
type RecorderOptions struct {
	// Store gets the trees, which it keeps for Owner, such as the id of a session.
	Store Store
	Owner string
	// Index is the name of a file of this machine in which the recorder remembers what it has read,
	// so that the next one for the same directory reads only what has changed. Its directory
	// exists. Several recorders may use it at once. Empty means none.
	Index string
	// MaxFiles bounds the files, links and directories of a tree, 200,000 unless set, and MaxBytes
	// the sum of its files, 8 GiB unless set. A larger tree is not recorded; see [TooLargeError].
	MaxFiles int
	MaxBytes int64
	// MaxFile is the size of the largest file that is recorded, 64 MiB unless set.
	MaxFile int64
	// Include holds patterns, as in a .gitignore file of the working directory, of ignored files
	// that are recorded nevertheless. Empty ones do not count; another one that can match nothing,
	// such as "!x", is an error.
	Include []string
	// Skip holds absolute paths of directories that are left out without being named, such as the
	// store's own.
	Skip []string
}

// The defaults of RecorderOptions.
const (
	defaultMaxFiles = 200_000
	defaultMaxBytes = 8 << 30
	defaultMaxFile  = 64 << 20
)

// TooLargeError reports that a tree was not recorded because it has too many files or bytes.
type TooLargeError struct {
	// Files and Bytes are what was found until the recording ended.
	Files int
	Bytes int64
	// MaxFiles and MaxBytes are the limits, of which one was reached.
	MaxFiles int
	MaxBytes int64
}

// Error says which limit was reached, and what can be done.
func (e *TooLargeError) Error() string {
	if e.Files > e.MaxFiles {
		return fmt.Sprintf("checkpoint: the tree has more than %d files and directories; add what need not be recorded to .gitignore", e.MaxFiles)
	}
	return fmt.Sprintf("checkpoint: the files of the tree have more than %d bytes (%d in the first %d files); add what need not be recorded to .gitignore",
		e.MaxBytes, e.Bytes, e.Files)
}

// Recorder records the tree of a working directory again and again. A file whose size, times and
// inode have not changed is not read again. Its methods may be called concurrently; one recording
// waits for the other.
type Recorder struct {
	o    RecorderOptions
	turn chan struct{} // holds a value while a recording runs

	index  *index
	direct bool     // operations on files are system calls of this machine
	git    gitIndex // the last one that was stored
	kept   env.Hash // the root that was committed last by this recorder, so that the store keeps what it reaches
	dirty  int      // files that were read since the index was saved
}

// NewRecorder returns a recorder.
func NewRecorder(o RecorderOptions) *Recorder {
	if o.MaxFiles <= 0 {
		o.MaxFiles = defaultMaxFiles
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.MaxFile <= 0 {
		o.MaxFile = defaultMaxFile
	}
	return &Recorder{o: o, turn: make(chan struct{}, 1)}
}

// Record records the tree of e's working directory. The store has all of it, durably, when it
// returns. Files are left out that .gitignore files exclude, and what the tree's Left names
// otherwise; .git is never recorded. Symbolic links are recorded as links.
//
// The error wraps errors.ErrUnsupported if e is no [env.Tree], [ErrFull] if the store has no room,
// and it may be a [TooLargeError].
func (r *Recorder) Record(ctx context.Context, e env.Environment) (Tree, error) {
	return r.record(ctx, e, nil)
}

// RecordPaths records a tree that differs from another one, which the store keeps, only at some
// paths: these are looked at, with what is below them, and nothing else is. Paths are absolute, or
// relative to the working directory. Paths outside of it and .git are ignored.
func (r *Recorder) RecordPaths(ctx context.Context, e env.Environment, tree Tree, paths ...string) (Tree, error) {
	at := time.Now()
	wanted, whole := r.wanted(e.WorkDir(), paths)
	if whole {
		return r.record(ctx, e, nil)
	}
	if len(wanted.below) == 0 {
		tree.At = at
		return tree, ctx.Err()
	}
	wanted.tree = tree
	now, err := r.record(ctx, e, wanted)
	if errors.Is(err, errThroughLink) {
		return r.record(ctx, e, nil)
	}
	return now, err
}

// errThroughLink reports that a path leads through a symbolic link, so that the file is elsewhere
// in the tree, or outside.
var errThroughLink = errors.New("a path leads through a symbolic link")

// wanted holds the paths that a recording looks at.
type wanted struct {
	below map[string]*wanted // by name; nil for all that is below
	tree  Tree               // at the top: the tree that has the rest
}

// wanted returns the paths to record, or whole if other paths may be affected, too.
func (r *Recorder) wanted(dir string, paths []string) (top *wanted, whole bool) {
	top = &wanted{below: map[string]*wanted{}}
	for _, name := range paths {
		rel, inside := strings.CutPrefix(path.Clean(name), strings.TrimSuffix(dir, "/")+"/")
		if !inside && !path.IsAbs(name) {
			rel = path.Clean(name)
			inside = rel != ".." && !strings.HasPrefix(rel, "../")
		}
		switch {
		case rel == "." || path.Clean(name) == path.Clean(dir) || path.Base(name) == ".gitignore":
			return nil, true
		case inside:
			top.add(strings.Split(rel, "/"))
		}
	}
	return top, false
}

// add adds a path.
func (w *wanted) add(elems []string) {
	for _, elem := range elems[:len(elems)-1] {
		next, known := w.below[elem]
		switch {
		case elem == ".git" || known && next == nil:
			return
		case !known:
			next = &wanted{below: map[string]*wanted{}}
			w.below[elem] = next
		}
		w = next
	}
	if last := elems[len(elems)-1]; last != ".git" {
		w.below[last] = nil
	}
}

// record makes a recording, of all or of what is wanted.
func (r *Recorder) record(ctx context.Context, e env.Environment, only *wanted) (Tree, error) {
	release, err := r.wait(ctx)
	if err != nil {
		return Tree{}, err
	}
	defer release()
	if err := recordable(ctx, e); err != nil {
		return Tree{}, err
	}
	if r.index == nil {
		r.index = loadIndex(r.o.Index, e.WorkDir())
	}
	tree, err := r.try(ctx, e, only)
	if errors.Is(err, ErrFull) && ctx.Err() == nil { // now the store knows how much room is needed
		return r.try(ctx, e, only)
	}
	return tree, err
}

// try makes a recording in one batch.
func (r *Recorder) try(ctx context.Context, e env.Environment, only *wanted) (_ Tree, err error) {
	batch, err := r.o.Store.Begin(ctx)
	if err != nil {
		return Tree{}, err
	}
	defer func() { err = errors.Join(err, batch.Close()) }()
	if r.kept != "" && !batch.Has(r.kept) {
		r.kept = "" // the store was cleared
	}
	run, err := r.newRecording(e, batch, only)
	if err != nil {
		return Tree{}, err
	}
	tree, err := run.walk(ctx)
	if err != nil {
		return Tree{}, err
	}
	if tree.Root != r.kept {
		if err := batch.Commit(ctx, r.o.Owner, tree.Root); err != nil {
			return Tree{}, err
		}
		r.kept = tree.Root
	}
	r.learn(run)
	return tree, nil
}

// wait waits until no other recording runs.
func (r *Recorder) wait(ctx context.Context) (release func(), err error) {
	select {
	case r.turn <- struct{}{}:
		return func() { <-r.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// recordable returns an error if the working directory of e cannot be recorded.
func recordable(ctx context.Context, e env.Environment) error {
	node, err := env.TreeOf(e).Lstat(ctx, e.WorkDir())
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("checkpoint: the environment cannot show its files as they are (env.Tree), so its tree cannot be recorded: %w", err)
	case err != nil:
		return fmt.Errorf("checkpoint: %w", err)
	case !node.IsDir():
		return fmt.Errorf("checkpoint: %s is not a directory: %w", e.WorkDir(), fs.ErrInvalid)
	}
	return nil
}

// learn takes over the index of a recording, and saves it if many files were read since it was
// saved.
func (r *Recorder) learn(run *recording) {
	r.index, r.direct = run.index(), run.direct
	r.dirty += int(run.read.Load())
	if r.dirty > r.index.files/20 {
		r.save()
	}
}

// save saves the index. Errors are ignored: without the file, more is read next time.
func (r *Recorder) save() {
	if r.o.Index != "" && r.index != nil && r.dirty > 0 && r.index.save(r.o.Index) == nil {
		r.dirty = 0
	}
}

// Close saves the index. The recorder can still be used.
func (r *Recorder) Close() error {
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	r.save()
	return nil
}
