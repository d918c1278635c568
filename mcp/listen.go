package mcp

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// listening opens the stream on which a server of the older protocol sends what belongs to no
// request. A server need not have one, so none of its faults may cost the connection: if it does
// not begin, is no stream, or is cut again and again, it is replaced by one on which nothing comes.
type listening struct {
	wait   time.Duration // for the stream to begin
	opened atomic.Int32
}

// open sends the request for the stream. The request's context has to end with the stream.
func (l *listening) open(req *http.Request, base http.RoundTripper) (*http.Response, error) {
	n := l.opened.Add(1)
	if n > maxListens {
		return quiet(req), nil
	}
	ctx, cancel := context.WithCancel(req.Context())
	timer := time.AfterFunc(l.wait, cancel)
	resp, err := base.RoundTrip(req.WithContext(ctx))
	inTime := timer.Stop()
	switch {
	case err == nil && inTime && (resp.StatusCode == http.StatusOK && mediaType(resp) == "text/event-stream" ||
		resp.StatusCode == http.StatusNotFound && n > 1): // the session has ended
		return resp, nil
	case err == nil:
		_ = resp.Body.Close() // it is not used
	case inTime && req.Context().Err() == nil:
		return nil, err
	}
	cancel()
	return quiet(req), nil
}

// quiet returns the answer with a stream that ends with its request.
func quiet(req *http.Request) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Request: req,
		Header:  http.Header{"Content-Type": {"text/event-stream"}}, Body: silence{req.Context()}, ContentLength: -1}
}

// silence reads nothing until a context ends.
type silence struct{ ctx context.Context }

func (s silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (silence) Close() error { return nil }
