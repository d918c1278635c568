package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// MemoryStore is a [Store] in memory, for tests and for hosts whose sessions need not survive the
// program.
type MemoryStore struct {
	fences bool
	mu     sync.Mutex
	logs   map[string]*memoryEntry
}

// NewMemoryStore returns an empty store. If fences is true, Open takes a log over from its writer,
// as a store on another machine does. Otherwise Open fails with ErrLocked until the writer has
// closed the log.
func NewMemoryStore(fences bool) *MemoryStore {
	return &MemoryStore{fences: fences, logs: map[string]*memoryEntry{}}
}

// memoryEntry holds a log and its writer.
type memoryEntry struct {
	log    *Memory
	writer *memoryWriter // nil if the log is not open for writing
}

// memoryWriter is a log of a store, open for writing.
type memoryWriter struct {
	*Memory
	store *MemoryStore
	id    string
	gone  bool // closed
}

// Append implements [Log].
func (w *memoryWriter) Append(ctx context.Context, next int64, records ...Record) error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	entry := w.store.logs[w.id]
	switch {
	case w.gone:
		return fmt.Errorf("journal: session %s: %w", w.id, fs.ErrClosed)
	case entry == nil || entry.log != w.Memory:
		return fmt.Errorf("journal: session %s: the log was removed: %w", w.id, fs.ErrNotExist)
	case entry.writer != w:
		return fmt.Errorf("%w: session %s was taken over", ErrConflict, w.id)
	}
	return w.Memory.Append(ctx, next, records...)
}

// Close implements [Reader].
func (w *memoryWriter) Close() error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	if w.gone {
		return fmt.Errorf("journal: session %s: %w", w.id, fs.ErrClosed)
	}
	w.gone = true
	if entry := w.store.logs[w.id]; entry != nil && entry.writer == w {
		entry.writer = nil
	}
	return nil
}

// memoryReader reads a log as it was when it was opened.
type memoryReader struct {
	log     *Memory
	records []Record
}

func (r *memoryReader) Records(ctx context.Context, from int64) iter.Seq2[Record, error] {
	return recordsFrom(ctx, r.records, from)
}
func (r *memoryReader) Len() int64 { return int64(len(r.records)) }
func (r *memoryReader) Blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	return r.log.Blob(ctx, hash)
}
func (r *memoryReader) Close() error { return nil }

// Create implements [Store].
func (s *MemoryStore) Create(ctx context.Context, id string) (Log, error) {
	if err := errors.Join(ctx.Err(), CheckID(id)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(id, new(Memory))
}

// add adds a log and opens it for writing. The caller holds the lock, as for free, write and find.
func (s *MemoryStore) add(id string, log *Memory) (Log, error) {
	if old := s.logs[id]; old != nil {
		if err := s.free(id, old); err != nil {
			return nil, err
		}
		if old.log.Len() > 0 {
			return nil, fmt.Errorf("journal: session %s: %w", id, fs.ErrExist)
		}
		old.log.remove() // its followers would wait forever
	}
	s.logs[id] = &memoryEntry{log: log}
	return s.write(id), nil
}

func (s *MemoryStore) free(id string, e *memoryEntry) error {
	if e.writer == nil || s.fences {
		return nil
	}
	return &LockedError{ID: id, PID: os.Getpid()}
}

func (s *MemoryStore) write(id string) Log {
	w := &memoryWriter{Memory: s.logs[id].log, store: s, id: id}
	s.logs[id].writer = w
	return w
}

// find returns the entry of a log.
func (s *MemoryStore) find(ctx context.Context, id string) (*memoryEntry, error) {
	if err := errors.Join(ctx.Err(), CheckID(id)); err != nil {
		return nil, err
	}
	e := s.logs[id]
	if e == nil {
		return nil, fmt.Errorf("journal: session %s: %w", id, fs.ErrNotExist)
	}
	return e, nil
}

// Open implements [Store].
func (s *MemoryStore) Open(ctx context.Context, id string) (Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(ctx, id)
	if err == nil {
		err = s.free(id, e)
	}
	if err != nil {
		return nil, err
	}
	return s.write(id), nil
}

// Read implements [Store].
func (s *MemoryStore) Read(ctx context.Context, id string) (Reader, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return &memoryReader{log: e.log, records: e.log.snapshot()}, nil
}

// Follow implements [Store]. It yields new records without a delay.
func (s *MemoryStore) Follow(ctx context.Context, id string, from int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		s.mu.Lock()
		e, err := s.find(ctx, id)
		s.mu.Unlock()
		if err != nil {
			yield(Record{}, err)
			return
		}
		e.log.follow(ctx, from)(yield)
	}
}

// List implements [Store].
func (s *MemoryStore) List(ctx context.Context) ([]Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []Entry
	for id, e := range s.logs {
		entry := Entry{ID: id, Modified: e.log.modifiedAt()}
		for _, r := range e.log.snapshot() {
			entry.Size += int64(len(r.Kind) + len(r.Data))
		}
		if e.writer != nil {
			entry.Locked, entry.PID = true, os.Getpid()
		}
		if e.log.Len() > 0 {
			entries = append(entries, entry)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
	return entries, ctx.Err()
}

// Remove implements [Store].
func (s *MemoryStore) Remove(ctx context.Context, ids ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failures []error
	for _, id := range ids {
		e, err := s.find(ctx, id)
		if err == nil {
			err = s.free(id, e)
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		delete(s.logs, id)
		e.log.remove()
	}
	return errors.Join(failures...)
}

// Fork implements [Store].
func (s *MemoryStore) Fork(ctx context.Context, from, to string, n int64, edit func(*Record) error) (Log, error) {
	if err := CheckID(to); err != nil {
		return nil, err
	}
	s.mu.Lock()
	source, err := s.find(ctx, from)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	records := source.log.snapshot()
	if n < 1 || n > int64(len(records)) {
		return nil, fmt.Errorf("journal: session %s: cannot copy %d records of %d: %w", from, n, len(records),
			fs.ErrInvalid)
	}
	copied := make([]Record, 0, n)
	for _, r := range records[:n] {
		r.Data = bytes.Clone(r.Data)
		if edit != nil {
			if err := edit(&r); err != nil {
				return nil, err
			}
		}
		copied = append(copied, r)
	}
	log := &Memory{blobs: source.log.copyBlobs()}
	if err := log.Append(ctx, 1, copied...); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(to, log)
}

func (m *Memory) copyBlobs() map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.blobs)
}

func (m *Memory) modifiedAt() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.modified
}

// remove marks the log as removed and wakes its followers.
func (m *Memory) remove() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removed = true
	m.wake()
}
