package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The files of a journal are named by its id and one of these.
const (
	linesExt = ".jsonl"
	lockExt  = ".lock"
	blobsExt = ".blobs"
	tempExt  = ".tmp"
)

// maxID leaves room for the extensions in the 255 bytes that file systems allow.
const maxID = 128

// Dir is a directory of journals, each the files of one session. Ids become file names: they are 1 to 128 ASCII letters, digits,
// "-", "_" and ".", the first of them a letter, a digit or "_"; any other is refused with an error that wraps fs.ErrInvalid. The
// methods are safe for concurrent use, also by several processes.
type Dir struct {
	path string
	sys  system
}

// NewDir returns the directory at path. It need not be there: Create makes it, with mode 0700.
func NewDir(path string) *Dir { return &Dir{path: path, sys: disk{}} }

// Entry is a journal in a listing.
type Entry struct {
	ID       string    `json:"id"`
	Size     int64     `json:"size"` // in bytes, without the blobs
	Modified time.Time `json:"modified"`
	Locked   bool      `json:"locked,omitempty"` // it is open for writing
	PID      int       `json:"pid,omitempty"`    // of the writer, where it is known
}

func (d *Dir) file(id, ext string) string { return filepath.Join(d.path, id+ext) }

// Create makes an empty journal and opens it for writing. The error wraps fs.ErrExist when there is one already, and ErrLocked when
// it is being written. One without a whole record, which a writer that was killed leaves, is made anew.
func (d *Dir) Create(ctx context.Context, id string) (*File, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	if err := makeDir(d.sys, d.path); err != nil {
		return nil, fmt.Errorf("journal: cannot make the directory: %w", err)
	}
	return d.locked(ctx, id, func(lock *writerLock) (*File, error) {
		f, err := d.openFile(ctx, id, lock, os.O_RDWR|os.O_CREATE|os.O_EXCL)
		if errors.Is(err, fs.ErrExist) && d.blank(ctx, id) {
			if err := d.sys.removeAll(d.file(id, blobsExt)); err != nil {
				return nil, err
			}
			return d.openFile(ctx, id, lock, os.O_RDWR)
		}
		return f, err
	})
}

// blank reports that a journal has no whole record.
func (d *Dir) blank(ctx context.Context, id string) bool {
	r, err := d.Read(ctx, id)
	if err != nil {
		return false
	}
	return r.Close() == nil && r.Len() == 0
}

// Open opens a journal for writing. What a crash has torn at its end is cut off, and File.Torn tells of it; other damage is
// ErrCorrupt, with line number and byte offset, and changes nothing. The error wraps fs.ErrNotExist when there is no such journal, and ErrLocked when it is being
// written. All of the file is read, a line at a time.
func (d *Dir) Open(ctx context.Context, id string) (*File, error) {
	if err := d.exists(id); err != nil {
		return nil, err
	}
	return d.locked(ctx, id, func(lock *writerLock) (*File, error) { return d.openFile(ctx, id, lock, os.O_RDWR) })
}

// locked runs do with the journal's lock, which stays with the File that it returns.
func (d *Dir) locked(ctx context.Context, id string, do func(*writerLock) (*File, error)) (*File, error) {
	lock, err := acquire(ctx, d.sys, id, d.file(id, lockExt))
	if errors.Is(err, ErrLocked) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("journal: session %s: cannot lock: %w", id, err)
	}
	f, err := do(lock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal: session %s: %w", id, err), lock.release())
	}
	return f, nil
}

// openFile opens a journal whose lock is held.
func (d *Dir) openFile(ctx context.Context, id string, lock *writerLock, flag int) (*File, error) {
	h, err := d.sys.open(d.file(id, linesExt), flag)
	if err != nil {
		return nil, err
	}
	good, torn, err := measure(ctx, h)
	if torn != nil {
		err = h.Truncate(good.size)
	}
	if err != nil {
		err = errors.Join(err, h.Close())
		if flag&os.O_EXCL != 0 { // made just now
			err = errors.Join(err, d.discard(d.file(id, linesExt)))
		}
		return nil, err
	}
	return &File{view: view{dir: d, id: id, file: h, torn: torn}, lock: lock, good: good}, nil
}

