package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"sync"
)

// fileLog is a [Log] in a file of a [Dir]. At rest it has no open descriptor, about 300 bytes of
// memory and no goroutine.
type fileLog struct {
	view
	lock *lockFile

	blobbing sync.Mutex // held while a blob is written; may be taken before slow
	blobbed  bool       // the name of the directory of blobs is durable
	slow     sync.Mutex // held while waiting for the disk: by Sync, Close
	named    bool       // the file's name is durable
	mu       sync.Mutex // may be taken while slow is held
	file     handle     // nil while the file is not open
	users    int        // calls that need the file to stay open
	inode    inode      // of the file that rest has closed
	durable  int64      // bytes that a sync has covered
	unsaved  bool       // something was written after the last sync
	good     extent
	checked  bool  // every line was read and is good
	failure  error // returned by every call from now on
}

// fileReader reads a journal as it was when Dir.Read opened it.
type fileReader struct {
	view
	file handle
	good extent
}

// Records implements [Reader]. It reads one line at a time.
func (r *fileReader) Records(ctx context.Context, from int64) iter.Seq2[Record, error] {
	return r.stream(ctx, r.file, r.good, from)
}

// Len implements [Reader].
func (r *fileReader) Len() int64 { return r.good.records }

// Blob implements [Reader].
func (r *fileReader) Blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	return r.blob(ctx, hash)
}

// Close implements [Reader].
func (r *fileReader) Close() error { return r.file.Close() }

// view holds the fields that writers and readers of a journal share.
type view struct {
	dir  *Dir
	id   string
	torn *Torn
}

// Torn describes the broken end of a journal's file: the rest of an append that a crash
// interrupted, or a last line that was damaged later. It does not belong to the journal.
type Torn struct {
	Line    int64 // number of the first broken line, from 1
	At      int64 // its byte offset
	Bytes   int64 // from there to the end of the file
	Problem string
}

// String describes the broken end in a sentence without a period.
func (t *Torn) String() string {
	return fmt.Sprintf("the last %d bytes, from line %d at byte %d on, are broken: %s", t.Bytes, t.Line, t.At,
		t.Problem)
}

// TornEnd describes the broken end that the file of a [Dir]'s log had when it was opened. Open has
// cut it off; Read ignores it. TornEnd returns nil if there was none, and for any other log.
func TornEnd(r Reader) *Torn {
	if torn, ok := r.(interface{ tornEnd() *Torn }); ok {
		return torn.tornEnd()
	}
	return nil
}

func (v *view) tornEnd() *Torn { return v.torn }

// errorf returns an error that names the session.
func (v *view) errorf(format string, args ...any) error {
	return fmt.Errorf("journal: session %s: %w", v.id, fmt.Errorf(format, args...))
}

// Append implements [Log]. It writes all records with one system call.
func (f *fileLog) Append(ctx context.Context, next int64, records ...Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	batch, err := encodeBatch(next, records)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.failure != nil:
		return f.failure
	case next != f.good.records+1:
		return fmt.Errorf("%w: session %s: expected to write record %d, the log has %d", ErrConflict, f.id, next,
			f.good.records)
	case len(records) == 0:
		return nil
	}
	file, err := f.use()
	if err != nil {
		return err
	}
	defer f.done()
	if err := f.untouched(file); err != nil {
		return err
	}
	if err := f.check(ctx, file); err != nil {
		return err
	}
	if err := f.write(file, batch); err != nil {
		return f.errorf("cannot append record %d: %w", next, err)
	}
	f.good = extent{records: f.good.records + int64(len(records)), size: f.good.size + int64(len(batch))}
	return nil
}

// untouched returns an error if somebody has changed the file without the lock.
func (f *fileLog) untouched(file handle) error {
	info, err := file.Stat()
	switch {
	case err != nil:
		return f.errorf("%w", err)
	case links(info) == 0:
		return f.errorf("%w", errRemoved)
	case info.Size() != f.good.size:
		return fmt.Errorf("%w: session %s: the file has %d bytes, %d of them written here", ErrConflict, f.id,
			info.Size(), f.good.size)
	}
	return nil
}

