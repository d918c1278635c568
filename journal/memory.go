package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"time"
)

// Memory is a [Log] in memory. The zero value is an empty log. [MemoryStore] is a store of such
// logs.
type Memory struct {
	mu       sync.Mutex
	records  []Record
	blobs    map[string][]byte
	modified time.Time
	changed  chan struct{} // closed by the next change; nil while nobody waits
	removed  bool          // from the store
}

// NewMemory returns a log with records, as if they had been read from a disk.
func NewMemory(records ...Record) *Memory {
	m := &Memory{records: slices.Clone(records)}
	number(m.records, 1)
	return m
}

// Append implements [Log].
func (m *Memory) Append(ctx context.Context, next int64, records ...Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, r := range records {
		if r.Data != nil && !json.Valid(r.Data) {
			return fmt.Errorf("journal: record %d (%s): its data is not JSON", next+int64(i), r.Kind)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if next != int64(len(m.records))+1 {
		return fmt.Errorf("%w: expected to write record %d, the log has %d", ErrConflict, next, len(m.records))
	}
	at := len(m.records)
	m.records = append(m.records, records...)
	number(m.records[at:], next)
	m.modified = time.Now()
	m.wake()
	return nil
}

// number sets the numbers and times of records as reading them from a disk would.
func number(records []Record, from int64) {
	for i := range records {
		records[i].N = from + int64(i)
		records[i].Time = records[i].Time.UTC().Round(0)
	}
}

// wake wakes the followers of the log. The caller holds the lock.
func (m *Memory) wake() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// Sync implements [Log]. It does nothing.
func (m *Memory) Sync(context.Context) error { return nil }

// Records implements [Reader]. It yields the records that the log has when it is called.
func (m *Memory) Records(ctx context.Context, from int64) iter.Seq2[Record, error] {
	return recordsFrom(ctx, m.snapshot(), from)
}

func (m *Memory) snapshot() []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records[:len(m.records):len(m.records)]
}

func recordsFrom(ctx context.Context, records []Record, from int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, r := range records[min(max(from-1, 0), int64(len(records))):] {
			if err := ctx.Err(); err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// follow yields the log's records and waits for more.
func (m *Memory) follow(ctx context.Context, from int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for from = max(from, 1); ; {
			m.mu.Lock()
			records, removed := m.records[:len(m.records):len(m.records)], m.removed
			if m.changed == nil {
				m.changed = make(chan struct{})
			}
			changed := m.changed
			m.mu.Unlock()
			for r, err := range recordsFrom(ctx, records, from) {
				if !yield(r, err) || err != nil {
					return
				}
				from = r.N + 1
			}
			if removed {
				yield(Record{}, fmt.Errorf("journal: the log was removed while it was followed: %w", fs.ErrNotExist))
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(Record{}, ctx.Err())
				return
			}
		}
	}
}

// Len implements [Reader].
func (m *Memory) Len() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.records))
}

// PutBlob implements [Log].
func (m *Memory) PutBlob(ctx context.Context, data io.Reader) (string, error) {
	content, err := io.ReadAll(&contextReader{ctx, data})
	if err != nil {
		return "", fmt.Errorf("journal: cannot store a blob: %w", err)
	}
	hash := hashOf(content)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blobs == nil {
		m.blobs = map[string][]byte{}
	}
	m.blobs[hash] = content
	return hash, nil
}

// Blob implements [Reader].
func (m *Memory) Blob(_ context.Context, hash string) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.blobs[hash]
	if !ok {
		return nil, fmt.Errorf("journal: blob %s: %w", hash, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// Close implements [Reader]. It does nothing, so that a session that resumes can use the log again.
func (m *Memory) Close() error { return nil }
