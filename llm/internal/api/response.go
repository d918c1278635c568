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

// maxWhole is the largest whole answer, in bytes.
const maxWhole = 64 << 20

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
	events *sse.Reader
}

// Next returns the next event, io.EOF at a clean end of the body, or an [*llm.Error]. The idle timer goes on from where it
// stood: an event that is progress is followed by [Response.Progress], a ping is not.
func (r *Response) Next() (sse.Event, error) {
	if r.events == nil {
		r.events = sse.NewReader(timedBody{r}, 0)
	}
	ev, err := r.events.Next()
	if err == nil || err == io.EOF {
		return ev, err
	}
	return ev, r.broken(err)
}

// Progress starts the idle timer afresh.
func (r *Response) Progress() { r.watch.Progress() }

// ReadAll returns the whole body; every byte is progress. More than 64 MiB is an [llm.ErrStream].
func (r *Response) ReadAll() ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(progressing{timedBody{r}}, maxWhole+1))
	if err != nil {
		return nil, r.broken(err)
	}
	if len(b) > maxWhole {
		return nil, r.Fail(llm.ErrStream, "the answer is longer than %d bytes", maxWhole)
	}
	return b, nil
}

// Fail is an error about this answer.
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

func (r *Response) broken(err error) *llm.Error {
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

// timedBody reads under the idle timer.
type timedBody struct{ r *Response }

func (t timedBody) Read(p []byte) (int, error) {
	return t.r.watch.reading(func() (int, error) { return t.r.body.Read(p) })
}

// progressing counts every byte as progress.
type progressing struct{ timedBody }

func (p progressing) Read(b []byte) (int, error) {
	n, err := p.timedBody.Read(b)
	if n > 0 {
		p.r.Progress()
	}
	return n, err
}
