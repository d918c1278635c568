package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"time"
)

// ErrChanged says that somebody else has written a record in the meantime.
var ErrChanged = errors.New("fleet: the record has changed")

// Record is the last value of a key. Its Seq is 0 if there is none.
type Record struct {
	Key     string
	Data    []byte
	Seq     uint64    // of the write; it grows with each write to the table
	At      time.Time // of the write, by the table's clock
	Writing string    // names the call of Put that wrote it
	After   uint64    // how many records of a list come after it
}

// Table keeps records. A key has parts with dots between them; a * in a pattern is any one part.
// Every call ends after a bounded time.
type Table interface {
	// Get returns the record of a key.
	Get(ctx context.Context, key string) (Record, error)
	// Put writes a record if the last one of its key has the sequence after, and returns the new
	// sequence. The error is ErrChanged if it has not. If the same writing was written before,
	// whose outcome was unknown, Put finds that. A record with a ttl above 0 ends when that has
	// passed.
	Put(ctx context.Context, writing, key string, data []byte, after uint64, ttl time.Duration) (uint64, error)
	// Remove removes all records of a pattern, and RemoveSeq one record, unless it was replaced.
	Remove(ctx context.Context, pattern string) error
	RemoveSeq(ctx context.Context, seq uint64) error
	// Keys returns the keys of a pattern that have records.
	Keys(ctx context.Context, pattern string) ([]string, error)
	// List yields the records of some patterns, the oldest first. It may yield one that changes
	// meanwhile twice.
	List(ctx context.Context, patterns ...string) iter.Seq2[Record, error]
	// Follow yields the records of some patterns and then each that is written. The last one that
	// was there at the beginning has no others after it. If that one was removed, or there was
	// none, a record with the sequence 0 stands in its place. It ends with an error.
	Follow(ctx context.Context, patterns ...string) iter.Seq2[Record, error]
	// Changes yields nil at once, and then whenever some keys may have been written, or Tell was
	// called for them, until ctx ends.
	Changes(ctx context.Context, keys ...string) iter.Seq[error]
	// Tell makes the Changes of a key yield. It stores nothing.
	Tell(key string)
	// Now returns the time by the table's clock.
	Now(ctx context.Context) (time.Time, error)
	// Most returns the number of bytes that a record may have.
	Most() int
	// Life returns a context that ends when the table is closed in this process.
	Life() context.Context
}

// Queue decides which claimer gets a task next. Each task that is not final has one message. A
// message of a final task does no harm.
type Queue interface {
	// Add adds the message of a task, unless there is one. If the queue has most messages or more,
	// it adds nothing and returns their number as full; a most of 0 is no bound.
	Add(ctx context.Context, writing, id string, data []byte, most int) (full int, err error)
	// Next waits for a message that no other claimer has. It returns nil if none came for a while.
	Next(ctx context.Context) (Message, error)
	// Later lets the message of a task be delivered at a time by the table's clock.
	Later(ctx context.Context, id string, at time.Time) error
	// Remove removes the message of a task.
	Remove(ctx context.Context, id string) error
}

// Message is a message of a queue, delivered to one claimer. If the claimer calls neither Delay nor
// Done, it is delivered again, to another one. Either call may get lost, with the same effect.
type Message interface {
	ID() string
	Data() []byte    // of Add
	Writing() string // of Add
	// Current reports whether the message is still in the queue.
	Current(ctx context.Context) (bool, error)
	// Delay lets the message be delivered again after d, and not before.
	Delay(d time.Duration)
	// Done removes the message from the queue.
	Done(ctx context.Context)
}

// table adds methods to a Table.
type table struct{ Table }

// put calls Put with a random name for the writing.
func (t table) put(ctx context.Context, key string, data []byte, after uint64, ttl time.Duration) (uint64, error) {
	return t.Put(ctx, rand.Text(), key, data, after, ttl)
}

// Update changes a record by compare and swap. It calls change with the current record, and again
// if somebody else has written in the meantime, and writes the value as JSON, for a ttl if that is
// above 0. If the value is nil, the record stays.
func Update(ctx context.Context, t Table, key string,
	change func(now Record) (value any, ttl time.Duration, err error)) error {
	for tries := 1; ; tries++ {
		now, err := t.Get(ctx, key)
		if err != nil {
			return err
		}
		value, ttl, err := change(now)
		if value == nil || err != nil {
			return err
		}
		data, err := json.Marshal(value)
		if err != nil || bytes.Equal(data, now.Data) {
			return err
		}
		if _, err = (table{t}).put(ctx, key, data, now.Seq, ttl); !errors.Is(err, ErrChanged) {
			return err
		}
		// let others go first
		if err := Wait(ctx, mathrand.N(time.Duration(min(tries, 20))*time.Millisecond)); err != nil {
			return err
		}
	}
}

// rewrite replaces the caller's record, which has the sequence seq, and moves seq on. If another
// record is there that is the caller's, too, such as one of a call whose outcome was unknown, it
// replaces that one; otherwise it returns ErrChanged.
func (t table) rewrite(ctx context.Context, key string, seq *uint64, ttl time.Duration,
	data func() ([]byte, error), mine func(now Record) (bool, error)) error {
	for {
		text, err := data()
		if err != nil {
			return err
		}
		written, err := t.put(ctx, key, text, *seq, ttl)
		if err == nil {
			*seq = written
		}
		if !errors.Is(err, ErrChanged) {
			return err
		}
		now, err := t.Get(ctx, key)
		if err != nil {
			return err
		}
		if is, failed := mine(now); failed != nil || !is {
			return cmp.Or(failed, ErrChanged)
		}
		*seq = now.Seq
	}
}

// lostIfChanged returns ErrLost in place of ErrChanged.
func lostIfChanged(err error, lost func() error) error {
	if errors.Is(err, ErrChanged) {
		return lost()
	}
	return err
}

const (
	callTime = 10 * time.Second       // bounds what has to be done although a context has ended
	gap      = 100 * time.Millisecond // is between two attempts
	failTime = 30 * time.Second       // bounds the attempts while an engine does not answer
)

// Wait waits for a time, or until ctx ends and returns its error.
func Wait(ctx context.Context, pause time.Duration) error {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Token returns an id as a part of a key, in which a dot would end it. No id has a tilde.
func Token(id string) string { return strings.ReplaceAll(id, ".", "~") }

// TokenID returns the id of a token.
func TokenID(token string) string { return strings.ReplaceAll(token, "~", ".") }

// digest makes any text a part of a key, from which it cannot be read again.
func digest(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:16])
}

// anyToken makes any text a part of a key.
func anyToken(text string) string { return hex.EncodeToString([]byte(text)) }

// holding says until when a lease or a claim holds, by this machine's clock. Its lock guards what
// else the holder may read at any time.
type holding struct {
	mu    sync.Mutex
	until time.Time
	lost  bool
}

// holds reports whether it has not ended. Once it has, it stays so.
func (h *holding) holds(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = h.lost || !now.Before(h.until)
	return !h.lost
}

// end ends it.
func (h *holding) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost, h.until = true, time.Time{}
}

// StopClock makes a lease or a claim believe that it has not ended, as on a machine whose clock
// stood still. It is for tests.
func (h *holding) StopClock() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until, h.lost = time.Now().Add(time.Hour), false
}
