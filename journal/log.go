package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	// ErrConflict means that somebody else has written to the log, or has taken it over.
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

// Reader reads a log. All methods are safe for concurrent use. A context that has ended keeps a call from beginning and stops
// Records between two records.
type Reader interface {
	// Records reads from record number from on, in order: the records that are there when it is called. Damage that is found on
	// the way is ErrCorrupt; a pass from the first record on finds all that there is.
	Records(ctx context.Context, from int64) iter.Seq2[Record, error]
	// Len returns the number of records.
	Len() int64
	// Blob reads what PutBlob has stored under a hash. The error for an unknown hash is fs.ErrNotExist. A blob that is not what
	// was stored ends with ErrCorrupt in the place of io.EOF. The caller closes the reader.
	Blob(ctx context.Context, hash string) (io.ReadCloser, error)
	// Close ends the use of the log. A writer gives it free for another one, without a sync.
	Close() error
}

// Log is an append-only sequence of records with one writer. All methods are safe for concurrent use. A context that has ended does
// not leave an Append half done.
type Log interface {
	Reader
	// Append writes records numbered from next on, all or none, also when the machine crashes meanwhile. next must be one more
	// than the number of records there are; otherwise the error is ErrConflict. The records' own N is ignored, the time is kept
	// in UTC, and Data must be JSON, or nil; white space between its tokens may be lost. They are durable after the next Sync.
	Append(ctx context.Context, next int64, records ...Record) error
	// Sync makes what was appended survive a crash of the machine.
	Sync(ctx context.Context) error
	// PutBlob stores data beside the records and returns its hash, the SHA-256 in lower-case hex. The blob is durable then.
	PutBlob(ctx context.Context, data io.Reader) (hash string, err error)
}
