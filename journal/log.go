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

// Record holds one line: {"n":17,"t":"2026-...","k":"result","d":{...}}.
type Record struct {
	N    int64           `json:"n"` // from 1, without gaps
	Time time.Time       `json:"t"`
	Kind string          `json:"k"`
	Data json.RawMessage `json:"d,omitempty"`
}

// Errors of logs.
var (
	// ErrConflict is returned if another writer has written to the log or has taken it over.
	ErrConflict = errors.New("journal: another writer has appended to this log")
	// ErrCorrupt is returned if a record is damaged in a way that a crash does not explain.
	ErrCorrupt = errors.New("journal: corrupt")
	// ErrLocked is returned if the log is open for writing elsewhere, in this process or another.
	// The error in the chain is a *LockedError.
	ErrLocked = errors.New("journal: being written elsewhere")
)

// LockedError names the writer of a log. To errors.Is it equals ErrLocked.
type LockedError struct {
	ID  string
	PID int // of the writer, or 0 if it is not known yet
}

// Error names the session and the writer.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("journal: session %s is being written by another process", e.ID)
	}
	return fmt.Sprintf("journal: session %s is being written by process %d", e.ID, e.PID)
}

// Unwrap returns ErrLocked.
func (e *LockedError) Unwrap() error { return ErrLocked }

// Reader reads a log. All methods are safe for concurrent use. A call whose context has ended does
// nothing; Records stops between two records.
type Reader interface {
	// Records yields the records that the log has when it is called, in order, from number from on,
	// or from the first on if from is less than 1. Damage on the way is ErrCorrupt. A pass from the
	// first record on finds all damage.
	Records(ctx context.Context, from int64) iter.Seq2[Record, error]
	// Len returns the number of records.
	Len() int64
	// Blob returns a reader of the blob that PutBlob has stored under a hash. The error for an
	// unknown hash is fs.ErrNotExist. A damaged blob ends with ErrCorrupt instead of io.EOF. The
	// caller closes the reader.
	Blob(ctx context.Context, hash string) (io.ReadCloser, error)
	// Close closes the log. It releases the log for another writer, without a sync.
	Close() error
}

// Log is an append-only sequence of records with one writer. All methods are safe for concurrent
// use. A context that ends does not leave an Append incomplete.
type Log interface {
	Reader
	// Append appends records, numbered from next on. It writes all or none, even if the machine
	// crashes. Next must be one more than the number of records; otherwise the error is
	// ErrConflict. Append ignores N and keeps the time in UTC. Data must be JSON or nil, and may
	// lose white space between tokens. The log may keep Data, so the caller must not change it
	// afterwards. The records are durable after the next Sync.
	Append(ctx context.Context, next int64, records ...Record) error
	// Sync makes the appended records survive a crash of the machine.
	Sync(ctx context.Context) error
	// PutBlob stores data beside the records, durably, and returns its hash: the SHA-256 in
	// lower-case hex.
	PutBlob(ctx context.Context, data io.Reader) (hash string, err error)
}
