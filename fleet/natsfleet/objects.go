package natsfleet

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/engine"
)

const (
	objectStream = "objects"
	headPrefix   = "objects.head." // and the name
	dataPrefix   = "objects.data." // and the name
)

// objects implements [fleet.Objects].
type objects struct{ *contents }

func newObjects(ctx context.Context, a *account) (*objects, error) {
	s, err := a.stream(ctx, jetstream.StreamConfig{Name: objectStream,
		Subjects: []string{headPrefix + ">", dataPrefix + ">"}})
	return &objects{&contents{&records{a, s}}}, err
}

// nameTokens returns a name as tokens of a subject: one for each part between slashes.
func nameTokens(name string) (string, error) {
	if err := engine.CheckObjectName(name); err != nil {
		return "", err
	}
	return pathTokens(strings.Split(name, "/")), nil
}

func pathTokens(parts []string) string {
	tokens := make([]string, len(parts))
	for i, p := range parts {
		tokens[i] = "_" + base64.RawURLEncoding.EncodeToString([]byte(p)) // no token may be empty
	}
	return strings.Join(tokens, ".")
}

// Put implements [fleet.Objects].
func (o *objects) Put(ctx context.Context, name string, data io.Reader) (fleet.Artifact, error) {
	tokens, err := nameTokens(name)
	if err != nil {
		return fleet.Artifact{}, err
	}
	h, err := o.put(ctx, dataPrefix+tokens, data)
	if err == nil {
		h.Name = name
		err = o.replace(ctx, headPrefix+tokens, h) // without an acknowledgement it may be there nevertheless
	}
	if err != nil {
		return fleet.Artifact{}, fmt.Errorf("object %s: %w", name, err)
	}
	return h.artifact(), nil
}

func (h contentHead) artifact() fleet.Artifact {
	return fleet.Artifact{Name: h.Name, Size: h.Size, Hash: h.Hash}
}

// replace stores the head of an object, and removes the pieces of the one that was there before.
func (o *objects) replace(ctx context.Context, subject string, h contentHead) error {
	var old contentHead
	var before uint64
	err := engine.Update(ctx, o.records, subject, func(now engine.Record) (_ any, _ time.Duration, err error) {
		old, err = headOf(now)
		before = now.Seq
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return h, 0, err
	})
	if err == nil && before > 0 {
		o.drop(ctx, old)
		err = o.RemoveSeq(ctx, before)
	}
	return err
}

// Open implements [fleet.Objects].
func (o *objects) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	tokens, err := nameTokens(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	h, err := o.head(ctx, headPrefix+tokens)
	if err != nil {
		return nil, named("object "+name, err)
	}
	return o.open(ctx, h), nil
}

// List implements [fleet.Objects].
func (o *objects) List(ctx context.Context, prefix string) iter.Seq2[fleet.Artifact, error] {
	return func(yield func(fleet.Artifact, error) bool) {
		filter := headPrefix + ">"
		if dir := strings.Split(prefix, "/"); len(dir) > 1 {
			filter = headPrefix + pathTokens(dir[:len(dir)-1]) + ".>"
		}
		there := map[string]fleet.Artifact{} // by name: one that is replaced meanwhile may come twice
		for r, err := range o.records.List(ctx, filter) {
			var h contentHead
			if err == nil {
				h, err = headOf(r)
			}
			if err != nil {
				yield(fleet.Artifact{}, err)
				return
			}
			if strings.HasPrefix(h.Name, prefix) {
				there[h.Name] = h.artifact()
			}
		}
		for _, name := range slices.Sorted(maps.Keys(there)) {
			if !yield(there[name], nil) {
				return
			}
		}
	}
}

// RemoveTask removes the objects of a task: those named KIND/TASK/..., with any KIND. Pieces go,
// too, that belong to no head, such as those of a Put whose process died.
func (o *objects) RemoveTask(ctx context.Context, task string) error {
	of := "*." + pathTokens([]string{task})
	if err := o.records.Remove(ctx, headPrefix+of+".>"); err != nil {
		return err
	}
	return o.records.Remove(ctx, dataPrefix+of+".*.>")
}

// Remove implements [fleet.Objects].
func (o *objects) Remove(ctx context.Context, names ...string) error {
	var failures []error
	for _, name := range names {
		failures = append(failures, named("object "+name, o.removeOne(ctx, name)))
	}
	return errors.Join(failures...)
}

// removeOne removes an object: its head first, so that nobody finds half of it.
func (o *objects) removeOne(ctx context.Context, name string) error {
	tokens, err := nameTokens(name)
	if err != nil {
		return nil // there is none of that name
	}
	old, err := o.head(ctx, headPrefix+tokens)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = o.records.Remove(ctx, headPrefix+tokens)
	}
	if err == nil {
		o.drop(ctx, old)
	}
	return err
}
