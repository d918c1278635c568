package agent

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/tool"
)

// An archive has the turns that compactions have replaced. It reads them from the journal, and keeps
// them only if there is none. It implements [tool.History].
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
			texts = append(texts, tool.Turn{Number: t.Number, Kind: string(t.Kind), Text: conversation.Text(t.Message.Parts)})
		}
	}
	return texts
}
