package checkpoint

import (
	"context"
	"time"

	"github.com/attractor-go/attractor/env"
)

// AgeIndex makes a recorder believe that its last recording was earlier.
func AgeIndex(r *Recorder, by time.Duration) { r.index.At = r.index.At.Add(-by) }

// Lookup returns the entry of a path in a tree, given its root, or nil if there is none.
func Lookup(ctx context.Context, store Store, root env.Hash, name string) (*Entry, error) {
	return newLookup(store, root).at(ctx, name)
}
