package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrClosed is the error of calls of an engine in memory that is closed.
var ErrClosed = fmt.Errorf("memfleet: the engine is closed: %w", fs.ErrClosed)

// Memory keeps a table in memory. [Memory.Open] returns the table as one machine has it.
type Memory struct {
	monitor
	records map[string]*memoryRecord // by key
	seq     uint64                   // of the last write
}

type memoryRecord struct {
	Record
	until time.Time // zero means no end
}

// over reports whether the record has ended.
func (r *memoryRecord) over(now time.Time) bool { return !r.until.IsZero() && !now.Before(r.until) }

// NewMemory returns a table without records.
func NewMemory() *Memory { return &Memory{records: map[string]*memoryRecord{}} }

// Open returns the table until life ends.
func (m *Memory) Open(life context.Context) Table { return memoryTable{m, life} }

// memoryTable implements [Table].
type memoryTable struct {
	*Memory
	life context.Context
}

// Begins returns an error if a call cannot begin, because its engine was closed, or ctx has ended.
func Begins(ctx, life context.Context) error {
	if life.Err() != nil {
		return ErrClosed
	}
	return ctx.Err()
}

func (t memoryTable) check(ctx context.Context) error { return Begins(ctx, t.life) }

// there returns the records of some patterns, the oldest first. The caller holds the lock.
func (m *Memory) there(patterns ...string) (list []Record) {
	now := time.Now()
	maps.DeleteFunc(m.records, func(_ string, r *memoryRecord) bool { return r.over(now) })
	for key, r := range m.records {
		if slices.ContainsFunc(patterns, func(p string) bool { return matches(p, key) }) {
			list = append(list, r.Record)
		}
	}
	slices.SortFunc(list, func(a, b Record) int { return cmp.Compare(a.Seq, b.Seq) })
	for i := range list {
		list[i].After = uint64(len(list) - 1 - i)
	}
	return list
}

// matches reports whether a key fits a pattern.
func matches(pattern, key string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, ".", "/"), strings.ReplaceAll(key, ".", "/"))
	return ok && err == nil
}

// last returns the record of a key. The caller holds the lock.
func (m *Memory) last(key string) Record {
	if r := m.records[key]; r != nil && !r.over(time.Now()) {
		return r.Record
	}
	return Record{Key: key}
}

// Get implements [Table].
func (t memoryTable) Get(ctx context.Context, key string) (Record, error) {
	t.Lock()
	defer t.Unlock()
	return t.last(key), t.check(ctx)
}

// Put implements [Table].
func (t memoryTable) Put(ctx context.Context, writing, key string, data []byte, after uint64,
	ttl time.Duration) (uint64, error) {
	t.Lock()
	defer t.Unlock()
	if err := t.check(ctx); err != nil {
		return 0, err
	}
	if t.last(key).Seq != after {
		return 0, ErrChanged
	}
	t.seq++
	r := &memoryRecord{Record: Record{Key: key, Data: bytes.Clone(data), Seq: t.seq, At: time.Now(), Writing: writing}}
	if ttl > 0 {
		r.until = r.At.Add(ttl)
	}
	t.records[key] = r
	t.changed()
	return t.seq, nil
}

// Remove implements [Table].
func (t memoryTable) Remove(ctx context.Context, pattern string) error {
	return t.remove(ctx, func(r Record) bool { return matches(pattern, r.Key) })
}

// RemoveSeq implements [Table].
func (t memoryTable) RemoveSeq(ctx context.Context, seq uint64) error {
	return t.remove(ctx, func(r Record) bool { return r.Seq == seq })
}

func (t memoryTable) remove(ctx context.Context, which func(Record) bool) error {
	t.Lock()
	defer t.Unlock()
	if err := t.check(ctx); err != nil {
		return err
	}
	maps.DeleteFunc(t.records, func(_ string, r *memoryRecord) bool { return which(r.Record) })
	t.changed()
	return nil
}

