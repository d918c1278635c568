package web

import (
	"context"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/secret"
)

type stubTrace struct{ all []Row }

func newStubTrace(*secret.Masker) *stubTrace { return &stubTrace{} }
func (t *stubTrace) Add(line journal.Record) (int, int, error) {
	t.all = append(t.all, Row{Index: len(t.all), Kind: RowNote, Seq: line.N, Time: line.Time.UnixMilli(), Text: line.Kind})
	return len(t.all) - 1, 1, nil
}
func (t *stubTrace) Len() int { return len(t.all) }
func (t *stubTrace) Rows(first, count int) []Row {
	first = min(first, len(t.all))
	return t.all[first:min(len(t.all), first+count)]
}
func (t *stubTrace) Overview(step int) Overview {
	return Overview{State: StateRunning, Rows: len(t.all)}
}
func stubTail(ctx context.Context, log journal.Reader, n int, m *secret.Masker) ([]Row, error) {
	return nil, nil
}

type stubQuery struct {
	Text            string
	Kinds           []RowKind
	Failed, Changed bool
	Tool, Path      string
}

func (s *session) item(ctx context.Context, i int) (Item, error) { return Item{}, nil }
func (s *session) search(ctx context.Context, q stubQuery) ([]int, bool, error) {
	return nil, false, nil
}
