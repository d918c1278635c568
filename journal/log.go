package journal

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"
)

// Record is one line: {"n":17,"t":"2026-...","k":"result","d":{...}}.
type Record struct {
	N    int64           `json:"n"` // from 1, without gaps
	Time time.Time       `json:"t"`
	Kind string          `json:"k"`
	Data json.RawMessage `json:"d"`
}

// The failures of a log.
var (
	// ErrConflict means that somebody else has written to the log.
	ErrConflict = errors.New("journal: another writer has appended to this log")
	// ErrCorrupt means that a record is unreadable although later ones are there: something other than a crash damaged it.
	ErrCorrupt = errors.New("journal: corrupt")
)

// Log is an append-only sequence of records with one writer. All methods are safe for concurrent use.
type Log interface {
	// Append writes records numbered from next on, all or none. next must be one more than the number of records there are;
	// otherwise the error is ErrConflict. The records' own N is ignored. They are durable after the next Sync.
	Append(ctx context.Context, next int64, records ...Record) error
	// Sync makes what was appended survive a crash of the machine.
	Sync(ctx context.Context) error
	// Records reads from record number from on, in order.
	Records(ctx context.Context, from int64) iter.Seq2[Record, error]
	// Len is the number of records.
	Len() int64
	// PutBlob stores data under its hash, durable when it returns; Blob reads it back.
	PutBlob(ctx context.Context, data []byte) (hash string, err error)
	Blob(ctx context.Context, hash string) ([]byte, error)
	// Close gives the log free for another writer.
	Close() error
}
