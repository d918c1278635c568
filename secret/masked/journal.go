package masked

import (
	"context"
	"slices"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/secret"
)

// Journal returns a function that creates journals as create does, for [agent.Subagents]. The first
// record that is appended to each is masked: it has the system prompt of a subagent, which the host
// does not render. A nil create returns nil.
func Journal(m *secret.Masker,
	create func(context.Context, string) (journal.Log, error)) func(context.Context, string) (journal.Log, error) {
	if create == nil {
		return nil
	}
	return func(ctx context.Context, id string) (journal.Log, error) {
		l, err := create(ctx, id)
		if err != nil {
			return nil, err
		}
		return log{l, m}, nil
	}
}

// log masks the first record of a journal.
type log struct {
	journal.Log
	masker *secret.Masker
}

// Append implements [journal.Log].
func (l log) Append(ctx context.Context, next int64, records ...journal.Record) error {
	if next == 1 && len(records) > 0 {
		records = slices.Clone(records)
		records[0].Data = l.masker.JSON(records[0].Data)
	}
	return l.Log.Append(ctx, next, records...)
}
