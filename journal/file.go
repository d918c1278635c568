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

// fileLog is a [Log] in a file of a [Dir], open for writing. At rest it has two open descriptors, about 500 bytes of memory and no
// goroutine.
type fileLog struct {
	view
	lock *writerLock

	blobbing sync.Mutex // held while a blob is written; may be taken before slow
	blobbed  bool       // the name of the directory of blobs is durable
	slow     sync.Mutex // held by those who wait for the disk: Sync, Close
	durable  int64      // bytes that a sync has covered
	named    bool       // the file's name is durable
	mu       sync.Mutex // may be taken while slow is held
	good     extent
	checked  bool  // every line was read, and is good
	failure  error // what every call returns from now on
}

// fileReader is a journal as it was when Dir.Read opened it.
type fileReader struct {
	view
	good extent
}

// Records implements [Reader]. It reads the file from the beginning, one line at a time.
func (r *fileReader) Records(ctx context.Context, from int64) iter.Seq2[Record, error] {
	return r.stream(ctx, r.good, from)
}

// Len implements [Reader].
func (r *fileReader) Len() int64 { return r.good.records }

// Blob implements [Reader].
func (r *fileReader) Blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	return r.blob(ctx, hash)
}

// Close implements [Reader].
func (r *fileReader) Close() error { return r.file.Close() }

// view is what writers and readers of a journal have in common.
type view struct {
	dir  *Dir
	id   string
	file handle
	torn *Torn
}

// Torn describes the broken end of a journal, which is not part of it: what a crash has left of the last append, or a last line that
// was damaged later.
type Torn struct {
	Line    int64 // number of the first line that is not part of the journal, from 1
	At      int64 // byte offset of that line
	Bytes   int64 // from there to the end of the file
	Problem string
}

// String describes the broken end in one sentence without its dot.
func (t *Torn) String() string {
	return fmt.Sprintf("the last %d bytes, from line %d at byte %d on, are broken: %s", t.Bytes, t.Line, t.At, t.Problem)
}

// TornEnd returns what was wrong with the end of a log of a [Dir] when it was opened: Open has cut it off, Read leaves it out. It is nil
// when nothing was, and for any other log.
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

// Append implements [Log]. All records are written with one call of the system.
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
		return fmt.Errorf("%w: session %s: expected to write record %d, the log has %d", ErrConflict, f.id, next, f.good.records)
	case len(records) == 0:
		return nil
	}
	if err := f.untouched(); err != nil {
		return err
	}
	if err := f.check(ctx); err != nil {
		return err
	}
	if err := f.write(batch); err != nil {
		return f.errorf("cannot append record %d: %w", next, err)
	}
	f.good = extent{records: f.good.records + int64(len(records)), size: f.good.size + int64(len(batch))}
	return nil
}

// untouched checks that nobody got around the lock.
func (f *fileLog) untouched() error {
	info, err := f.file.Stat()
	switch {
	case err != nil:
		return f.errorf("%w", err)
	case unlinked(info):
		return f.errorf("its file was removed while it was open: %w", fs.ErrNotExist)
	case info.Size() != f.good.size:
		return fmt.Errorf("%w: session %s: the file has %d bytes, %d of them written here", ErrConflict, f.id, info.Size(), f.good.size)
	}
	return nil
}

// check reads the file unless Records has done so already: nothing is written behind damage.
func (f *fileLog) check(ctx context.Context) error {
	if f.checked {
		return nil
	}
	for _, err := range f.stream(ctx, f.good, 1) {
		if err != nil {
			return err
		}
	}
	f.checked = true
	return nil
}

// write puts a batch at the end of the file, or leaves the file as it was.
func (f *fileLog) write(batch []byte) error {
	_, err := f.file.WriteAt(batch, f.good.size)
	if err == nil {
		return nil
	}
	if cut := f.file.Truncate(f.good.size); cut != nil {
		err = fmt.Errorf("%w; and what was written of it cannot be cut off: %w", err, cut)
		f.poison(err)
	}
	return err
}

// poison puts the log out of use. The caller holds mu.
func (f *fileLog) poison(err error) {
	if f.failure == nil {
		f.failure = f.errorf("out of use until it is opened again, because a write failed: %w", err)
	}
}

// Sync implements [Log]. Who comes while another sync is running is served by the next one, and by none when nothing is left to do.
// Appends go on meanwhile.
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
	if f.named && f.durable >= wanted.size {
		return nil
	}
	now, err := f.extent()
	if err != nil {
		return err
	}
	err = f.file.sync()
	if err == nil && !f.named {
		err = f.dir.sys.syncDir(f.dir.path)
	}
	if err != nil {
		return f.unsynced(err)
	}
	f.durable, f.named = now.size, true
	return nil
}

// unsynced puts the log out of use after a failed sync. The system may have dropped the data and call the next sync a success.
func (f *fileLog) unsynced(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.poison(fmt.Errorf("cannot sync: %w", err))
	return f.failure
}

// extent returns what can be relied on now.
func (f *fileLog) extent() (extent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.good, f.failure
}

// Records implements [Reader]. It reads the file from the beginning, one line at a time.
func (f *fileLog) Records(ctx context.Context, from int64) iter.Seq2[Record, error] {
	good, err := f.extent()
	return func(yield func(Record, error) bool) {
		if err != nil {
			yield(Record{}, err)
			return
		}
		for r, err := range f.stream(ctx, good, from) {
			if !yield(r, err) || err != nil {
				return
			}
		}
		if from <= 1 {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.checked = true
		}
	}
}

// stream is stream with errors that name the session.
func (v *view) stream(ctx context.Context, good extent, from int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for r, err := range stream(ctx, v.file, good, from) {
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

// Close implements [Log]. Calls after it fail with an error that wraps fs.ErrClosed. It returns the failure that put the log out of
// use, if there is one.
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
	if err := errors.Join(f.file.Close(), f.lock.release()); err != nil {
		failure = errors.Join(failure, f.errorf("cannot close: %w", err))
	}
	return failure
}
