package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
	"github.com/attractor-go/attractor/tracecontext"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-secret-key"

func call(client *http.Client, url string) *api.Call {
	return &api.Call{Provider: "test", URL: url, Client: client, Header: http.Header{"X-Api-Key": {key}},
		Secrets: []string{key},
		Body:    [][]byte{[]byte(`{"a":`), nil, []byte(`1}`)}}
}

// read reads a call to its end and returns the data of its events except pings. It reports these
// events as progress.
func read(ctx context.Context, c *api.Call) (data []string, err error) {
	resp, err := c.Do(ctx)
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	for {
		ev, err := resp.Next()
		if err != nil {
			return data, err
		}
		if string(ev.Data) != "{}" {
			resp.Progress()
			data = append(data, string(ev.Data))
		}
	}
}

func wantKind(t *testing.T, err, kind error, retryable bool) *llm.Error {
	t.Helper()
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no llm.Error", err)
	}
	if e.Kind != kind || llm.Retryable(err) != retryable || e.Provider != "test" {
		t.Errorf("%v: kind %v, retryable %v, provider %q; want %v, %v", err, e.Kind, llm.Retryable(err), e.Provider,
			kind, retryable)
	}
	if strings.Contains(fmt.Sprintf("%+v %s", *e, e.Raw), key) {
		t.Errorf("the key is in the error: %+v", *e)
	}
	return e
}

func events(w http.ResponseWriter, lines ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, line := range lines {
		io.WriteString(w, line)
		http.NewResponseController(w).Flush()
	}
}

func TestRequest(t *testing.T) {
	var got *http.Request
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		events(w, "data: 1\n\n", "data: 2\n\n")
	}))
	defer srv.Close()
	data, err := read(t.Context(), call(srv.Client(), srv.URL+"/v1"))
	if err != io.EOF || strings.Join(data, " ") != "1 2" {
		t.Fatalf("%v, %v", data, err)
	}
	if got.Method != "POST" || got.URL.Path != "/v1" || got.ContentLength != 7 || got.Header.Get("X-Api-Key") != key ||
		string(body) != `{"a":1}` {
		t.Errorf("%s %s, %d bytes, header %v, body %s", got.Method, got.URL, got.ContentLength, got.Header, body)
	}
}

// The server gets the trace context.
func TestN6_TraceInHeaders(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	var got http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		events(w, "data: 1\n\n")
	}))
	defer srv.Close()
	ctx := tracecontext.With(t.Context(), tracecontext.Fields{Parent: parent, State: "a=1"})
	if _, err := read(ctx, call(srv.Client(), srv.URL)); err != io.EOF || got.Get("Traceparent") != parent ||
		got.Get("Tracestate") != "a=1" {
		t.Errorf("%v: the header is %v", err, got)
	}
	c := call(srv.Client(), srv.URL)
	if _, err := read(t.Context(), c); err != io.EOF || got.Get("Traceparent") != "" {
		t.Errorf("%v: without a trace, the header is %v", err, got)
	}
}

// A transport sends a body again after a connection that the server had closed. It must be the
// same.
func TestBodyCanBeReplayed(t *testing.T) {
	long := bytes.Repeat([]byte("segment"), 10000)
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		first, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		again, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		second, err := io.ReadAll(again)
		if err != nil || !bytes.Equal(first, second) || int64(len(first)) != r.ContentLength {
			t.Errorf("%d bytes, then %d, of %d: %v", len(first), len(second), r.ContentLength, err)
		}
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
	})}
	c := call(client, "http://x.test")
	c.Body = [][]byte{long, {}, []byte("x"), long}
	if _, err := read(t.Context(), c); err != io.EOF {
		t.Error(err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestX7_NetworkErrors(t *testing.T) {
	dial := func(err error) *http.Client {
		return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn,
			error) {
			return nil, err
		}}}
	}
	_, err := read(t.Context(), call(dial(&net.DNSError{Err: "no such host", Name: "x.test", IsNotFound: true}),
		"http://u:"+key+"@x.test/v1?k="+key))
	e := wantKind(t, err, llm.ErrNetwork, true)
	if want := "cannot reach http://x.test/v1: "; !strings.HasPrefix(e.Message, want) || !strings.Contains(e.Message,
		"no such host") {
		t.Errorf("message %q, want %q and the reason", e.Message, want)
	}

	tls := httptest.NewUnstartedServer(nil)
	tls.Config.ErrorLog = quiet
	tls.StartTLS()
	defer tls.Close()
	strict := &http.Client{Transport: &http.Transport{}}
	_, err = read(t.Context(), call(strict, tls.URL))
	wantKind(t, err, llm.ErrNetwork, false) // the certificate will be just as invalid next time

	// A server of this machine that does not run has to be started; another one may be starting.
	_, err = read(t.Context(), call(strict, "http://127.0.0.1:1"))
	if e = wantKind(t, err, llm.ErrNetwork, true); !e.Absent {
		t.Errorf("%v: the server is there", err)
	}
	refused := &net.OpError{Op: "dial", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80},
		Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	_, err = read(t.Context(), call(dial(refused), "http://x.test"))
	if e = wantKind(t, err, llm.ErrNetwork, true); e.Absent {
		t.Errorf("%v: it is a server of this machine", err)
	}

	// A server that hangs up, or does not speak HTTP, can be reached.
	_, err = read(t.Context(), call(raw(t, "H"), "http://x.test/v1"))
	e = wantKind(t, err, llm.ErrNetwork, true)
	if want := "no valid response from http://x.test/v1: "; !strings.HasPrefix(e.Message, want) {
		t.Errorf("message %q, want %q and the reason", e.Message, want)
	}

	_, err = read(t.Context(), call(nil, "http://[::1"))
	wantKind(t, err, llm.ErrConfiguration, false)
}

