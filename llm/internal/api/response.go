package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/sse"
)

// drainTime is how long [Response.Drain] waits for the end of a body whose content is complete.
const drainTime = 100 * time.Millisecond

// Response is an answer whose headers are in. It must not be used by two goroutines at once.
type Response struct {
	Header    http.Header
	Status    int
	RequestID string
	RateLimit *llm.RateLimit
	// Whole says that the body is one JSON value instead of events.
	Whole bool

	call   *Call
	watch  *watch
	body   io.ReadCloser
	head   []byte // of the body, read and not yet given out
	came   int64  // how much of the body has come
	events *sse.Reader
}

// Next returns the next event, io.EOF at a clean end of the body, or an [*llm.Error]. The idle timer goes on from where it
// stood: an event that is progress is followed by [Response.Progress], a ping is not.
func (r *Response) Next() (sse.Event, error) {
	if r.events == nil {
		r.events = sse.NewReader(timedBody{r}, maxEvent)
	}
	ev, err := r.events.Next()
	if err == nil || err == io.EOF {
		return ev, err
	}
	return ev, r.broken(err)
}

// Progress starts the idle timer afresh.
func (r *Response) Progress() { r.watch.Progress() }

// ReadAll returns the whole body. More than 32 MiB is a final [llm.ErrStream].
func (r *Response) ReadAll() ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(&progressing{timedBody: timedBody{r}}, maxWhole+1))
	if err == nil && len(b) > maxWhole {
		err = tooLong("the answer is longer than %d MiB", maxWhole>>20)
	}
	if err != nil {
		return nil, r.broken(err)
	}
	return b, nil
}

// Fail returns an error about this answer.
func (r *Response) Fail(kind error, format string, args ...any) *llm.Error {
	e := r.call.fail(kind, format, args...)
	e.Status, e.RequestID = r.Status, r.RequestID
	return e
}

// Failure classifies an error that came inside of a successful answer, as if it had come instead of it.
func (r *Response) Failure(body []byte) *llm.Error {
	e := r.call.classify(r.Status, r.Header, body)
	if e.RequestID == "" {
		e.RequestID = r.RequestID
	}
	return e
}

// judged returns an error about this answer of which the kind is known already.
func (r *Response) judged(known *llm.Error) *llm.Error {
	e := r.Fail(known.Kind, "%s", known.Message)
	e.Code, e.Final = known.Code, known.Final
	return e
}

// broken says why the body could not be read on.
func (r *Response) broken(err error) *llm.Error {
	if errors.Is(err, sse.ErrTooLong) {
		err = tooLong("an event of the answer is longer than %d MiB", maxEvent>>20)
	}
	var known *llm.Error
	if errors.As(err, &known) {
		return r.judged(known)
	}
	e := r.watch.failure(err, true)
	if !errors.Is(e.Kind, llm.ErrAborted) {
		e.Status, e.RequestID = r.Status, r.RequestID
	}
	return e
}

// Drain waits a moment for the end of a body that has said everything, so that its connection can serve the next call.
func (r *Response) Drain() {
	stop := time.AfterFunc(drainTime, func() { r.watch.cancel(context.Canceled) })
	defer stop.Stop()
	// What comes after the end, an error included, concerns nobody.
	_, _ = io.Copy(io.Discard, io.LimitReader(r.body, maxErrorBody))
}

// Close ends the call. A body that has not been read to its end takes the connection with it.
func (r *Response) Close() {
	r.watch.cancel(nil)
	_ = r.body.Close() // nothing was written, so nothing can be lost
}

// timedBody reads under the idle timer, and no more than the call's limit.
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
		return 0, tooLong("the answer is longer than %d MiB", int(limit>>20))
	}
	return n, err
}

// solid is how much of a whole answer has to come in to be progress, in bytes. White space is none: some servers keep a
// connection alive with it.
const solid = 1 << 10

// progressing gives the timer a full idle time for every [solid] bytes.
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
