package fleettest

import (
	"context"
	"io"
	"iter"

	"github.com/attractor-go/attractor/journal"
)

// lineJournals are journals behind a line.
type lineJournals struct {
	journal.Store
	l *Line
}

// log opens a log over the line.
func (s lineJournals) log(ctx context.Context, open func(ctx context.Context) (journal.Log, error)) (journal.Log,
	error) {
	_, done, err := s.l.begin(ctx) // the log is used after the call: the call's context must not end it
	if err != nil {
		return nil, err
	}
	done()
	log, err := open(ctx)
	if err != nil {
		return nil, err
	}
	return lineLog{lineReader{log, s.l}, log}, nil
}

func (s lineJournals) Create(ctx context.Context, id string) (journal.Log, error) {
	return s.log(ctx, func(ctx context.Context) (journal.Log, error) { return s.Store.Create(ctx, id) })
}

func (s lineJournals) Open(ctx context.Context, id string) (journal.Log, error) {
	return s.log(ctx, func(ctx context.Context) (journal.Log, error) { return s.Store.Open(ctx, id) })
}

func (s lineJournals) Fork(ctx context.Context, from, to string, n int64,
	edit func(*journal.Record) error) (journal.Log, error) {
	return s.log(ctx, func(ctx context.Context) (journal.Log, error) { return s.Store.Fork(ctx, from, to, n, edit) })
}

func (s lineJournals) Read(ctx context.Context, id string) (journal.Reader, error) {
	_, done, err := s.l.begin(ctx)
	if err != nil {
		return nil, err
	}
	done()
	r, err := s.Store.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	return lineReader{r, s.l}, nil
}

func (s lineJournals) Follow(ctx context.Context, id string, from int64) iter.Seq2[journal.Record, error] {
	return sequence(ctx, s.l, func(ctx context.Context) iter.Seq2[journal.Record, error] {
		return s.Store.Follow(ctx,
			id, from)
	})
}

func (s lineJournals) List(ctx context.Context) ([]journal.Entry, error) {
	return over(ctx, s.l, s.Store.List)
}

func (s lineJournals) Remove(ctx context.Context, ids ...string) error {
	return s.l.change(ctx, func(ctx context.Context) error { return s.Store.Remove(ctx, ids...) })
}

// lineReader is a reader behind a line. Close works without it.
type lineReader struct {
	journal.Reader
	l *Line
}

func (r lineReader) Records(ctx context.Context, from int64) iter.Seq2[journal.Record, error] {
	return sequence(ctx, r.l, func(ctx context.Context) iter.Seq2[journal.Record, error] {
		return r.Reader.Records(ctx,
			from)
	})
}

func (r lineReader) Blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	_, done, err := r.l.begin(ctx)
	if err != nil {
		return nil, err
	}
	done()
	return r.Reader.Blob(ctx, hash)
}

// lineLog is a log behind a line. Its answers are never lost alone: a journal repeats by itself
// what is safe to repeat.
type lineLog struct {
	lineReader
	log journal.Log
}

func (g lineLog) Append(ctx context.Context, next int64, records ...journal.Record) error {
	_, err := over(ctx, g.l, func(ctx context.Context) (struct{}, error) {
		return struct{}{},
			g.log.Append(ctx, next, records...)
	})
	return err
}

func (g lineLog) Sync(ctx context.Context) error {
	_, err := over(ctx, g.l, func(ctx context.Context) (struct{}, error) { return struct{}{}, g.log.Sync(ctx) })
	return err
}

func (g lineLog) PutBlob(ctx context.Context, data io.Reader) (string, error) {
	return over(ctx, g.l, func(ctx context.Context) (string, error) { return g.log.PutBlob(ctx, data) })
}
