package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/tool"
)

// A keptOutput names the blob of a whole output in the journal.
type keptOutput struct {
	Hash string `json:"hash"`
	Size int64  `json:"size"` // in bytes
}

// keptAs returns the hash of the blob that has the whole output, empty if the journal does not keep
// it.
func (r *resultRecord) keptAs() string {
	if r.Kept == nil {
		return ""
	}
	return r.Kept.Hash
}

// An outputStore holds the whole outputs of a session in files while it lives. Outputs that an
// earlier run has kept in the journal are copied back when they are first asked for.
type outputStore struct {
	*tool.DirOutputs
	journal journal.Log
	earlier map[string]keptOutput // those of an earlier run, by id; never changed

	mu     sync.Mutex // held while the journal is read, which may not return
	copied map[string]bool
}

// Create implements [tool.Outputs]. It does not reuse an id of an earlier run.
func (o *outputStore) Create(callID string) (id string, w io.WriteCloser, err error) {
	id = callID
	for n := 2; o.earlier[id].Hash != ""; n++ {
		id = fmt.Sprintf("%s-%d", callID, n)
	}
	return o.DirOutputs.Create(id)
}

// Open implements [tool.Outputs]. It waits while another call copies an output back.
func (o *outputStore) Open(id string) (io.ReadSeekCloser, error) {
	if o.earlier[id].Hash != "" {
		if err := o.copyBack(id); err != nil {
			return nil, fmt.Errorf("the output cannot be read from the journal: %w", err)
		}
	}
	return o.DirOutputs.Open(id)
}

// copyBack writes the file of an output of an earlier run, all of it or none, once.
func (o *outputStore) copyBack(id string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.copied[id] {
		return nil
	}
	blob, err := o.journal.Blob(context.Background(), o.earlier[id].Hash)
	if err != nil {
		return err
	}
	_, w, err := o.DirOutputs.Create(id)
	if err != nil {
		return errors.Join(err, blob.Close())
	}
	_, err = io.Copy(w, blob)
	if err = errors.Join(err, w.Close(), blob.Close()); err != nil {
		return errors.Join(err, o.Discard(id))
	}
	if o.copied == nil {
		o.copied = map[string]bool{}
	}
	o.copied[id] = true
	return nil
}

// has reports whether an output can be read, without copying it back.
func (o *outputStore) has(id string) bool {
	if o.earlier[id].Hash != "" {
		return true
	}
	f, err := o.DirOutputs.Open(id)
	return err == nil && f.Close() == nil
}

// keepOutput stores the whole output of a call in the journal as far as Limits.KeepOutputs allows,
// and names it in the record. An output that is not kept is gone when the session ends.
func (s *Session) keepOutput(ctx context.Context, result *resultRecord) {
	if s.limits.KeepOutputs <= 0 || s.journal == nil || result.OutputRef == "" {
		return
	}
	f, err := s.outputs.DirOutputs.Open(result.OutputRef)
	if err != nil {
		return // the store is closed: the session ends
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil || !s.mayKeepMore(size) {
		f.Close() // it was only read
		return
	}
	var hash atomic.Pointer[string]
	err = s.write(ctx, "PutBlob", func(ctx context.Context) error {
		h, err := s.journal.PutBlob(ctx, f)
		hash.Store(&h)
		return err
	}, func(error) { f.Close() })
	if err != nil {
		s.keptBytes.Add(-size)
		s.warn("output_not_kept", "The whole output of %s cannot be kept: %v.", result.Name, err)
		return
	}
	result.Kept = &keptOutput{Hash: *hash.Load(), Size: size}
}

// mayKeepMore counts bytes of another output, or reports false if the journal may not keep so many.
func (s *Session) mayKeepMore(size int64) bool {
	if s.keptBytes.Add(size) <= s.limits.KeepOutputs {
		return true
	}
	s.keptBytes.Add(-size)
	return false
}

// An archive has the turns that compactions have replaced. It reads them from the journal, and
// keeps them only if there is none. It implements [tool.History].
type archive struct {
	journal Records // nil for none

	mu   sync.Mutex
	kept []tool.Turn // without a journal, in the order of their numbers
}

// add adds turns that were replaced.
func (a *archive) add(turns []Turn) {
	if a.journal != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = append(a.kept, turnsAsText(turns)...)
}

// Turns implements [tool.History].
func (a *archive) Turns(ctx context.Context, first, last int) iter.Seq2[tool.Turn, error] {
	return func(yield func(tool.Turn, error) bool) {
		for turns, err := range a.replaced(ctx) {
			if err != nil {
				yield(tool.Turn{}, fmt.Errorf("the earlier turns cannot be read from the journal: %w", err))
				return
			}
			for _, t := range turns {
				switch {
				case t.Number > last:
					return
				case t.Number >= first && !yield(t, nil):
					return
				}
			}
		}
	}
}

// replaced yields what each compaction has replaced.
func (a *archive) replaced(ctx context.Context) iter.Seq2[[]tool.Turn, error] {
	return func(yield func([]tool.Turn, error) bool) {
		if a.journal == nil {
			a.mu.Lock()
			kept := a.kept
			a.mu.Unlock()
			yield(kept, nil)
			return
		}
		var state State
		var before []Turn
		compacted := 0
		for _, err := range state.folding(ctx, a.journal) {
			if err != nil {
				yield(nil, err)
				return
			}
			if state.compacted > compacted && !yield(turnsAsText(before[:len(before)+1-len(state.Turns)]), nil) {
				return
			}
			before, compacted = state.Turns, state.compacted
		}
	}
}

// turnsAsText returns turns as text. It leaves out the turn of an earlier compaction, since the
// turns that it replaced are there already.
func turnsAsText(turns []Turn) (texts []tool.Turn) {
	for _, t := range turns {
		if t.Kind != TurnCompaction {
			texts = append(texts, tool.Turn{Number: t.Number, Kind: string(t.Kind),
				Text: conversation.Text(t.Message.Parts)})
		}
	}
	return texts
}
