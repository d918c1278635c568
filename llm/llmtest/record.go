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
)

// Recorder is an [http.RoundTripper] that writes down what goes over it, for a [Replayer] to play without a network. The file
// is a sequence of JSON values, one an exchange, each written when its answer has been read or given up. It is safe for
// concurrent use.
//
// No secret touches the disk. Of the headers, only those are written that say nothing about an account. The values of the
// others that hold keys, cookies or organizations, of query parameters that do, and whatever looks like a vendor's key or
// organization id are replaced by REDACTED wherever they stand, bodies included; values of less than 6 bytes only where they are
// the whole.
type Recorder struct {
	next http.RoundTripper

	mu    sync.Mutex
	file  *os.File
	count int
	err   error
}

// NewRecorder creates the file, or empties it. Next does the work; nil means http.DefaultTransport.
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
	x.Response = &answer{Status: resp.StatusCode, Header: s.header(resp.Header)}
	resp.Body = &tape{ReadCloser: resp.Body, done: func(chunks [][]byte, err error) error {
		x.Response.Body, x.Response.Base64 = s.chunks(chunks)
		if err != nil && !errors.Is(err, io.EOF) {
			x.Response.Error = s.text(err.Error())
		}
		return r.write(x)
	}}
	return resp, nil
}

// readBody takes a request's body. It is closed, as the contract of round trippers demands.
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

// Close closes the file. The error is the first that occurred while recording: a recording that closes without one is whole,
// if all answers were closed before.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.err, r.file.Close())
}

// tape keeps what is read from a body, as it comes, until the body is closed.
type tape struct {
	io.ReadCloser
	done func(chunks [][]byte, err error) error

	mu     sync.Mutex
	chunks [][]byte
	err    error // that the body ended with
	closed bool
}

// Read implements io.Reader.
func (t *tape) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed { // what comes now is the end that the closing made
		return n, err
	}
	if n > 0 {
		t.chunks = append(t.chunks, bytes.Clone(p[:n]))
	}
	if err != nil {
		t.err = err
	}
	return n, err
}

// Close implements io.Closer.
func (t *tape) Close() error {
	t.mu.Lock()
	first := !t.closed
	t.closed = true
	chunks, ended := t.chunks, t.err
	t.mu.Unlock()
	err := t.ReadCloser.Close()
	if first {
		err = errors.Join(err, t.done(chunks, ended))
	}
	return err
}
