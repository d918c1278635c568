package web

import (
	"context"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/secret"
)

// Tail returns the rows of the last n records of a journal, without reading the others. Their Index
// is -1, they have no steps, and they lack what depends on earlier records.
func Tail(ctx context.Context, log journal.Reader, n int, m *secret.Masker) ([]Row, error) {
	f := newFolder(m)
	f.partial = true
	if _, err := f.addNumber(ctx, log, 1); err != nil {
		return nil, err
	}
	var rows []Row
	for line, err := range log.Records(ctx, max(2, log.Len()-int64(n)+1)) {
		if err != nil {
			return nil, err
		}
		r, err := f.add(line)
		if err != nil {
			return nil, err
		}
		for _, m := range r.rows {
			m.row.Index = -1
			rows = append(rows, m.row)
		}
	}
	return rows, ctx.Err()
}
