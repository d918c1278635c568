package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
)

// GitState returns what the repository of e's working directory has checked out, and stores its
// index. It returns nil without a repository that e can read. An index above
// RecorderOptions.MaxFile, and one that cannot be read, is left out. No program is run.
func (r *Recorder) GitState(ctx context.Context, e env.Environment) (*GitState, error) {
	head, ok := git.ReadHead(ctx, e)
	if !ok {
		return nil, context.Cause(ctx)
	}
	if r.turn.Acquire(ctx, 1) != nil {
		return nil, context.Cause(ctx)
	}
	defer r.turn.Release(1)
	object, err := r.storeIndex(ctx, e, path.Join(head.Dir, "index"))
	return &GitState{Dir: head.Dir, Head: head.Text, Commit: head.Commit, Index: object}, err
}

// storeIndex returns the object of a repository's index, or "".
func (r *Recorder) storeIndex(ctx context.Context, e env.Environment, name string) (_ env.Hash, err error) {
	node, err := env.TreeOf(e).Lstat(ctx, name)
	if err != nil || !node.Mode.IsRegular() || node.Size > r.o.MaxFile {
		return "", context.Cause(ctx)
	}
	object, err := env.HashFile(ctx, e, name)
	if err != nil {
		return "", context.Cause(ctx)
	}
	batch, err := r.o.Store.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, batch.Close()) }()
	if object == r.git && batch.Has(object) {
		return object, nil
	}
	f, err := e.Open(ctx, name)
	if err != nil {
		return "", context.Cause(ctx)
	}
	from := &failing{from: io.LimitReader(f, r.o.MaxFile)}
	object, size, err := batch.Put(ctx, from)
	if errors.Join(from.err, f.Close()) != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", err
	}
	// a tree that has nothing else makes the store keep it
	data, err := EncodeDir([]Entry{{Name: "index", Mode: 0o600, Object: object, Size: size}})
	if err != nil {
		return "", err
	}
	root, _, err := batch.Put(ctx, bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	if err := batch.Commit(ctx, r.o.Owner, root); err != nil {
		return "", err
	}
	r.git = object
	return object, nil
}
