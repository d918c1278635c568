package checkpoint

import (
	"context"
	"errors"
	"io"

	"github.com/attractor-go/attractor/env"
)

// Store keeps objects by the SHA-256 of their content: files, and the directories that name them.
// Objects stay as long as an owner, such as a session, keeps a tree that reaches them. All methods
// are safe for concurrent use, also by several processes.
type Store interface {
	// Begin opens a batch of objects. Until the batch ends, no object is removed from the store.
	Begin(ctx context.Context) (Batch, error)
	// Open opens an object for reading. The error for an unknown hash wraps fs.ErrNotExist. A
	// damaged object ends with an error instead of io.EOF. The caller closes the reader.
	Open(ctx context.Context, hash env.Hash) (io.ReadCloser, error)
}

// Batch adds objects to a store. Nothing of it can be relied upon before Commit.
type Batch interface {
	// Has reports whether an object is in the store or in this batch.
	Has(hash env.Hash) bool
	// Put adds an object and returns its hash and its size in bytes. An object that is there
	// already is not stored again.
	Put(ctx context.Context, data io.Reader) (hash env.Hash, size int64, err error)
	// Commit makes the objects durable, and keeps a tree, given its root, for an owner. It ends the
	// batch.
	Commit(ctx context.Context, owner string, root env.Hash) error
	// Close ends the batch without keeping anything, unless it has ended already.
	Close() error
}

// ErrFull is wrapped by the errors of a store that has no room for another object.
var ErrFull = errors.New("the store of checkpoints is full")
