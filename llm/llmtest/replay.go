package llmtest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// ReplayOptions configure how a [Replayer] compares requests.
type ReplayOptions struct {
	// IgnoreBody compares only method and path.
	IgnoreBody bool
}

// Replayer is an [http.RoundTripper] that responds with what a [Recorder] recorded, in the order of the requests. A request that
// differs from the recorded one in method, path, query or body is an error that shows the first difference; secrets and the white
// space of JSON do not count. A Replayer is safe for concurrent use.
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
		return nil, fmt.Errorf("llmtest: %s has %d exchanges, and this is one more: %s %s", r.path, len(r.list), got.Method, got.Path)
	}
	x := r.list[r.at]
	if err := r.compare(&x.Request, &got); err != nil {
		return nil, fmt.Errorf("llmtest: request %d is not the one in %s: %w", r.at+1, r.path, err)
	}
	r.at++
	if x.Response == nil {
		return nil, errors.New(x.Error)
	}
	return x.Response.http(req)
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
	at := 0
	for at < min(len(recorded), len(came)) && recorded[at] == came[at] {
		at++
	}
	return fmt.Errorf("the bodies differ from byte %d on: recorded was %s, got %s", at, around(recorded, at), around(came, at))
}

// around returns the part of a text around a place.
func around(text string, at int) string {
	const before, after = 40, 80
	from, to := max(at-before, 0), min(at+after, len(text))
	shown := strings.ToValidUTF8(text[from:to], "")
	if from > 0 {
		shown = "..." + shown
	}
	if to < len(text) {
		shown += "..."
	}
	return "`" + shown + "`"
}

// http returns the recorded response.
func (a *recordedResponse) http(req *http.Request) (*http.Response, error) {
	pieces, err := a.unpack()
	if err != nil {
		return nil, err
	}
	end := io.EOF
	switch a.Error {
	case "":
	case io.ErrUnexpectedEOF.Error():
		end = io.ErrUnexpectedEOF
	default:
		end = errors.New(a.Error)
	}
	header := a.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{Status: fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)), StatusCode: a.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, ContentLength: -1, Request: req,
		Body: &playback{pieces: pieces, end: end}}, nil
}

// playback is a body that is read in pieces.
type playback struct {
	pieces [][]byte
	end    error
}

// Read implements io.Reader. It returns at most one piece.
func (p *playback) Read(b []byte) (int, error) {
	for len(p.pieces) > 0 {
		n := copy(b, p.pieces[0])
		p.pieces[0] = p.pieces[0][n:]
		if len(p.pieces[0]) == 0 {
			p.pieces = p.pieces[1:]
		}
		if n > 0 || len(b) == 0 {
			return n, nil
		}
	}
	return 0, p.end
}

// Close implements io.Closer.
func (p *playback) Close() error {
	p.pieces, p.end = nil, http.ErrBodyReadAfterClose
	return nil
}
