package llmtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing/iotest"
)

// ReplayOptions configure how a [Replayer] compares requests.
type ReplayOptions struct {
	// IgnoreBody compares only method and path.
	IgnoreBody bool
}

// Replayer is an [http.RoundTripper] that responds with what a [Recorder] recorded, in the order of
// the requests. A request that differs from the recorded one in method, path, query or body is an
// error that shows the first difference; secrets and the white space of JSON do not count. A
// Replayer is safe for concurrent use.
type Replayer struct {
	path string
	o    ReplayOptions

	mu   sync.Mutex
	list []*exchange
	at   int
}

// NewReplayer returns a replayer of a recording.
func NewReplayer(path string, o ReplayOptions) (*Replayer, error) {
	list, err := load(path)
	if err != nil {
		return nil, fmt.Errorf("llmtest: %w", err)
	}
	return &Replayer{path: path, o: o, list: list}, nil
}

// Left returns the number of exchanges that have not been replayed.
func (r *Replayer) Left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list) - r.at
}

// RoundTrip implements [http.RoundTripper]. A request that does not match takes no exchange.
func (r *Replayer) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	got := newScrubber(req).request(req, body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == len(r.list) {
		return nil, fmt.Errorf("llmtest: %s has %d exchanges, and this is one more: %s %s", r.path, len(r.list),
			got.Method, got.Path)
	}
	x := r.list[r.at]
	if err := r.compare(&x.Request, &got); err != nil {
		return nil, fmt.Errorf("llmtest: request %d is not the one in %s: %w", r.at+1, r.path, err)
	}
	r.at++
	if x.Response == nil {
		return nil, errors.New(x.Error)
	}
	return x.Response.http(req), nil
}

func (r *Replayer) compare(want, got *recordedRequest) error {
	if want.Method+" "+want.Path != got.Method+" "+got.Path {
		return fmt.Errorf("recorded was %s %s, got %s %s", want.Method, want.Path, got.Method, got.Path)
	}
	if r.o.IgnoreBody {
		return nil
	}
	recorded, err := want.compact()
	if err != nil {
		return err
	}
	came, err := got.compact()
	if err != nil || recorded == came {
		return err
	}
	return fmt.Errorf("the bodies differ %s", difference(recorded, came))
}

// http returns the recorded response.
func (a *recordedResponse) http(req *http.Request) *http.Response {
	body := io.MultiReader(strings.NewReader(a.Body), bytes.NewReader(a.Base64))
	if a.Error != "" {
		body = io.MultiReader(body, iotest.ErrReader(errors.New(a.Error)))
	}
	header := http.Header{}
	maps.Copy(header, a.Header)
	return &http.Response{Status: fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)), StatusCode: a.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, ContentLength: -1, Request: req,
		Body: io.NopCloser(body)}
}
