package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrTooLong is returned for an event, or a single line, that exceeds the reader's maximum.
var ErrTooLong = errors.New("sse: event too long")

// readSize is the size of the largest read from the source, in bytes.
const readSize = 16 << 10

// buffers holds the buffers of closed readers.
var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readSize) }}

// Event is one dispatched event.
type Event struct {
	// Data is the event's data lines, joined by newlines. It is valid until the next call of
	// [Reader.Next].
	Data []byte
	// ID is the id that the event has set, empty if it set none.
	ID string
}

// Reader splits a byte stream into events. It must not be used by two goroutines at once.
type Reader struct {
	src        *bufio.Reader
	max        int
	line, data []byte // of the current event
	hasData    bool   // the current event has data, perhaps empty
	begun      bool   // the first line was read, so a byte order mark is ordinary text
	skipLF     bool   // the last line ended with a CR, so an LF directly after it belongs to that line end
}

// NewReader returns a reader of src. An event of more than max bytes is an error.
func NewReader(src io.Reader, max int) *Reader {
	r := &Reader{src: buffers.Get().(*bufio.Reader), max: max}
	r.src.Reset(src)
	return r
}

// Close releases the reader's buffer for later readers. The reader must not be used any more.
func (r *Reader) Close() {
	r.src.Reset(nil)
	buffers.Put(r.src)
	r.src = nil
}

// Next returns the next event as soon as it is complete, without waiting for more bytes. It skips
// comments and events without data, so that keep-alive lines do not look like progress to a caller
// that counts events. At the end of the source it returns io.EOF and drops an incomplete event, as
// the standard requires; [Reader.Rest] has its data. Other errors are the source's own or
// [ErrTooLong].
func (r *Reader) Next() (Event, error) {
	var ev Event
	r.data, r.hasData = r.data[:0], false
	for {
		if err := r.readLine(); err != nil {
			if err == io.EOF {
				r.field(&ev)
			}
			return Event{}, err
		}
		switch {
		case len(r.line) == 0 && r.hasData:
			ev.Data = r.data
			return ev, nil
		case len(r.line) == 0: // nothing to dispatch
			ev = Event{}
		default:
			r.field(&ev)
		}
		if len(r.data) > r.max {
			return Event{}, r.tooLong()
		}
	}
}

// Rest returns the data of the event in which the source has ended, empty without one. Its last
// line may be cut off. It is valid until the next call of [Reader.Next].
func (r *Reader) Rest() []byte { return r.data }

// field adds the line's field to an event.
func (r *Reader) field(ev *Event) {
	name, value, _ := bytes.Cut(r.line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case string(name) == "data":
		if r.hasData {
			r.data = append(r.data, '\n')
		}
		r.hasData = true
		r.data = append(r.data, value...)
	case string(name) == "id" && bytes.IndexByte(value, 0) < 0:
		ev.ID = string(value)
	}
}

// readLine reads the next line without its end, which is a CR, an LF or both.
func (r *Reader) readLine() error {
	r.line = r.line[:0]
	for ended := false; !ended; {
		if _, err := r.src.Peek(1); err != nil {
			return err
		}
		have, _ := r.src.Peek(r.src.Buffered()) // has no error
		if r.skipLF && have[0] == '\n' {
			_, _ = r.src.Discard(1)
			r.skipLF = false
			continue
		}
		end := bytes.IndexAny(have, "\r\n")
		ended = end >= 0
		if !ended {
			end = len(have)
		}
		r.line = append(r.line, have[:end]...)
		if len(r.line) > r.max {
			return r.tooLong()
		}
		r.skipLF = ended && have[end] == '\r'
		_, _ = r.src.Discard(min(end+1, len(have))) // they are buffered
	}
	if !r.begun {
		r.line = bytes.TrimPrefix(r.line, []byte("\xEF\xBB\xBF"))
	}
	r.begun = true
	return nil
}

func (r *Reader) tooLong() error { return fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.max) }
