package journal

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"time"
)

// Store holds logs by their ids. Methods reject an id that [CheckID] rejects, with the same error.
// All methods are safe for concurrent use, also by several processes if the store is shared. The
// error for a log that does not exist wraps fs.ErrNotExist.
//
// A log has one writer at a time. In a store that can tell whether the writer is alive, such as
// [Dir], Open, Remove and Fork fail with ErrLocked until that writer has closed the log or its
// process has ended. A store that cannot, such as one on another machine, fences: Open takes the
// log over. From then on, every Append of the previous writer writes nothing and returns
// ErrConflict, whether that writer is dead or was cut off from the network.
type Store interface {
	// Create makes an empty log and opens it for writing. The error wraps fs.ErrExist if the log
	// exists.
	Create(ctx context.Context, id string) (Log, error)
	// Open opens a log for writing, with everything that its previous writer appended.
	Open(ctx context.Context, id string) (Log, error)
	// Read opens a log for reading, as it is now. The log may be open for writing. The caller
	// closes the Reader.
	Read(ctx context.Context, id string) (Reader, error)
	// Follow yields the records of a log from number from on, or from the first on if from is less
	// than 1, and new ones as any writer appends them, until ctx ends. The records of one Append
	// are yielded all or none. The last pair has the error that ended it: that of ctx, one that
	// wraps fs.ErrNotExist if the log was removed, or ErrCorrupt if it was damaged or truncated.
	Follow(ctx context.Context, id string, from int64) iter.Seq2[Record, error]
	// List returns the logs in the order of their ids. It may omit logs that were never written to.
	List(ctx context.Context) ([]Entry, error)
	// Remove removes logs and their blobs. It removes as many as it can; the error names the
	// others.
	Remove(ctx context.Context, ids ...string) error
	// Fork copies the records 1 to n and all blobs of the log from to a new log, and opens that for
	// writing. Edit may change the time, kind and data of each record before it is written; it may
	// be nil. The new log is complete and durable, or does not exist. From is only read, and may be
	// open for writing. The error wraps fs.ErrExist if to exists, and fs.ErrInvalid if n is not
	// between 1 and the number of records.
	Fork(ctx context.Context, from, to string, n int64, edit func(*Record) error) (Log, error)
}

// Entry describes a log in a listing.
type Entry struct {
	ID       string    `json:"id"`
	Size     int64     `json:"size"` // in bytes, without the blobs
	Modified time.Time `json:"modified"`
	Locked   bool      `json:"locked,omitempty"` // open for writing
	PID      int       `json:"pid,omitempty"`    // of the writer, if known
}

// maxID limits the bytes of an id. Names of files, with extensions, stay below the 255 bytes that
// file systems allow.
const maxID = 128

// CheckID returns an error that wraps fs.ErrInvalid unless id can name a log: 1 to 128 ASCII
// letters, digits, "-", "_" and ".", the first a letter, a digit or "_". Such an id is safe as a
// file name: it cannot leave a directory, be hidden, look like an option or name a device.
func CheckID(id string) error {
	ok := id != "" && len(id) <= maxID && id[0] != '.' && id[0] != '-' && filepath.IsLocal(id+linesExt)
	for _, c := range id {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' ||
			c == '.')
	}
	if !ok {
		return fmt.Errorf("journal: %.200q cannot be an id: 1 to %d letters, digits, -, _ and ., not beginning with "+
			"- or .: %w", id, maxID, fs.ErrInvalid)
	}
	return nil
}
