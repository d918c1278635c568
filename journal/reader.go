package journal

import (
	"context"
	"iter"
)

// Reader is a journal as it was when Dir.Read opened it, for reading only. It needs no lock, so that it can be read while another
// process writes; what is appended later is in the next Reader. All methods are safe for concurrent use.
type Reader struct {
	view
	good extent
}

// Records reads from record number from on, in order, one line at a time.
func (r *Reader) Records(ctx context.Context, from int64) iter.Seq2[Record, error] {
	return r.stream(ctx, r.good, from)
}

// Len is the number of records.
func (r *Reader) Len() int64 { return r.good.records }

// Blob reads a blob and checks that it is what was stored; otherwise the error is ErrCorrupt, for an unknown hash fs.ErrNotExist.
func (r *Reader) Blob(ctx context.Context, hash string) ([]byte, error) { return r.blob(ctx, hash) }

// Close closes the file. Records fails after it.
func (r *Reader) Close() error { return r.file.Close() }
