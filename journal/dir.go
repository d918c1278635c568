package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Extensions of a journal's files, whose names begin with its id.
const (
	linesExt = ".jsonl"
	lockExt  = ".lock"
	blobsExt = ".blobs"
	tempExt  = ".tmp"
)

// Dir is a [Store] in a directory. Each log is a journal: a file of JSON lines with its blobs
// beside it, as FORMAT.md describes it. Its name is the log's id.
//
// An open journal is locked. Nobody else can write to it until Close, or until the process ends. It
// needs no descriptor of its own: a Dir has one for the locks of all journals that it has open, and
// keeps the files of the last 64 that were used open.
//
// If Append fails, the file is truncated to its previous size, and the journal remains usable. If
// that fails too, or if a sync fails, the state of the disk is unknown: every later call returns
// that error. Opening the journal again finds the complete records.
//
// Opening reads the last line, and the whole file only if that line is not good. Open cuts off an
// end that a crash has torn, Read ignores it, and [TornEnd] describes it. Other damage is
// ErrCorrupt, with line number and byte offset. It is reported when it is read: at the latest by
// Records from the first record on, and before anything is written.
type Dir struct {
	path  string
	sys   system
	locks locks
	files openFiles

	buffers buffers
}

// NewDir returns the store in the directory at path, which is made absolute. Create makes the
// directory if necessary, with mode 0700.
func NewDir(path string) *Dir {
	// files are opened again later, whatever the working directory is then
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	return &Dir{path: path, sys: disk{}, files: openFiles{keep: keptOpen}}
}

func (d *Dir) file(id, ext string) string { return filepath.Join(d.path, id+ext) }

// Create implements [Store]. It replaces a journal without a complete record, which a killed writer
// may leave.
func (d *Dir) Create(ctx context.Context, id string) (Log, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	if err := makeDir(d.sys, d.path); err != nil {
		return nil, fmt.Errorf("journal: cannot make the directory: %w", err)
	}
	return d.locked(ctx, id, func(lock *lockFile) (*fileLog, error) {
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

// blank reports whether a journal has no complete record.
func (d *Dir) blank(ctx context.Context, id string) bool {
	r, err := d.read(ctx, id)
	if err != nil {
		return false
	}
	return r.Close() == nil && r.Len() == 0
}

// Open implements [Store].
func (d *Dir) Open(ctx context.Context, id string) (Log, error) {
	if err := d.exists(id); err != nil {
		return nil, err
	}
	return d.locked(ctx, id, func(lock *lockFile) (*fileLog, error) { return d.openFile(ctx, id, lock, os.O_RDWR) })
}

// locked calls do with the journal's lock. The log that do returns keeps the lock.
func (d *Dir) locked(ctx context.Context, id string, do func(*lockFile) (*fileLog, error)) (Log, error) {
	lock, err := d.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	f, err := do(lock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal: session %s: %w", id, err), d.unlock(lock, id))
	}
	return f, nil
}

// openFile opens a journal whose lock is held.
func (d *Dir) openFile(ctx context.Context, id string, lock *lockFile, flag int) (*fileLog, error) {
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
		if flag&os.O_EXCL != 0 { // this call has made the file
			err = errors.Join(err, d.discard(d.file(id, linesExt)))
		}
		return nil, err
	}
	f := &fileLog{view: view{dir: d, id: id, torn: torn}, lock: lock, file: h, users: 1, good: good,
		checked: good.size == 0}
	f.end(false)
	return f, nil
}

// measure returns the good part of a file and describes the rest.
func measure(ctx context.Context, h handle) (good extent, torn *Torn, err error) {
	if err := ctx.Err(); err != nil {
		return extent{}, nil, err
	}
	info, err := h.Stat()
	if err != nil {
		return extent{}, nil, err
	}
	if !info.Mode().IsRegular() {
		return extent{}, nil, fmt.Errorf("%s is not a regular file: %w", info.Name(), fs.ErrInvalid)
	}
	if info.Size() == 0 {
		return extent{}, nil, nil
	}
	good, ok, err := tail(h, info.Size())
	if ok || err != nil {
		return good, nil, err
	}
	good, problem, err := survey(ctx, io.NewSectionReader(h, 0, info.Size()))
	if err == nil && good.size < info.Size() {
		torn = &Torn{Line: good.records + 1, At: good.size, Bytes: info.Size() - good.size, Problem: problem.Error()}
	}
	return good, torn, err
}

// Read implements [Store].
func (d *Dir) Read(ctx context.Context, id string) (Reader, error) {
	r, err := d.read(ctx, id)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (d *Dir) read(ctx context.Context, id string) (*fileReader, error) {
	if err := d.exists(id); err != nil {
		return nil, err
	}
	h, err := d.sys.open(d.file(id, linesExt), os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("journal: session %s: %w", id, err)
	}
	good, torn, err := measure(ctx, h)
	if errors.Is(err, ErrCorrupt) {
		// A writer may have cut off a torn end and appended to the file meanwhile. Real damage is
		// still there.
		good, torn, err = measure(ctx, h)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("journal: session %s: %w", id, err), h.Close())
	}
	return &fileReader{view: view{dir: d, id: id, torn: torn}, file: h, good: good}, nil
}

// List implements [Store]. It opens no journal. It omits empty files, which are journals that were
// never written to. A directory that does not exist has none.
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
		if !ok || !file.Type().IsRegular() || CheckID(id) != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e, err := entry(id, file)
		if err == nil && locks[id+lockExt] {
			e.Locked, e.PID, err = d.probe(id)
		}
		switch {
		case err == nil && e.Size == 0:
		case err == nil:
			entries = append(entries, e)
		case !errors.Is(err, fs.ErrNotExist): // it may have been removed meanwhile
			return nil, fmt.Errorf("journal: cannot list: %w", err)
		}
	}
	// The directory is in the order of the files' names, in which the extension takes part:
	// a-b.jsonl comes before a.jsonl.
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
	return entries, nil
}

