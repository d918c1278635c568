package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"

	"github.com/attractor-go/attractor/internal/proxied"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tracecontext"
)

// The default timeouts of a [Call].
const (
	defaultConnect = 10 * time.Second
	defaultIdle    = 300 * time.Second
)

// maxErrorBody limits how much of an error's body is read, in bytes.
const maxErrorBody = 64 << 10

// never is a time that does not end.
const never time.Duration = math.MaxInt64

// Timeouts limit the phases of a call. Zero means the default, a negative value no limit.
type Timeouts struct {
	Connect   time.Duration // name lookup, TCP and TLS
	FirstByte time.Duration // from the call to the response's headers; its default is Idle
	Idle      time.Duration // without progress in the body, see [Response.Progress]
}

func (t Timeouts) idle() time.Duration { return orDefault(t.Idle, defaultIdle) }

// Call is one request.
type Call struct {
	Provider string
	Method   string // empty means POST
	URL      string
	Header   http.Header
	// Body is sent as its segments, one after the other. They are neither copied nor changed.
	Body [][]byte
	// Client sends the call; nil means one with Go's defaults. Redirects are never followed,
	// because they would send the key elsewhere.
	Client   *http.Client
	Timeouts Timeouts
	// Secrets are removed from every error.
	Secrets []string
	// Decode decodes the provider's error JSON. Nil means [DecodeError].
	Decode func(body []byte) Failure
	// MaxBody limits how much of a response is read, in bytes. Zero means 1 GiB.
	MaxBody int64
}

// Do sends the call and returns its response when the first bytes have arrived. An unsuccessful
// response is an error, and so is one that is neither JSON nor an event stream. Every error is an
// [*llm.Error]. The caller closes the response.
func (c *Call) Do(ctx context.Context) (*Response, error) {
	if ctx.Err() != nil {
		e := c.aborted(ctx)
		e.Unsent = true
		return nil, e
	}
	callCtx, cancel := context.WithCancelCause(ctx)
	w := &watch{call: c, parent: ctx, ctx: callCtx, cancel: cancel, idle: c.Timeouts.idle()}
	resp, err := c.send(w)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	r := &Response{Header: resp.Header, Status: resp.StatusCode, RequestID: requestID(resp.Header),
		RateLimit: rateLimit(resp.Header), call: c, watch: w, body: resp.Body}
	w.Progress()
	if err := r.check(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (c *Call) send(w *watch) (*http.Response, error) {
	connect, first := orDefault(c.Timeouts.Connect, defaultConnect), orDefault(c.Timeouts.FirstByte, c.Timeouts.idle())
	connecting := w.timer(connect, phaseConnect)
	waiting := w.timer(first, phaseFirstByte)
	defer connecting.Stop()
	defer waiting.Stop()
	waiting.Reset(first)
	// A transport that does not trace never starts the connect timer, so it does not end the call
	// of a fake one.
	ctx := httptrace.WithClientTrace(w.ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			w.traced.Store(true)
			connecting.Reset(connect)
		},
		GotConn: func(httptrace.GotConnInfo) { connecting.Stop() },
		WroteRequest: func(wrote httptrace.WroteRequestInfo) {
			if wrote.Err == nil {
				w.wrote.Store(true)
			}
		},
	})
	req, err := http.NewRequestWithContext(ctx, cmp.Or(c.Method, http.MethodPost), c.URL, nil)
	if err != nil {
		return nil, c.fail(llm.ErrConfiguration, "bad URL %s: %v", safeURL(c.URL), unwrapURL(err))
	}
	for name, values := range c.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	tracecontext.SetHeader(ctx, req.Header)
	req.Body, req.ContentLength = c.body()
	req.GetBody = func() (io.ReadCloser, error) {
		body, _ := c.body()
		return body, nil
	}
	client := *cmp.Or(c.Client, new(http.Client))
	client.Transport = cmp.Or(client.Transport, proxied.Transport())
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		e := w.failure(unwrapURL(err), false)
		e.Unsent = w.traced.Load() && !w.wrote.Load()
		return nil, e
	}
	return resp, nil
}

// body returns a reader of the whole body, and its size.
func (c *Call) body() (io.ReadCloser, int64) {
	var size int64
	segments := make([]io.Reader, len(c.Body))
	for i, b := range c.Body {
		size += int64(len(b))
		segments[i] = bytes.NewReader(b)
	}
	// net/http looks for more at the end of a body, and a reader with a method WriteTo would
	// allocate a buffer for that.
	return io.NopCloser(struct{ io.Reader }{io.MultiReader(segments...)}), size
}

// check returns an error for an unsuccessful response, with the reason from its body.
func (r *Response) check() error {
	if r.Status >= 200 && r.Status < 300 {
		return r.recognize()
	}
	return r.Failure(r.errorBody())
}

// errorBody reads the start of an error's body. It ignores read errors, because there already is an
// error.
func (r *Response) errorBody() []byte {
	b, _ := io.ReadAll(io.LimitReader(timedBody{r}, maxErrorBody))
	return b
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d < 0 {
		return never
	}
	return cmp.Or(d, otherwise)
}

// safeURL returns a URL without the parts that may be secret: user, password, query.
func safeURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the given URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// unwrapURL returns the cause of a URL error, because the messages here name the URL themselves, in
// its safe form.
func unwrapURL(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}
