package api_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// peer listens on loopback and passes every connection to talk, which may keep it until the test
// ends.
func peer(t *testing.T, talk func(c net.Conn)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			all.Go(func() { talk(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return l.Addr().String()
}

// after returns a peer that reads a request, writes the beginning of a response, and then sends
// nothing more.
func after(begin string) func(c net.Conn) {
	return func(c net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		_, _ = io.WriteString(c, begin)
	}
}

const (
	okStream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	okJSON   = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
)

// TestI9_SilentServers uses servers on loopback that stop sending at some point: the idle timeout
// alone ends the call.
func TestI9_SilentServers(t *testing.T) {
	for name, c := range map[string]struct {
		talk   func(c net.Conn)
		url    string // with %s for the address; a plain one unless set
		proxy  bool   // the peer is a proxy
		body   int
		status error // the kind by the response's status, if it has one
	}{
		"nothing is read":              {talk: func(net.Conn) {}, body: 16 << 20},
		"no answer":                    {talk: after("")},
		"half a status line":           {talk: after("HTTP/1.1 20")},
		"half a header":                {talk: after("HTTP/1.1 200 OK\r\nContent-Ty")},
		"early hints and nothing else": {talk: after("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")},
		"headers alone":                {talk: after(okStream)},
		"headers without a type":       {talk: after("HTTP/1.1 200 OK\r\n\r\n")},
		"half a line":                  {talk: after(okStream + "data: 1\n\ndata: {")},
		"an event that does not end":   {talk: after(okStream + "data: 1\n\ndata: 2\n")},
		"half of a JSON answer":        {talk: after(okJSON + `{"a":`)},
		"a page": {talk: after("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>"),
			status: llm.ErrServer},
		"an error's headers alone": {talk: after("HTTP/1.1 500 X\r\nContent-Length: 9\r\n\r\n"),
			status: llm.ErrServer},
		"half of an error": {talk: after("HTTP/1.1 429 X\r\nContent-Length: 900\r\n\r\n{\"error\":"),
			status: llm.ErrRateLimit},
		"a redirect that does not end": {talk: after("HTTP/1.1 307 X\r\nLocation: /b\r\nContent-Length: 9\r\n\r\n"),
			status: llm.ErrConfiguration},
		"no TLS handshake":              {talk: func(net.Conn) {}, url: "https://%s"},
		"a proxy that does not connect": {talk: after(""), url: "https://model.test", proxy: true},
		"a proxy without an answer":     {talk: after(""), url: "http://model.test", proxy: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := peer(t, c.talk)
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			if c.proxy {
				transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: addr})
			}
			target := strings.ReplaceAll(c.url, "%s", addr)
			if target == "" {
				target = "http://" + addr
			}
			request := call(&http.Client{Transport: transport}, target)
			request.Timeouts = api.Timeouts{Idle: 200 * time.Millisecond}
			request.Body = append(request.Body, make([]byte, c.body))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // fails if silence goes unnoticed
			defer cancel()
			_, err := read(ctx, request)
			// On a busy machine the time may be over before the beginning of the response has
			// arrived.
			if !errors.Is(err, llm.ErrTimeout) && (c.status == nil || !errors.Is(err, c.status)) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestI9_SlowServers uses servers that send something forever, but nothing of the response.
func TestI9_SlowServers(t *testing.T) {
	drip := func(begin, again string) func(c net.Conn) {
		return func(c net.Conn) {
			after(begin)(c)
			for {
				time.Sleep(7 * time.Second) // in the bubble
				if _, err := io.WriteString(c, again); err != nil {
					return
				}
			}
		}
	}
	for name, c := range map[string]struct {
		talk func(c net.Conn)
		kind error
	}{
		"a header":                     {drip("HTTP/1.1 200 OK\r\nX: ", "x"), llm.ErrTimeout},
		"early hints":                  {drip("", "HTTP/1.1 103 Early Hints\r\n\r\n"), llm.ErrTimeout},
		"comments":                     {drip(okStream, ": I am here\n\n"), llm.ErrTimeout},
		"fields without a meaning":     {drip(okStream, "x: y\n"), llm.ErrTimeout},
		"one line":                     {drip(okStream+"data: ", "x"), llm.ErrTimeout},
		"lines of one event":           {drip(okStream+"data: 1\n\n", "data: x\n"), llm.ErrTimeout},
		"white space before the form":  {drip("HTTP/1.1 200 OK\r\n\r\n", "\n"), llm.ErrTimeout},
		"white space in place of JSON": {drip(okJSON, "\n"), llm.ErrTimeout},
		"JSON":                         {drip(okJSON+"{", "1"), llm.ErrTimeout},
		"an error":                     {drip("HTTP/1.1 500 X\r\nContent-Type: text/plain\r\n\r\n", "x"), llm.ErrServer},
		"a redirect":                   {drip("HTTP/1.1 307 X\r\nLocation: /b\r\n\r\n", "x"), llm.ErrConfiguration},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var talking sync.WaitGroup
				defer talking.Wait()
				client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
					DialContext: func(context.Context, string, string) (net.Conn, error) {
						here, there := net.Pipe()
						talking.Go(func() {
							c.talk(there)
							there.Close()
						})
						return here, nil
					}}}
				request := call(client, "http://x.test")
				request.Timeouts.Idle = time.Minute
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				begin := time.Now()
				_, err := read(ctx, request)
				// The headers and the body have separate time limits. Both pass in the bubble.
				if took := time.Since(begin); !errors.Is(err, c.kind) || took > 2*time.Minute {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}

// A flood ends too: a body that is no response is read only for a while.
func TestI9_Floods(t *testing.T) {
	for name, c := range map[string]struct {
		begin, again string
		kind         error
		final        bool
	}{
		"comments":       {okStream, ": I am here\n\n", llm.ErrStream, true},
		"empty events":   {okStream, "data: {}\n\n", llm.ErrStream, true},
		"one line":       {okStream + "data: ", "x", llm.ErrStream, true},
		"white space":    {okJSON, "\n\n\n\n", llm.ErrStream, true},
		"JSON":           {okJSON + "[", "1,", llm.ErrStream, true},
		"an error":       {"HTTP/1.1 500 X\r\n\r\n", "x", llm.ErrServer, false},
		"a page":         {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<", "x", llm.ErrServer, false},
		"a redirect":     {"HTTP/1.1 307 X\r\nLocation: /b\r\n\r\n", "x", llm.ErrConfiguration, true},
		"hints":          {"", "HTTP/1.1 103 Early Hints\r\n\r\n", llm.ErrNetwork, false},
		"a header":       {"HTTP/1.1 200 OK\r\nX: ", "x", llm.ErrNetwork, false},
		"a chunk's size": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0", llm.ErrStream, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			piece := []byte(strings.Repeat(c.again, 32<<10/len(c.again)))
			addr := peer(t, func(conn net.Conn) {
				after(c.begin)(conn)
				for {
					if _, err := conn.Write(piece); err != nil {
						return
					}
				}
			})
			transport := &http.Transport{DisableKeepAlives: true}
			request := call(&http.Client{Transport: transport}, "http://"+addr)
			request.MaxBody = 4 << 20
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := read(ctx, request)
			wantKind(t, err, c.kind, !c.final)
		})
	}
}

// An event, and a response that is one JSON value, are cut off for good at a certain length.
func TestI9_LongerThanAnyAnswer(t *testing.T) {
	for name, begin := range map[string]string{"an event": okStream + "data: ", "a JSON answer": okJSON + "["} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t.Context(), call(raw(t, begin+strings.Repeat("1", 2*api.MaxContent+1<<16)),
				"http://x.test"))
			if e := wantKind(t, err, llm.ErrStream, false); !strings.Contains(e.Message, "longer than 32 MiB") {
				t.Error(e)
			}
		})
	}
}

