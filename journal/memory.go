package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync"
)

// Memory is a [Log] that lives in memory, for as long as somebody holds it. Its zero value is an empty log.
type Memory struct {
	mu      sync.Mutex
	records []Record
	blobs   map[string][]byte
}

// NewMemory is a log that already holds records, as if they had just been read from a disk.
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
			return fmt.Errorf("journal: record %d (%s): its data is no JSON", next+int64(i), r.Kind)
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
	return nil
}

// number gives records what they would have when they are read from a disk.
func number(records []Record, from int64) {
	for i := range records {
		records[i].N = from + int64(i)
		records[i].Time = records[i].Time.UTC().Round(0)
	}
}

// Sync implements [Log]. Memory has nothing to sync.
func (m *Memory) Sync(context.Context) error { return nil }

// Records implements [Log]. It reads the records that are there when it is called.
func (m *Memory) Records(ctx context.Context, from int64) iter.Seq2[Record, error] {
	m.mu.Lock()
	records := m.records[:len(m.records):len(m.records)]
	m.mu.Unlock()
	return func(yield func(Record, error) bool) {
		for _, r := range records {
			if r.N < from {
				continue
			}
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

// Len implements [Log].
func (m *Memory) Len() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.records))
}

// PutBlob implements [Log].
func (m *Memory) PutBlob(_ context.Context, data []byte) (string, error) {
	hash := hashOf(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blobs == nil {
		m.blobs = map[string][]byte{}
	}
	m.blobs[hash] = slices.Clone(data)
	return hash, nil
}

// Blob implements [Log].
func (m *Memory) Blob(_ context.Context, hash string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.blobs[hash]
	if !ok {
		return nil, fmt.Errorf("journal: blob %s: %w", hash, fs.ErrNotExist)
	}
	return data, nil
}

// Close implements [Log]. There is nothing to give free: the log can be used again, by the session that resumes.
func (m *Memory) Close() error { return nil }
