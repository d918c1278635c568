package journal

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"time"
)

// Store holds logs by their ids, for which see [CheckID]; methods refuse any other id with that error. All methods are safe for
// concurrent use, also by several processes where the store is shared. The errors for a log that is not there wrap fs.ErrNotExist.
//
// A log has one writer at a time. A store that can tell whether the writer lives, as [Dir] can, lets Open, Remove and Fork fail with
// ErrLocked until that writer has closed the log or its process has ended. A store that cannot, such as one on another machine, fences:
// Open takes the log over, and from then on every Append of the previous writer, dead or cut off from the network, writes nothing and
// returns ErrConflict.
type Store interface {
	// Create makes an empty log and opens it for writing. The error wraps fs.ErrExist when there is one already.
	Create(ctx context.Context, id string) (Log, error)
	// Open opens a log for writing, with everything that its previous writer appended.
	Open(ctx context.Context, id string) (Log, error)
	// Read opens a log as it is now for reading only, also while it is being written. The caller closes the Reader.
	Read(ctx context.Context, id string) (Reader, error)
	// Follow yields the records of a log from number from on, and goes on with new ones as they are appended, whoever does, until
	// ctx ends. The records of one Append come together or not at all. The last pair has the error that ended it: that of ctx, or
	// one that wraps fs.ErrNotExist when the log was removed, or ErrCorrupt when it was damaged or cut.
	Follow(ctx context.Context, id string, from int64) iter.Seq2[Record, error]
	// List returns the logs in the order of their ids. One that was made and never written to may be left out.
	List(ctx context.Context) ([]Entry, error)
	// Remove removes logs and their blobs. The ones that cannot be removed are in the error; the others are removed all the same.
	Remove(ctx context.Context, ids ...string) error
	// Fork makes the log to out of the records 1 to n of the log from, with all its blobs, and opens it for writing. edit, which may
	// be nil, can change the time, kind and data of each record before it is written. The new log is there as a whole and durable, or
	// not at all. from is only read, and may be being written. The error wraps fs.ErrExist when to is there already, and
	// fs.ErrInvalid when n is not between 1 and the number of records.
	Fork(ctx context.Context, from, to string, n int64, edit func(*Record) error) (Log, error)
}

// Entry is a log in a listing.
type Entry struct {
	ID       string    `json:"id"`
	Size     int64     `json:"size"` // in bytes, without the blobs
	Modified time.Time `json:"modified"`
	Locked   bool      `json:"locked,omitempty"` // it is open for writing
	PID      int       `json:"pid,omitempty"`    // of the writer, where it is known
}

// maxID leaves room for the extensions in the 255 bytes that file systems allow.
const maxID = 128

// CheckID returns an error that wraps fs.ErrInvalid unless id can name a log: 1 to 128 ASCII letters, digits, "-", "_" and ".", the
// first of them a letter, a digit or "_". Such an id is safe as a file name: it does not leave a directory, hide in it, look like an
// option or name a device.
func CheckID(id string) error {
	ok := id != "" && len(id) <= maxID && id[0] != '.' && id[0] != '-' && filepath.IsLocal(id+linesExt)
	for _, c := range id {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.')
	}
	if !ok {
		return fmt.Errorf("journal: %.200q cannot be an id: 1 to %d letters, digits, -, _ and ., not beginning with - or .: %w",
			id, maxID, fs.ErrInvalid)
	}
	return nil
}
