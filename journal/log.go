package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Record is one line: {"n":17,"t":"2026-...","k":"result","d":{...}}.
type Record struct {
	N    int64           `json:"n"` // from 1, without gaps
	Time time.Time       `json:"t"`
	Kind string          `json:"k"`
	Data json.RawMessage `json:"d,omitempty"`
}

// The failures of a log.
var (
	// ErrConflict means that somebody else has written to the log.
	ErrConflict = errors.New("journal: another writer has appended to this log")
	// ErrCorrupt means that a record is unreadable although later ones are there: something other than a crash damaged it.
	ErrCorrupt = errors.New("journal: corrupt")
	// ErrLocked means that the log is open for writing elsewhere, in this process or in another. The error in the chain is a
	// *LockedError.
	ErrLocked = errors.New("journal: being written elsewhere")
)

// LockedError says who writes a log. It is ErrLocked to errors.Is.
type LockedError struct {
	ID  string
	PID int // of the writer; 0 when it has not written it down yet
}

// Error implements error.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("journal: session %s is being written by another process", e.ID)
	}
	return fmt.Sprintf("journal: session %s is being written by process %d", e.ID, e.PID)
}

// Unwrap is ErrLocked.
func (e *LockedError) Unwrap() error { return ErrLocked }

// Log is an append-only sequence of records with one writer. All methods are safe for concurrent use. A context that has ended
// keeps a call from beginning and stops Records between two records; it does not leave an Append half done.
type Log interface {
	// Append writes records numbered from next on, all or none, also when the machine crashes meanwhile. next must be one more
	// than the number of records there are; otherwise the error is ErrConflict. The records' own N is ignored, the time is kept
	// in UTC, and Data must be JSON, or nil; white space between its tokens may be lost. They are durable after the next Sync.
	Append(ctx context.Context, next int64, records ...Record) error
	// Sync makes what was appended survive a crash of the machine.
	Sync(ctx context.Context) error
	// Records reads from record number from on, in order: the records that are there when it is called.
	Records(ctx context.Context, from int64) iter.Seq2[Record, error]
	// Len is the number of records.
	Len() int64
	// PutBlob stores data under its hash, the SHA-256 in lower-case hex, durable when it returns; Blob reads it back. The error
	// for an unknown hash is fs.ErrNotExist.
	PutBlob(ctx context.Context, data []byte) (hash string, err error)
	Blob(ctx context.Context, hash string) ([]byte, error)
	// Close gives the log free for another writer. It does not sync.
	Close() error
}
