package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/search"
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
	// the sum of its files, 8 GiB unless set. A larger tree is not recorded.
	MaxFiles int
	MaxBytes int64
	// MaxFile is the size of the largest file that is recorded, 64 MiB unless set. A [Dir] takes
	// 1 GiB at most.
	MaxFile int64
	// Include holds patterns, as in a .gitignore file of the working directory, of ignored files
	// that are recorded nevertheless. Empty ones do not count; another one that can match nothing,
	// such as "!x", is an error.
	Include []string
	// Skip holds absolute paths of directories that are left out without being named, such as the
	// store's own.
	Skip []string
}

// Recorder records the tree of a working directory again and again. A file whose size, times and
// inode have not changed is not read again. Its methods may be called concurrently; one recording
// waits for the other.
type Recorder struct {
	o    RecorderOptions
	turn *semaphore.Weighted // 1 while a recording runs

	index *index
	git   env.Hash // the index of a repository that was stored last
	kept  env.Hash // the root that was committed last by this recorder, so that the store keeps what it reaches
	dirty int      // files that were read since the index was saved
}

// NewRecorder returns a recorder.
func NewRecorder(o RecorderOptions) *Recorder {
	o.MaxFiles = cmp.Or(o.MaxFiles, 200_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 8<<30)
	o.MaxFile = cmp.Or(o.MaxFile, 64<<20)
	return &Recorder{o: o, turn: semaphore.NewWeighted(1)}
}

// Record records the tree of e's working directory. The store has all of it, durably, when it
// returns. Files are left out that .gitignore files exclude, and what the tree's Left names
// otherwise; .git is never recorded. Symbolic links are recorded as links.
//
// The error wraps errors.ErrUnsupported if e is no [env.Tree], and [ErrFull] if the store has no
// room.
func (r *Recorder) Record(ctx context.Context, e env.Environment) (Tree, error) {
	if r.turn.Acquire(ctx, 1) != nil {
		return Tree{}, context.Cause(ctx)
	}
	defer r.turn.Release(1)
	if err := recordable(ctx, e); err != nil {
		return Tree{}, err
	}
	if r.index == nil {
		r.index = loadIndex(r.o.Index, e.WorkDir())
	}
	tree, err := r.try(ctx, e)
	if errors.Is(err, ErrFull) && ctx.Err() == nil { // now the store knows how much room is needed
		return r.try(ctx, e)
	}
	return tree, err
}

// try makes a recording in one batch.
func (r *Recorder) try(ctx context.Context, e env.Environment) (_ Tree, err error) {
	batch, err := r.o.Store.Begin(ctx)
	if err != nil {
		return Tree{}, err
	}
	defer func() { err = errors.Join(err, batch.Close()) }()
	if r.kept != "" && !batch.Has(r.kept) {
		r.kept = "" // the store was cleared
	}
	run, err := r.newRecording(e, batch)
	if err != nil {
		return Tree{}, err
	}
	tree, now, err := run.walk(ctx)
	if err != nil {
		return Tree{}, err
	}
	if tree.Root != r.kept {
		if err := batch.Commit(ctx, r.o.Owner, tree.Root); err != nil {
			return Tree{}, err
		}
		r.kept = tree.Root
	}
	r.index = now
	r.dirty += int(run.read.Load())
	if r.dirty > tree.Files/20 { // saving takes time
		r.save()
	}
	return tree, nil
}

// recordable returns an error if the working directory of e cannot be recorded.
func recordable(ctx context.Context, e env.Environment) error {
	node, err := env.TreeOf(e).Lstat(ctx, e.WorkDir())
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("checkpoint: the environment cannot show its files as they are (env.Tree), so its tree "+
			"cannot be recorded: %w", err)
	case err != nil:
		return fmt.Errorf("checkpoint: %w", err)
	case !node.IsDir():
		return fmt.Errorf("checkpoint: %s is not a directory: %w", e.WorkDir(), fs.ErrInvalid)
	}
	return nil
}

// save saves the index. Errors are ignored: without the file, more is read next time.
func (r *Recorder) save() {
	if r.o.Index != "" && r.index != nil && r.dirty > 0 && r.index.save(r.o.Index) == nil {
		r.dirty = 0
	}
}

// Close saves the index. The recorder can still be used.
func (r *Recorder) Close() error {
	if err := r.turn.Acquire(context.Background(), 1); err != nil {
		return err
	}
	defer r.turn.Release(1)
	r.save()
	return nil
}

// included says which ignored files are recorded nevertheless.
type included struct {
	patterns []search.Pattern
	leading  []search.Rules // each matches directories above what a pattern may match
}

// newIncluded returns the meaning of patterns, given the absolute path of the working directory.
// The error wraps fs.ErrInvalid if one can match nothing.
func newIncluded(dir string, patterns []string) (in included, err error) {
	for _, pattern := range patterns {
		if strings.TrimSpace(pattern) == "" {
			continue
		}
		p, ok := search.NewPattern(pattern)
		if !ok {
			return in, fmt.Errorf("checkpoint: the pattern %q of RecorderOptions.Include matches no file; put a \\ "+
				"before a # or ! that a name begins with: %w", pattern, fs.ErrInvalid)
		}
		in.patterns = append(in.patterns, p)
		elems := strings.Split(strings.Trim(pattern, "/"), "/")
		for i := 1; i < len(elems); i++ {
			if rules, ok := search.NewRules(dir, "/"+strings.Join(elems[:i], "/")+"/"); ok {
				in.leading = append(in.leading, rules)
			}
		}
	}
	return in, nil
}

// covers reports whether a pattern names a path from the top, or a directory above it.
func (in *included) covers(rel string, isDir bool) bool {
	return slices.ContainsFunc(in.patterns, func(p search.Pattern) bool {
		return isDir && p.Covers(rel) || p.CoversFile(rel)
	})
}

// leads reports whether a pattern may name something below a directory, given the absolute path of
// the one that it is in, with a slash at the end.
func (in *included) leads(prefix, name string) bool {
	return slices.ContainsFunc(in.leading, func(r search.Rules) bool { return r.Exclude(prefix, name, true) })
}