// raw returns a client whose server sends fixed bytes on each connection and closes it.
func raw(t *testing.T, answer string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string,
		string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			if answer != "" {
				req, err := http.ReadRequest(newBuf(there))
				if err == nil {
					_, err = io.Copy(io.Discard, req.Body)
				}
				if err != nil {
					t.Error(err)
				}
			}
			io.WriteString(there, answer)
		}()
		return here, nil
	}}}
}

func TestBrokenBodies(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	for name, c := range map[string]struct {
		answer string
		kind   error
	}{
		"end before headers":    {"", llm.ErrNetwork},
		"half a header":         {"HTTP/1.1 200 OK\r\nConte", llm.ErrNetwork},
		"no HTTP":               {"SSH-2.0-OpenSSH_9.6\r\n", llm.ErrNetwork},
		"cut chunk":             {head + "Transfer-Encoding: chunked\r\n\r\nff\r\ndata: 1\n\n", llm.ErrStream},
		"garbage for a chunk":   {head + "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\nzz\r\n", llm.ErrStream},
		"short content length":  {head + "Content-Length: 100\r\n\r\ndata: 1\n\n", llm.ErrStream},
		"short error body":      {"HTTP/1.1 500 X\r\nContent-Length: 100\r\n\r\noops", llm.ErrServer},
		"headers of a megabyte": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 11<<20), llm.ErrNetwork},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(t.Context(), call(raw(t, c.answer), "http://x.test"))
			wantKind(t, err, c.kind, true)
		})
	}
}

func TestHTTP2Reset(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("not HTTP/2: %s", r.Proto)
		}
		events(w, "data: 1\n\n")
		panic(http.ErrAbortHandler)
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = quiet
	srv.StartTLS()
	defer srv.Close()
	data, err := read(t.Context(), call(srv.Client(), srv.URL))
	wantKind(t, err, llm.ErrStream, true)
	if len(data) > 1 {
		t.Errorf("%v", data)
	}
}

func TestWhole(t *testing.T) {
	for _, kind := range []string{"application/json", "application/json; charset=utf-8", "application/problem+json"} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, `{"x":1}`)
		})
		resp, err := call(client, "http://x.test").Do(t.Context())
		if err != nil {
			t.Fatal(kind, err)
		}
		body, err := resp.ReadAll()
		if !resp.Whole || string(body) != `{"x":1}` || err != nil {
			t.Errorf("%s: whole %v, %s, %v", kind, resp.Whole, body, err)
		}
		resp.Close()
	}
	for _, kind := range []string{"text/html", "text/plain; charset=utf-8", "application/octet-stream"} {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, "<html>"+key)
		})
		_, err := read(t.Context(), call(client, "http://x.test"))
		if e := wantKind(t, err, llm.ErrServer, true); e.Status != 200 || len(e.Raw) == 0 {
			t.Errorf("%+v", e)
		}
	}
}

