package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
)

// gitIndex is the index of a repository when it was stored.
type gitIndex struct {
	file   string
	state  known
	object env.Hash
}

// GitState returns what the repository of e's working directory has checked out, and stores its
// index. It returns nil without a repository that e can read. An index above
// RecorderOptions.MaxFile, and one that cannot be read, is left out. No program is run.
func (r *Recorder) GitState(ctx context.Context, e env.Environment) (*GitState, error) {
	head, ok := git.ReadHead(ctx, e)
	if !ok {
		return nil, context.Cause(ctx)
	}
	release, err := r.wait(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	state := &GitState{Dir: head.Dir, Head: head.Text, Commit: head.Commit}
	state.Index, err = r.storeIndex(ctx, e, path.Join(head.Dir, "index"))
	return state, err
}

// storeIndex returns the object of a repository's index, or "".
func (r *Recorder) storeIndex(ctx context.Context, e env.Environment, name string) (_ env.Hash, err error) {
	node, err := env.TreeOf(e).Lstat(ctx, name)
	if err != nil || !node.Mode.IsRegular() || node.Size > r.o.MaxFile {
		return "", context.Cause(ctx)
	}
	batch, err := r.o.Store.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, batch.Close()) }()
	state := knownFrom(&node)
	if old := &r.git; old.file == name && old.state.sameFile(&state) && batch.Has(old.object) {
		return old.object, nil
	}
	at := time.Now()
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
	// otherwise it may change without a trace in its times
	if r.direct && state.changedAt() < at.Add(-resolution).UnixNano() {
		r.git = gitIndex{name, state, object}
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
	return object, batch.Commit(ctx, r.o.Owner, root)
}