// check reads the file unless Records has already done so, because nothing must be written behind
// damage.
func (f *fileLog) check(ctx context.Context, file handle) error {
	if f.checked {
		return nil
	}
	for _, err := range f.stream(ctx, file, f.good, 1) {
		if err != nil {
			return err
		}
	}
	f.checked = true
	return nil
}

// write appends a batch to the file, or leaves the file unchanged.
func (f *fileLog) write(file handle, batch []byte) error {
	f.unsaved = true
	_, err := file.WriteAt(batch, f.good.size)
	if err == nil {
		return nil
	}
	if cut := file.Truncate(f.good.size); cut != nil {
		err = fmt.Errorf("%w; and what was written of it cannot be cut off: %w", err, cut)
		f.poison(err)
	}
	return err
}

// poison makes every later call fail. The caller holds mu.
func (f *fileLog) poison(err error) {
	if f.failure == nil {
		f.failure = f.errorf("out of use until it is opened again, because a write failed: %w", err)
	}
}

// Sync implements [Log]. Callers that wait for a running sync share the next one, or need none if
// nothing is left to do. Sync does not block Append.
func (f *fileLog) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	wanted, err := f.extent()
	if err != nil {
		return err
	}
	f.slow.Lock()
	defer f.slow.Unlock()
	file, now, err := f.behind(wanted.size)
	if file == nil || err != nil {
		return err
	}
	err = file.sync()
	if err == nil && !f.named {
		err = f.dir.sys.syncDir(f.dir.path)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.done()
	if err != nil {
		return f.unsynced(err)
	}
	f.durable, f.named, f.unsaved = now.size, true, f.good.size > now.size
	return nil
}

// behind returns the file, in use, and its good part, or nil if it was synced up to a size.
func (f *fileLog) behind(size int64) (handle, extent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failure == nil && f.named && f.durable >= size {
		return nil, extent{}, nil
	}
	file, err := f.use()
	return file, f.good, err
}

// unsynced poisons the log after a failed sync, because the system may have dropped the data and
// report success for the next sync. The caller holds mu.
func (f *fileLog) unsynced(err error) error {
	f.poison(fmt.Errorf("cannot sync: %w", err))
	return f.failure
}

// extent returns the good part of the file, or the failure that poisoned the log.
func (f *fileLog) extent() (extent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.good, f.failure
}

// Records implements [Reader]. It reads one line at a time.
func (f *fileLog) Records(ctx context.Context, from int64) iter.Seq2[Record, error] {
	good, err := f.extent()
	return func(yield func(Record, error) bool) {
		if err != nil {
			yield(Record{}, err)
			return
		}
		file, err := f.begin()
		if err != nil {
			yield(Record{}, err)
			return
		}
		complete := false
		defer func() { f.end(complete) }()
		for r, err := range f.stream(ctx, file, good, from) {
			if !yield(r, err) || err != nil {
				return
			}
		}
		complete = from <= 1
	}
}

// begin begins a use of the file.
func (f *fileLog) begin() (handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.use()
}

// end ends a use of the file, which may have read every line.
func (f *fileLog) end(checked bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checked = f.checked || checked
	f.done()
}

// stream yields the records of the function stream, with errors that name the session.
func (v *view) stream(ctx context.Context, file io.ReaderAt, good extent, from int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range stream(ctx, file, good, from) {
			if err != nil {
				err = v.errorf("%w", err)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Len implements [Log].
func (f *fileLog) Len() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.good.records
}

// Close implements [Log]. Later calls fail with an error that wraps fs.ErrClosed. Close returns the
// failure that poisoned the log, if there is one.
func (f *fileLog) Close() error {
	f.blobbing.Lock()
	defer f.blobbing.Unlock()
	f.slow.Lock()
	defer f.slow.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(f.failure, fs.ErrClosed) {
		return f.failure
	}
	failure := f.failure
	f.failure = f.errorf("%w", fs.ErrClosed)
	if err := errors.Join(f.closeFile(), f.dir.unlock(f.lock, f.id)); err != nil {
		failure = errors.Join(failure, f.errorf("cannot close: %w", err))
	}
	return failure
}
