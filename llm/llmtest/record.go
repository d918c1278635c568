package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing/iotest"
)

// Recorder is an [http.RoundTripper] that records the traffic through it, for a [Replayer] to
// replay without a network. It makes one request at a time, and returns a response when all of it
// has arrived. The file is a sequence of JSON values, one for each exchange; bodies are text.
//
// No secret is written to disk. Only headers that tell nothing about an account are recorded. The
// values of headers and query parameters with keys, cookies or organizations, and everything that
// looks like a vendor's key or organization id, are replaced by REDACTED wherever they occur, also
// in bodies. Values of less than 6 bytes are replaced only where they stand alone.
type Recorder struct {
	next http.RoundTripper
	mu   sync.Mutex
	file *os.File
}

// exchange is one request with its response, as it is recorded in a file.
type exchange struct {
	Request string `json:"request"` // method, path and query
	Body    string `json:"body,omitempty"`

	Status   int         `json:"status,omitempty"` // 0 if there was no response
	Header   http.Header `json:"header,omitempty"`
	Response string      `json:"response,omitempty"`
	// Error is that of the transport, or the one that the response's body ended with.
	Error string `json:"error,omitempty"`
}

// NewRecorder returns a recorder that creates or truncates the file. Next makes the requests; nil
// means http.DefaultTransport.
func NewRecorder(path string, next http.RoundTripper) (*Recorder, error) {
	if next == nil {
		next = http.DefaultTransport
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("llmtest: %w", err)
	}
	return &Recorder{next: next, file: f}, nil
}

// RoundTrip implements [http.RoundTripper].
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	sent := req.Clone(req.Context()) // a round tripper must not change the request
	sent.Body = io.NopCloser(bytes.NewReader(body))
	resp, err := r.next.RoundTrip(sent)
	s := secretsOf(req)
	x := s.request(req, body)
	if err != nil {
		x.Error = s.scrub(err.Error())
		return nil, errors.Join(err, r.write(x))
	}
	text, err := io.ReadAll(resp.Body)
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	s.learn(resp.Header)
	x.Status, x.Header, x.Response = resp.StatusCode, s.header(resp.Header), s.scrub(string(text))
	if err != nil {
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(text), iotest.ErrReader(err)))
		x.Error = s.scrub(err.Error())
	}
	return resp, r.write(x)
}

// readBody reads a request's body and closes it, as round trippers must.
func readBody(req *http.Request) ([]byte, error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(req.Body)
	return body, errors.Join(err, req.Body.Close())
}

func (r *Recorder) write(x *exchange) error {
	enc := json.NewEncoder(r.file)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(x); err != nil {
		return fmt.Errorf("llmtest: recording: %w", err)
	}
	return nil
}

// Close closes the file.
func (r *Recorder) Close() error { return r.file.Close() }

// Replayer is an [http.RoundTripper] that responds with what a [Recorder] recorded, in the order of
// the requests. A request that differs from the recorded one in method, path, query or body is an
// error that shows the first difference; secrets do not count. A Replayer is safe for concurrent
// use.
type Replayer struct {
	path string

	mu   sync.Mutex
	list []exchange
	at   int
}

// NewReplayer returns a replayer of a recording.
func NewReplayer(path string) (*Replayer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("llmtest: %w", err)
	}
	defer f.Close()
	r := &Replayer{path: path}
	for dec := json.NewDecoder(f); ; {
		var x exchange
		if err := dec.Decode(&x); errors.Is(err, io.EOF) {
			return r, nil
		} else if err != nil {
			return nil, fmt.Errorf("llmtest: %s: exchange %d: %w", path, len(r.list)+1, err)
		}
		r.list = append(r.list, x)
	}
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
	got := secretsOf(req).request(req, body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == len(r.list) {
		return nil, fmt.Errorf("llmtest: %s has %d exchanges, and this is one more: %s", r.path, r.at, got.Request)
	}
	x := r.list[r.at]
	if recorded, came := x.Request+"\n"+x.Body, got.Request+"\n"+got.Body; recorded != came {
		return nil, fmt.Errorf("llmtest: request %d is not the one in %s: they differ %s", r.at+1, r.path,
			difference(recorded, came))
	}
	r.at++
	if x.Status == 0 {
		return nil, errors.New(x.Error)
	}
	answer := io.Reader(strings.NewReader(x.Response))
	if x.Error != "" {
		answer = io.MultiReader(answer, iotest.ErrReader(errors.New(x.Error)))
	}
	header := x.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: x.Status, Status: fmt.Sprint(x.Status, " ", http.StatusText(x.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, ContentLength: -1, Request: req,
		Body: io.NopCloser(answer)}, nil
}