// Keys implements [Table].
func (t memoryTable) Keys(ctx context.Context, pattern string) (keys []string, err error) {
	t.Lock()
	defer t.Unlock()
	for _, r := range t.there(pattern) {
		keys = append(keys, r.Key)
	}
	return keys, t.check(ctx)
}

// List implements [Table].
func (t memoryTable) List(ctx context.Context, patterns ...string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		t.Lock()
		list := t.there(patterns...)
		t.Unlock()
		if err := t.check(ctx); err != nil {
			yield(Record{}, err)
			return
		}
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Follow implements [Table]. Of what is written while its caller does something else it yields the
// last records.
func (t memoryTable) Follow(ctx context.Context, patterns ...string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		seen, first := uint64(0), true
		for err := range t.Changes(ctx, patterns...) {
			if err != nil {
				yield(Record{}, err)
				return
			}
			t.Lock()
			list := slices.DeleteFunc(t.there(patterns...), func(r Record) bool { return r.Seq <= seen })
			t.Unlock()
			if first && len(list) == 0 {
				list = []Record{{}}
			}
			for _, r := range list {
				if seen, first = max(seen, r.Seq), false; !yield(r, nil) {
					return
				}
			}
		}
	}
}

// lookAgain is the time after which Changes yields in case a record has ended.
const lookAgain = 50 * time.Millisecond

// Changes implements [Table]. It yields at changes of other keys, too.
func (t memoryTable) Changes(ctx context.Context, _ ...string) iter.Seq[error] {
	return func(yield func(error) bool) {
		t.Lock()
		news := t.next()
		t.Unlock()
		for yield(t.check(ctx)) && t.check(ctx) == nil {
			news = t.wait(ctx, t.life, news, lookAgain)
		}
	}
}

// Tell implements [Table].
func (t memoryTable) Tell(string) {
	t.Lock()
	defer t.Unlock()
	t.changed()
}

// Now implements [Table].
func (t memoryTable) Now(ctx context.Context) (time.Time, error) { return time.Now(), t.check(ctx) }

// Most implements [Table].
func (t memoryTable) Most() int { return 64 << 20 }

// Life implements [Table].
func (t memoryTable) Life() context.Context { return t.life }

// monitor is a lock that wakes waiting goroutines when something under it has changed.
type monitor struct {
	sync.Mutex
	news chan struct{} // closed at the next change; nil if nobody waits
}

// changed wakes all that wait. The caller holds the lock.
func (m *monitor) changed() {
	if m.news != nil {
		close(m.news)
		m.news = nil
	}
}

// next returns a channel that is closed at the next change. The caller holds the lock.
func (m *monitor) next() <-chan struct{} {
	if m.news == nil {
		m.news = make(chan struct{})
	}
	return m.news
}

// wait waits for news, for the end of a context, or for at most most. It returns a channel that is
// closed at the next change after that.
func (m *monitor) wait(ctx, life context.Context, news <-chan struct{}, most time.Duration) <-chan struct{} {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-news:
	case <-timer.C:
	case <-ctx.Done():
	case <-life.Done():
	}
	m.Lock()
	defer m.Unlock()
	return m.next()
}

// MemoryQueue keeps a queue in memory. [MemoryQueue.Open] returns the queue as one machine has it.
type MemoryQueue struct {
	monitor
	limit    int // of messages that are taken at a time; 0 means no limit
	messages []*memoryMessage
}

// memoryMessage is the message of a task.
type memoryMessage struct {
	id, writing string
	data        []byte
	taken       bool      // it was delivered
	due         time.Time // when it is delivered, or delivered again
	changes     int       // tells a message from a later one of the same task
}

// NewMemoryQueue returns an empty queue. At most limit messages are delivered at a time; 0 means no
// limit.
func NewMemoryQueue(limit int) *MemoryQueue { return &MemoryQueue{limit: limit} }

// Open returns the queue until life ends.
func (q *MemoryQueue) Open(life context.Context) Queue { return memoryQueue{q, life} }