// measure surveys a file as long as it is now.
func measure(ctx context.Context, h handle) (good extent, torn *Torn, err error) {
	info, err := h.Stat()
	if err != nil {
		return extent{}, nil, err
	}
	if !info.Mode().IsRegular() {
		return extent{}, nil, fmt.Errorf("%s is no regular file: %w", info.Name(), fs.ErrInvalid)
	}
	good, problem, err := survey(ctx, io.NewSectionReader(h, 0, info.Size()))
	if err == nil && good.size < info.Size() {
		torn = &Torn{Line: good.records + 1, At: good.size, Bytes: info.Size() - good.size, Problem: problem.Error()}
	}
	return good, torn, err
}

// Read opens a journal for reading only, as it is now, also while it is being written. What is torn at its end, or not written
// to the end yet, is left out, and Reader.Torn tells of it; other damage is ErrCorrupt, with line number and byte offset. The error wraps fs.ErrNotExist when
// there is no such journal. All of the file is read, a line at a time. The caller closes the Reader.
func (d *Dir) Read(ctx context.Context, id string) (*Reader, error) {
	if err := d.exists(id); err != nil {
		return nil, err
	}
	h, err := d.sys.open(d.file(id, linesExt), os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("journal: session %s: %w", id, err)
	}
	good, torn, err := measure(ctx, h)
	if errors.Is(err, ErrCorrupt) {
		// A writer may have cut off a torn end and written on while that was being read. What is damaged stays damaged.
		good, torn, err = measure(ctx, h)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal: session %s: %w", id, err), h.Close())
	}
	return &Reader{view: view{dir: d, id: id, file: h, torn: torn}, good: good}, nil
}

// List names the journals in the order of their ids, without opening them. A file without a byte is left out: it is a journal that was
// made and never written to, so that there is nothing to open. A directory that is not there has none.
func (d *Dir) List(ctx context.Context) ([]Entry, error) {
	files, err := d.sys.readDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: cannot list: %w", err)
	}
	locks := map[string]bool{}
	for _, file := range files {
		locks[file.Name()] = true
	}
	var entries []Entry
	for _, file := range files {
		id, ok := strings.CutSuffix(file.Name(), linesExt)
		if !ok || !file.Type().IsRegular() || checkID(id) != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e, err := d.entry(id, file, locks[id+lockExt])
		switch {
		case err == nil && e.Size == 0:
		case err == nil:
			entries = append(entries, e)
		case !errors.Is(err, fs.ErrNotExist): // not removed meanwhile
			return nil, fmt.Errorf("journal: cannot list: %w", err)
		}
	}
	return entries, nil
}

// entry asks for a lock only where there is a file for it.
func (d *Dir) entry(id string, file fs.DirEntry, lockFile bool) (Entry, error) {
	info, err := file.Info()
	if err != nil {
		return Entry{}, err
	}
	e := Entry{ID: id, Size: info.Size(), Modified: info.ModTime()}
	if lockFile {
		e.Locked, e.PID, err = probe(d.sys, d.file(id, lockExt))
	}
	return e, err
}

// Remove removes journals and their blobs. One that is being written is refused with an error that wraps ErrLocked and names the
// process, one that is not there with fs.ErrNotExist; the others are removed all the same.
func (d *Dir) Remove(ctx context.Context, ids ...string) error {
	var failures []error
	for _, id := range ids {
		failures = append(failures, d.remove(ctx, id))
	}
	return errors.Join(failures...)
}

func (d *Dir) remove(ctx context.Context, id string) error {
	if err := d.exists(id); err != nil {
		return err
	}
	lock, err := acquire(ctx, d.sys, id, d.file(id, lockExt))
	if err != nil {
		return err
	}
	// The lines go last: as long as they are there, the journal can be found and removed.
	err = errors.Join(d.sys.removeAll(d.file(id, blobsExt)), d.discard(d.file(id, tempExt)))
	if err == nil {
		err = d.sys.remove(d.file(id, linesExt))
	}
	if err = errors.Join(err, lock.release()); err == nil {
		err = d.sys.syncDir(d.path)
	}
	if err != nil {
		return fmt.Errorf("journal: session %s: cannot remove: %w", id, err)
	}
	return nil
}

// discard removes a file that need not be there.
func (d *Dir) discard(path string) error {
	if err := d.sys.remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// exists checks an id before anything is made for it.
func (d *Dir) exists(id string) error {
	if err := checkID(id); err != nil {
		return err
	}
	if _, err := d.sys.stat(d.file(id, linesExt)); err != nil {
		return fmt.Errorf("journal: session %s: %w", id, err)
	}
	return nil
}

// checkID keeps ids from leaving the directory, hiding in it or being taken for options. IsLocal knows the names of devices.
func checkID(id string) error {
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