// wait pauses a handler until the time is over or the client has disconnected.
func wait(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

func TestTimers(t *testing.T) {
	byteEvery := func(d time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, b := range []byte("data: a line that comes in very slowly\n\ndata: another one\n\n") {
				w.Write([]byte{b})
				http.NewResponseController(w).Flush()
				wait(r, d)
			}
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		kind    error // io.EOF for a good end
		after   time.Duration
		events  int
	}{
		"silence before the headers": {func(w http.ResponseWriter, r *http.Request) { wait(r, time.Hour) },
			llm.ErrTimeout, 300 * time.Second, 0},
		"silence after the headers": {func(w http.ResponseWriter, r *http.Request) {
			events(w, "data: 1\n\n")
			wait(r, time.Hour)
		}, llm.ErrStream, 300 * time.Second, 1},
		"pings only": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				events(w, "event: ping\ndata: {}\n\n", ": ping\n\n")
				wait(r, 7*time.Second)
			}
		}, llm.ErrStream, 300 * time.Second, 0},
		"pings between data": {func(w http.ResponseWriter, r *http.Request) {
			for range 5 {
				events(w, "event: ping\ndata: {}\n\n")
				wait(r, 200*time.Second)
				events(w, "data: 1\n\n")
			}
		}, io.EOF, 1000 * time.Second, 5},
		"slow error body": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			events(w, "oops")
			wait(r, time.Hour)
		}, llm.ErrServer, 300 * time.Second, 0},
		"a byte a second": {byteEvery(time.Second), io.EOF, 59 * time.Second, 2},
		"a byte a minute": {byteEvery(time.Minute), llm.ErrStream, 300 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // fails if a stall goes unnoticed
				defer cancel()
				data, err := read(ctx, call(serve(t, c.handler), "http://x.test"))
				if !errors.Is(err, c.kind) || len(data) != c.events {
					t.Errorf("%v after %q, want %v after %d events", err, data, c.kind, c.events)
				}
				if took := time.Since(begin); took != c.after {
					t.Errorf("took %v, want %v", took, c.after)
				}
				if c.kind == llm.ErrStream && !errors.Is(err, llm.ErrTimeout) {
					t.Errorf("%v is no timeout", err)
				}
			})
		})
	}
}

func TestConnectTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn,
			error) {
			// like a net.Dialer: Go's transport continues a dial when its request has ended, for
			// another request
			select {
			case <-time.After(30 * time.Second):
				return nil, errors.New("i/o timeout")
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}}}
		defer time.Sleep(time.Minute) // in the bubble, so that the dials end
		begin := time.Now()
		_, err := read(t.Context(), call(client, "http://x.test"))
		wantKind(t, err, llm.ErrTimeout, true)
		if took := time.Since(begin); took != 10*time.Second {
			t.Errorf("took %v", took)
		}
		c := call(client, "http://x.test")
		c.Timeouts = api.Timeouts{Connect: -1, FirstByte: 20 * time.Second}
		_, err = read(t.Context(), c)
		if e := wantKind(t, err, llm.ErrTimeout, true); !strings.Contains(e.Message, "20s") {
			t.Error(e)
		}
	})
}

var errEnough = errors.New("enough")

func TestAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/late" {
				events(w, "data: 1\n\n")
			}
			<-r.Context().Done()
		})
		for path, events := range map[string]int{"/": 0, "/late": 1} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(errEnough) })
			data, err := read(ctx, call(client, "http://x.test"+path))
			e := wantKind(t, err, llm.ErrAborted, false)
			if !errors.Is(e, errEnough) || len(data) != events {
				t.Errorf("%s: %v after %d events", path, err, len(data))
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := read(ctx, call(client, "http://x.test/")); !errors.Is(err, llm.ErrAborted) ||
			!errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// A drained body leaves its connection to the next call. A body that does not end is given up soon.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			events(w, "data: 1\n\n")
			if r.URL.Path == "/lingers" {
				<-r.Context().Done()
			}
		})
		transport := client.Transport.(*http.Transport)
		dial := transport.DialContext
		transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials++
			return dial(ctx, network, addr)
		}
		for _, path := range []string{"/", "/", "/lingers", "/"} {
			resp, err := call(client, "http://x.test"+path).Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := resp.Next(); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			resp.Drain()
			if took := time.Since(begin); took > 100*time.Millisecond {
				t.Errorf("%s: draining took %v", path, took)
			}
			resp.Close()
			synctest.Wait()
		}
		if dials != 2 {
			t.Errorf("%d connections, want 2: one for the first three calls, one after the call that lingered", dials)
		}
	})
}