// memoryQueue implements [Queue].
type memoryQueue struct {
	*MemoryQueue
	life context.Context
}

func (q memoryQueue) check(ctx context.Context) error { return Begins(ctx, q.life) }

// find returns the message of a task, or nil. The caller holds the lock.
func (q *MemoryQueue) find(id string) *memoryMessage {
	for _, m := range q.messages {
		if m.id == id {
			return m
		}
	}
	return nil
}

// Add implements [Queue].
func (q memoryQueue) Add(ctx context.Context, writing, id string, data []byte, most int) (int, error) {
	q.Lock()
	defer q.Unlock()
	switch {
	case q.check(ctx) != nil:
		return 0, q.check(ctx)
	case q.find(id) != nil:
		return 0, nil
	case most > 0 && len(q.messages) >= most:
		return len(q.messages), nil
	}
	q.messages = append(q.messages, &memoryMessage{id: id, writing: writing, data: data})
	q.changed()
	return 0, nil
}

// Next implements [Queue].
func (q memoryQueue) Next(ctx context.Context) (Message, error) {
	q.Lock()
	news := q.next()
	q.Unlock()
	for {
		if err := q.check(ctx); err != nil {
			return nil, err
		}
		m, due := q.due()
		if m != nil {
			return m, nil
		}
		news = q.wait(ctx, q.life, news, due)
	}
}

// due takes the first message that is due. If there is none, it returns how long to wait for one.
func (q memoryQueue) due() (Message, time.Duration) {
	q.Lock()
	defer q.Unlock()
	now, soon := time.Now(), failTime
	taken := 0
	for _, m := range q.messages {
		if m.taken {
			taken++
		}
		if left := m.due.Sub(now); left > 0 {
			soon = min(soon, left)
		}
	}
	for _, m := range q.messages {
		if now.Before(m.due) || !m.taken && q.limit > 0 && taken >= q.limit {
			continue
		}
		m.taken, m.due = true, now.Add(lookTime)
		return delivered{q, m, m.changes}, 0
	}
	return nil, soon
}

// lookTime is the time after which a message is delivered again that its claimer has not answered.
const lookTime = 3 * time.Second

// Later implements [Queue].
func (q memoryQueue) Later(ctx context.Context, id string, at time.Time) error {
	q.Lock()
	defer q.Unlock()
	if m := q.find(id); m != nil {
		m.taken, m.due = false, at
		m.changes++
		q.changed()
	}
	return q.check(ctx)
}

// Remove implements [Queue].
func (q memoryQueue) Remove(ctx context.Context, id string) error {
	q.Lock()
	defer q.Unlock()
	if err := q.check(ctx); err != nil {
		return err
	}
	q.messages = slices.DeleteFunc(q.messages, func(m *memoryMessage) bool { return m.id == id })
	q.changed()
	return nil
}

// delivered implements [Message].
type delivered struct {
	q       memoryQueue
	message *memoryMessage
	changes int
}

func (m delivered) ID() string      { return m.message.id }
func (m delivered) Data() []byte    { return m.message.data }
func (m delivered) Writing() string { return m.message.writing }

// current reports whether the message is the same as when it was delivered. The caller holds the
// lock.
func (m delivered) current() bool {
	return m.q.find(m.message.id) == m.message && m.message.changes == m.changes
}

// Current implements [Message].
func (m delivered) Current(ctx context.Context) (bool, error) {
	m.q.Lock()
	defer m.q.Unlock()
	return m.current(), m.q.check(ctx)
}

// Delay implements [Message].
func (m delivered) Delay(d time.Duration) {
	m.q.Lock()
	defer m.q.Unlock()
	if m.current() {
		m.message.due = time.Now().Add(d)
		m.q.changed()
	}
}

// Done implements [Message].
func (m delivered) Done(context.Context) {
	m.q.Lock()
	defer m.q.Unlock()
	if m.current() {
		m.q.messages = slices.DeleteFunc(m.q.messages, func(o *memoryMessage) bool { return o == m.message })
		m.q.changed()
	}
}
