package memfleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/engine"
)

// objectTable holds the objects of a tenant.
type objectTable struct {
	sync.Mutex
	objects map[string]object // by name
}

// object is data that does not change.
type object struct {
	fleet.Artifact
	data []byte
}

// objects implements [fleet.Objects].
type objects struct {
	e *Engine
	*objectTable
}

// Put implements [fleet.Objects].
func (s objects) Put(ctx context.Context, name string, data io.Reader) (fleet.Artifact, error) {
	if err := s.e.check(ctx); err != nil {
		return fleet.Artifact{}, err
	}
	if err := engine.CheckObjectName(name); err != nil {
		return fleet.Artifact{}, err
	}
	text, err := io.ReadAll(data)
	if err != nil {
		return fleet.Artifact{}, fmt.Errorf("fleet: object %q: its data cannot be read: %w", name, err)
	}
	sum := sha256.Sum256(text)
	o := object{fleet.Artifact{Name: name, Size: int64(len(text)), Hash: hex.EncodeToString(sum[:])}, text}
	s.Lock()
	defer s.Unlock()
	if err := s.e.check(ctx); err != nil { // while it was read
		return fleet.Artifact{}, err
	}
	s.objects[name] = o
	return o.Artifact, nil
}

// Open implements [fleet.Objects].
func (s objects) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	s.Lock()
	defer s.Unlock()
	o, ok := s.objects[name]
	if !ok {
		return nil, fmt.Errorf("fleet: there is no object %.600q: %w", name, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(o.data)), nil
}

// List implements [fleet.Objects].
func (s objects) List(ctx context.Context, prefix string) iter.Seq2[fleet.Artifact, error] {
	return func(yield func(fleet.Artifact, error) bool) {
		if err := s.e.check(ctx); err != nil {
			yield(fleet.Artifact{}, err)
			return
		}
		for _, a := range s.named(prefix) {
			if !yield(a, nil) {
				return
			}
		}
	}
}

func (t *objectTable) named(prefix string) []fleet.Artifact {
	t.Lock()
	defer t.Unlock()
	var list []fleet.Artifact
	for _, name := range slices.Sorted(maps.Keys(t.objects)) {
		if strings.HasPrefix(name, prefix) {
			list = append(list, t.objects[name].Artifact)
		}
	}
	return list
}

// Remove implements [fleet.Objects].
func (s objects) Remove(ctx context.Context, names ...string) error {
	if err := s.e.check(ctx); err != nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	for _, name := range names {
		delete(s.objects, name)
	}
	return nil
}

// RemoveTask removes the objects of a task: those named KIND/TASK/..., with any KIND.
func (s objects) RemoveTask(ctx context.Context, id string) error {
	s.Lock()
	defer s.Unlock()
	maps.DeleteFunc(s.objects, func(name string, _ object) bool {
		_, rest, _ := strings.Cut(name, "/")
		return strings.HasPrefix(rest, id+"/")
	})
	return s.e.check(ctx)
}
