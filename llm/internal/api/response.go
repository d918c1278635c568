package api

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/sse"
)

// drainTime limits how long [Response.Drain] waits for the end of a body whose content is complete.
const drainTime = 100 * time.Millisecond

// closingTime limits how long a stream may stay open, without progress, after the reason why the
// model stopped. Some servers never close it.
const closingTime = 10 * time.Second

// Response is a response whose headers have arrived. It must not be used by two goroutines at the
// same time.
type Response struct {
	Header    http.Header
	Status    int
	RequestID string
	RateLimit *llm.RateLimit
	// Whole reports that the body is one JSON value instead of events.
	Whole bool

	call   *Call
	watch  *watch
	body   io.ReadCloser
	head   []byte // the part of the body that was read but not yet returned
	came   int64  // how much of the body has arrived
	events *sse.Reader
}

// Next returns the next event, io.EOF at a clean end of the body, or an [*llm.Error]. With io.EOF
// comes what there is of an event in which the body has ended: some servers omit the empty line
// after the last one. The idle timer continues: after an event that is progress, call
// [Response.Progress]; after a ping, do not.
func (r *Response) Next() (sse.Event, error) {
	if r.events == nil {
		r.events = sse.NewReader(timedBody{r}, maxEvent)
	}
	ev, err := r.events.Next()
	switch err {
	case nil:
		return ev, nil
	case io.EOF:
		return sse.Event{Data: r.events.Rest()}, err
	}
	return ev, r.broken(err)
}

// Progress restarts the idle timer.
func (r *Response) Progress() { r.watch.Progress() }

// ReadAll returns the whole body. More than 32 MiB is a final [llm.ErrStream].
func (r *Response) ReadAll() ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(&progressing{timedBody: timedBody{r}}, maxWhole+1))
	if err == nil && len(b) > maxWhole {
		err = tooLong("the response is longer than %d MiB", maxWhole>>20)
	}
	if err != nil {
		return nil, r.broken(err)
	}
	return b, nil
}

// Fail returns an error with the facts of this response.
func (r *Response) Fail(kind error, format string, args ...any) *llm.Error {
	e := r.call.fail(kind, format, args...)
	e.Status, e.RequestID = r.Status, r.RequestID
	return e
}

// Failure returns the error that a body describes: that of an unsuccessful response, or one in the
// middle of a successful response.
func (r *Response) Failure(body []byte) *llm.Error {
	e := r.call.classify(r.Status, r.Header, body)
	e.RequestID = cmp.Or(e.RequestID, r.RequestID)
	return e
}

// judged returns an error of known kind with the facts of this response.
func (r *Response) judged(known *llm.Error) *llm.Error {
	e := r.Fail(known.Kind, "%s", known.Message)
	e.Code, e.Final = known.Code, known.Final
	return e
}

// broken returns why the body could not be read further.
func (r *Response) broken(err error) *llm.Error {
	if errors.Is(err, sse.ErrTooLong) {
		err = tooLong("an event of the response is longer than %d MiB", maxEvent>>20)
	}
	var known *llm.Error
	if errors.As(err, &known) {
		return r.judged(known)
	}
	e := r.watch.failure(err, true)
	e.Undecoded = errors.Is(err, gzip.ErrHeader)
	if !errors.Is(e.Kind, llm.ErrAborted) {
		e.Status, e.RequestID = r.Status, r.RequestID
	}
	return e
}

// Drain waits briefly for the end of a complete body, so that its connection can be used for the
// next call.
func (r *Response) Drain() {
	stop := time.AfterFunc(drainTime, func() { r.watch.cancel(context.Canceled) })
	defer stop.Stop()
	// Anything after the end, even an error, is ignored.
	_, _ = io.Copy(io.Discard, io.LimitReader(r.body, maxErrorBody))
}

// Close ends the call. If the body was not read to its end, the connection is closed too.
func (r *Response) Close() {
	if r.events != nil {
		r.events.Close()
		r.events = nil
	}
	r.watch.cancel(nil)
	_ = r.body.Close() // nothing was written, so nothing can be lost
}

// timedBody reads with the idle timer, and up to the call's limit.
type timedBody struct{ r *Response }

func (t timedBody) Read(p []byte) (int, error) {
	r := t.r
	if len(r.head) > 0 {
		n := copy(p, r.head)
		r.head = r.head[n:]
		return n, nil
	}
	n, err := r.watch.reading(func() (int, error) { return r.body.Read(p) })
	limit := r.call.MaxBody
	if limit <= 0 {
		limit = maxBody
	}
	if r.came += int64(n); r.came > limit {
		return 0, tooLong("the response is longer than %d MiB", int(limit>>20))
	}
	return n, err
}

// solid is the number of bytes of a whole response that count as progress. White space does not
// count, because some servers keep a connection alive with it.
const solid = 1 << 10

// progressing restarts the idle timer for every [solid] bytes.
type progressing struct {
	timedBody
	seen int
}

func (p *progressing) Read(b []byte) (int, error) {
	n, err := p.timedBody.Read(b)
	for _, c := range b[:n] {
		if c > ' ' {
			p.seen++
		}
	}
	if p.seen >= solid {
		p.seen = 0
		p.r.Progress()
	}
	return n, err
}