// TestI17_EncodedBodies has bodies in encodings that nobody asked for, and ones that are not in the
// encoding that their header names.
func TestI17_EncodedBodies(t *testing.T) {
	for _, c := range []struct {
		encoding, body string
		want           string // a part of the error
		retryable      bool
	}{
		{"br", "\x1b\x05\x00\xf8\x8d", "answers in the encoding br", false},
		{"zstd", "data: 1\n\n", "", false},
		{"identity", "1\n", "", false},
		{"gzip", "data: 1\n\ndata: 2\n\n", "gzip: invalid header", true},
	} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", c.encoding)
			io.WriteString(w, c.body)
		})
		_, err := read(t.Context(), call(client, "http://x.test"))
		if c.want == "" {
			if err != io.EOF {
				t.Errorf("%s: %v", c.encoding, err)
			}
			continue
		}
		e := wantKind(t, err, llm.ErrStream, c.retryable)
		if !strings.Contains(e.Message, c.want) || e.Undecoded != c.retryable {
			t.Errorf("%s: %+v", c.encoding, e)
		}
	}
}

// Servers and proxies omit the content type or set a wrong one; the first bytes of the response
// decide.
func TestI17_FormByContent(t *testing.T) {
	const stream, whole, page = "data: 1\n\ndata: 2\n\n", `{"x":1}`, "<html>"
	for _, c := range []struct {
		kind, body string
		want       string // the events, the JSON, or nothing where it is refused
	}{
		{"", stream, "1 2"}, {"", "\xEF\xBB\xBF" + stream, "1 2"}, {"", ": hello\n\n" + stream, "1 2"},
		{"", ":\n" + stream, "1 2"},
		{"", "event: a\n" + stream, "1 2"}, {"", "retry: 5\n" + stream, "1 2"}, {"", "id: 5\n" + stream, "1 2"},
		{"", "x: 5\n" + stream, "1 2"},
		{"", "\n\n" + stream, "1 2"}, {"text/plain", stream, "1 2"}, {"application/octet-stream", stream, "1 2"},
		{"text/html; charset=utf-8", stream, "1 2"}, {"application/json", stream, "1 2"},
		{"application/x-ndjson", stream, "1 2"},
		{"text/event-stream", stream, "1 2"}, {"text/event-stream", "x\n" + stream, "1 2"}, {"(?)", stream, "1 2"},
		{"text/event-stream", whole, whole}, {"", whole, whole}, {"", "\n\n\n" + whole, whole},
		{"text/plain", whole, whole},
		{"application/json", " [1]", "[1]"}, {"application/json", "1", "1"}, {"(?)", whole, whole},
		{"text/html", page, ""}, {"", page, ""}, {"text/plain", "Log in.", ""}, {"application/octet-stream", "\x00\x01",
			""},
	} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil // otherwise net/http would set one
			if c.kind != "" {
				w.Header().Set("Content-Type", c.kind)
			}
			io.WriteString(w, c.body)
		})
		resp, err := call(client, "http://x.test").Do(t.Context())
		if c.want == "" {
			if e := wantKind(t, err, llm.ErrServer, true); e.Status != 200 || string(e.Raw) != c.body {
				t.Errorf("%q %q: %+v", c.kind, c.body, e)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q %q: %v", c.kind, c.body, err)
			continue
		}
		var got []byte
		for err == nil && !resp.Whole {
			ev, end := resp.Next()
			if err = end; err == nil {
				got = append(append(got, ev.Data...), ' ')
			}
		}
		if resp.Whole {
			got, err = resp.ReadAll()
		}
		if text := strings.TrimSpace(string(got)); text != c.want || err != nil && err != io.EOF {
			t.Errorf("%q %q: %q, %v", c.kind, c.body, text, err)
		}
		resp.Close()
	}
}
