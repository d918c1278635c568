package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"
)

// DefaultMax is the default size of the largest event of a [Reader], in bytes.
const DefaultMax = 64 << 20

// ErrTooLong is returned for an event, or a single line, that exceeds the reader's maximum.
var ErrTooLong = errors.New("sse: event too long")

var errClosed = errors.New("sse: the reader is closed")

// readSize is the size of the largest read from the source, in bytes, and of a new reader's buffer. Unread bytes beyond the current
// line never exceed it. A buffer with room for less than leastRead is compacted or grown first.
const (
	readSize  = 16 << 10
	leastRead = 4 << 10
)

// buffers holds the first buffers of closed readers. A larger buffer, which a reader got for a long event, is not kept.
var buffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// Event is one dispatched event. Type and Data are valid until the next call of [Reader.Next].
type Event struct {
	// Type is "message" if the stream did not name one.
	Type []byte
	// Data is the event's data lines, joined by newlines.
	Data []byte
	// ID is the last event id that the stream had set when the event ended, by this or an earlier event.
	ID string
	// OwnID reports that this event set the ID.
	OwnID bool
}

// Reader splits a byte stream into events. It must not be used by two goroutines at once.
type Reader struct {
	src io.Reader
	max int
	err error // of the source; reported when the buffer has no complete line left

	// buf[start:end] is unread, and no line ends before scanned. buf[from:to] is the data of the current event. It lies before
	// start, so a line's value can be moved to its end in place.
	buf                 []byte
	first               *[readSize]byte // the buffer from the pool, nil after Close
	start, scanned, end int
	from, to            int
	hasData             bool

	eventType []byte
	id        []byte // of the event being read
	ownID     bool   // it set the id
	lastID    string
	retry     time.Duration
	comments  int
	skipLF    bool // the last line ended with a CR, so an LF directly after it belongs to that line end
	begun     bool // the first line was read, so a byte order mark is ordinary text
}

// NewReader returns a reader of src. An event of more than max bytes is an error; 0 means [DefaultMax].
func NewReader(src io.Reader, max int) *Reader {
	if max <= 0 {
		max = DefaultMax
	}
	first := buffers.Get().(*[readSize]byte)
	return &Reader{src: src, max: max, buf: first[:0], first: first}
}

// Close releases the reader's memory for later readers. The last event becomes invalid, and Next must not be called again. A
// reader that is not closed is collected like anything else.
func (r *Reader) Close() {
	if r.first != nil {
		buffers.Put(r.first)
	}
	*r = Reader{err: errClosed, lastID: r.lastID, retry: r.retry, comments: r.comments}
}

// Next returns the next event as soon as it is complete, without waiting for more bytes. It skips comments and events without
// data, so that keep-alive lines do not look like progress to a caller that counts events. At the end of the source it returns
// io.EOF and drops an incomplete event, as the standard requires. Other errors are the source's own or [ErrTooLong].
func (r *Reader) Next() (Event, error) {
	r.from, r.to, r.hasData, r.ownID = 0, 0, false, false
	r.eventType = r.eventType[:0]
	for {
		line, err := r.line()
		if err != nil {
			return Event{}, err
		}
		if len(line) > 0 {
			r.field(line)
			if max(len(line), r.to-r.from) > r.max {
				return Event{}, fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.max)
			}
			continue
		}
		if r.lastID != string(r.id) {
			r.lastID = string(r.id)
		}
		if !r.hasData { // nothing to dispatch
			r.eventType, r.ownID = r.eventType[:0], false
			continue
		}
		if len(r.eventType) == 0 {
			r.eventType = append(r.eventType, "message"...)
		}
		return Event{Type: r.eventType, Data: r.buf[r.from:r.to], ID: r.lastID, OwnID: r.ownID}, nil
	}
}

// LastEventID returns the id that a reconnecting client would send.
func (r *Reader) LastEventID() string { return r.lastID }

// Retry returns the reconnection time that the stream set, 0 if it set none.
func (r *Reader) Retry() time.Duration { return r.retry }

// Comments returns the number of comment lines so far. They show that the server is alive, but not that it makes progress.
func (r *Reader) Comments() int { return r.comments }

// line returns the next line without its end. It is valid until the next call.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.skipLF && r.start < r.end {
			r.skipLF = false
			if r.buf[r.start] == '\n' {
				r.start++
				r.scanned = max(r.scanned, r.start)
			}
		}
		if i := lineEnd(r.buf[r.scanned:r.end]); i >= 0 {
			stop := r.scanned + i
			line := r.buf[r.start:stop]
			r.skipLF = r.buf[stop] == '\r'
			r.start, r.scanned = stop+1, stop+1
			if !r.begun {
				r.begun = true
				line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
			}
			return line, nil
		}
		r.scanned = r.end
		if r.err != nil {
			return nil, r.err
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// lineEnd returns the index of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill reads once from the source. It first closes the gaps in the buffer, which therefore holds only the event's data and the
// current line, whatever came before them.
func (r *Reader) fill() error {
	data, unread := r.to-r.from, r.end-r.start
	if data+unread > r.max {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.max)
	}
	if cap(r.buf)-r.end < leastRead {
		if data+unread+leastRead > cap(r.buf) {
			have := data + unread
			grown := make([]byte, 0, max(have, min(2*have, r.max))+readSize)
			copy(grown[:data], r.buf[r.from:r.to])
			copy(grown[data:data+unread], r.buf[r.start:r.end])
			r.buf = grown
		} else {
			full := r.buf[:cap(r.buf)]
			copy(full, full[r.from:r.to])
			copy(full[data:], full[r.start:r.end])
		}
		r.from, r.to = 0, data
		r.start, r.end = data, data+unread
		r.scanned = r.end
	}
	for range 100 { // a reader may return nothing occasionally; one that only does so is broken
		to := min(r.end+readSize, cap(r.buf))
		n, err := r.src.Read(r.buf[r.end:to:to])
		r.buf = r.buf[:max(len(r.buf), r.end+n)]
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return nil
		}
	}
	return io.ErrNoProgress
}

// field interprets one non-empty line.
func (r *Reader) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "": // a line that starts with a colon
		r.comments++
	case "data":
		r.data(value)
	case "event":
		r.eventType = append(r.eventType[:0], value...)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.id, r.ownID = append(r.id[:0], value...), true
		}
	case "retry":
		if ms, ok := digits(value); ok {
			r.retry = ms
		}
	}
}

// data appends a line to the event's data. The first line stays where it is in the buffer. Every later one is moved to the end of
// the data, over its own field name.
func (r *Reader) data(value []byte) {
	if !r.hasData {
		r.hasData = true
		r.from = r.start - 1 - len(value) // the value ends one byte before start, at its line end
		r.to = r.from + len(value)
		return
	}
	r.buf[r.to] = '\n'
	copy(r.buf[r.to+1:], value)
	r.to += 1 + len(value)
}

// digits parses a reconnection time in milliseconds. A time that does not fit a duration becomes the longest one.
func digits(b []byte) (time.Duration, bool) {
	if len(b) == 0 {
		return 0, false
	}
	const limit = math.MaxInt64 / int64(time.Millisecond)
	var n int64
	for _, c := range b {
		switch {
		case c < '0' || c > '9':
			return 0, false
		case n < limit/10:
			n = n*10 + int64(c-'0')
		default:
			n = limit
		}
	}
	return time.Duration(n) * time.Millisecond, true
}
