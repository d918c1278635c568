package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"unicode/utf8"
)

// Recorder is an [http.RoundTripper] that records the traffic through it, for a [Replayer] to
// replay without a network. The file is a sequence of JSON values, one for each exchange, written
// when its response has been read or abandoned. A Recorder is safe for concurrent use.
//
// No secret is written to disk. Only headers that tell nothing about an account are recorded. The
// values of headers and query parameters with keys, cookies or organizations, and everything that
// looks like a vendor's key or organization id, are replaced by REDACTED wherever they occur, also
// in bodies. Values of less than 6 bytes are replaced only where they stand alone.
type Recorder struct {
	next http.RoundTripper

	mu    sync.Mutex
	file  *os.File
	count int
	err   error
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
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	sent := req.Clone(req.Context()) // a round tripper must not change the request
	sent.Body = io.NopCloser(bytes.NewReader(body))
	r.mu.Lock()
	r.count++
	s := newScrubber(req)
	x := &exchange{N: r.count, Request: s.request(req, body)}
	r.mu.Unlock()
	resp, err := r.next.RoundTrip(sent)
	if err != nil {
		x.Error = s.text(err.Error())
		return nil, errors.Join(err, r.write(x))
	}
	s.learn(resp.Header)
	x.Response = &recordedResponse{Status: resp.StatusCode, Header: s.header(resp.Header)}
	resp.Body = &tape{ReadCloser: resp.Body, done: func(body []byte, err error) error {
		if text := s.text(string(body)); utf8.ValidString(text) {
			x.Response.Body = text
		} else {
			x.Response.Base64 = []byte(text)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			x.Response.Error = s.text(err.Error())
		}
		return r.write(x)
	}}
	return resp, nil
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
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(x)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		_, err = r.file.Write(b.Bytes())
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("llmtest: recording exchange %d: %w", x.N, err)
	}
	return r.err
}

// Close closes the file. It returns the first error that occurred while recording. Without an error
// the recording is complete, if all responses were closed before.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.err, r.file.Close())
}

// tape keeps what is read from a body until the body is closed.
type tape struct {
	io.ReadCloser
	done   func(body []byte, err error) error
	body   []byte
	err    error // of the body
	closed bool
}

// Read implements io.Reader.
func (t *tape) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.body = append(t.body, p[:n]...)
	if err != nil {
		t.err = err
	}
	return n, err
}

// Close implements io.Closer.
func (t *tape) Close() error {
	err := t.ReadCloser.Close()
	if !t.closed {
		t.closed = true
		err = errors.Join(err, t.done(t.body, t.err))
	}
	return err
}