// entry describes a journal, except for its lock.
func entry(id string, file fs.DirEntry) (Entry, error) {
	info, err := file.Info()
	if err != nil {
		return Entry{}, err
	}
	return Entry{ID: id, Size: info.Size(), Modified: info.ModTime()}, nil
}

// Remove implements [Store].
func (d *Dir) Remove(ctx context.Context, ids ...string) error {
	var failures []error
	for _, id := range ids {
		failures = append(failures, d.remove(ctx, id))
	}
	return errors.Join(failures...)
}

func (d *Dir) remove(ctx context.Context, id string) error {
	if err := errors.Join(ctx.Err(), d.exists(id)); err != nil {
		return err
	}
	lock, err := d.lock(ctx, id)
	if err != nil {
		return err
	}
	// The lines are removed last, so that the journal can be found and removed again after a
	// failure.
	err = errors.Join(d.sys.removeAll(d.file(id, blobsExt)), d.discard(d.file(id, tempExt)))
	if err == nil {
		err = d.sys.remove(d.file(id, linesExt))
	}
	if err = errors.Join(err, d.unlock(lock, id)); err == nil {
		err = d.sys.syncDir(d.path)
	}
	if err != nil {
		return fmt.Errorf("journal: session %s: cannot remove: %w", id, err)
	}
	return nil
}

// discard removes a file, if it exists.
func (d *Dir) discard(path string) error {
	if err := d.sys.remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// exists returns an error unless the id is valid and the journal exists. It must be a file: a pipe
// would be waited for when it is opened.
func (d *Dir) exists(id string) error {
	if err := CheckID(id); err != nil {
		return err
	}
	info, err := d.sys.stat(d.file(id, linesExt))
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file: %w", info.Name(), fs.ErrInvalid)
	}
	if err != nil {
		return fmt.Errorf("journal: session %s: %w", id, err)
	}
	return nil
}
