package web

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/journal"
)

// ended is a connection that says when the server has closed it.
type ended struct {
	net.Conn
	over chan struct{}
}

func (e *ended) Close() error {
	select {
	case <-e.over:
	default:
		close(e.over)
	}
	return e.Conn.Close()
}

// smallBuffers is a listener whose connections hold little that is not read. It sends the first
// ones to accepted.
type smallBuffers struct {
	net.Listener
	accepted chan *ended
}

func (l *smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	e := &ended{Conn: c, over: make(chan struct{})}
	err = c.(*net.TCPConn).SetWriteBuffer(4 << 10)
	select {
	case l.accepted <- e:
	default: // no test looks at so many
	}
	return e, err
}

// bounded serves with other limits until the end of the test.
func bounded(t *testing.T, o Options, change func(*limits)) (*Server, *smallBuffers) {
	t.Helper()
	inner, err := Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &smallBuffers{inner, make(chan *ended, 100)}
	if o.Store == nil {
		o.Store = journal.NewMemoryStore(false)
	}
	s := New(o)
	s.limits.header = await.Limit // a busy machine may take longer than a browser
	change(&s.limits)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, l
}

// dial connects to a server and writes a text.
func dial(t *testing.T, l net.Listener, text string) net.Conn {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// cut waits until the server has closed a connection.
func (l *smallBuffers) cut(t *testing.T) {
	t.Helper()
	c := <-l.accepted
	await.Receive(t, "the end of the connection", c.over)
}

// A watcher that never reads is cut off, and the session is not read for it any more.
func TestN5_WatcherThatNeverReads(t *testing.T) {
	store := journal.NewMemoryStore(false)
	if err := longsession.Write(t.Context(), store, "long", 1000); err != nil {
		t.Fatal(err)
	}
	s, l := bounded(t, Options{Store: store}, func(l *limits) { l.message = 100 * time.Millisecond })
	dial(t, l, "GET /api/sessions/long/watch HTTP/1.1\r\nHost: "+l.Addr().String()+"\r\nAuthorization: Bearer "+s.token+
		"\r\n\r\n")
	l.cut(t)
	for range maxWatchers { // there is room for all again
		select {
		case s.watching <- struct{}{}:
		case <-time.After(await.Limit):
			t.Fatal("the watcher is still there")
		}
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if users := s.hub.sessions["long"].users; users != 0 {
		t.Errorf("the session has %d users", users)
	}
}

// A client that does not end its request is cut off.
func TestN5_SlowRequests(t *testing.T) {
	for name, text := range map[string]string{
		"header": "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
		"body": "POST /api/sessions/own/do HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n" +
			"Authorization: Bearer TOKEN\r\nContent-Length: 100\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			s, l := bounded(t, Options{Own: func(string) Own { return &slowOwn{} }},
				func(l *limits) { l.header, l.answer = 100*time.Millisecond, 100*time.Millisecond })
			dial(t, l, strings.Replace(text, "TOKEN", s.token, 1))
			l.cut(t)
		})
	}
}

// The connections that are open at a time are bounded. One that is closed makes room.
func TestN5_TooManyConnections(t *testing.T) {
	const most = 3
	_, l := bounded(t, Options{}, func(l *limits) { l.connections = most })
	const request = "GET /page.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
	answered := func(c net.Conn) bool {
		var b [12]byte
		_, err := io.ReadFull(c, b[:])
		return err == nil && string(b[:]) == "HTTP/1.1 200"
	}
	var open []net.Conn
	for i := range most {
		c := dial(t, l, request)
		if open = append(open, c); !answered(c) {
			t.Fatalf("connection %d is not answered", i+1)
		}
	}
	if answered(dial(t, l, request)) {
		t.Errorf("connection %d is answered", most+1)
	}
	first := <-l.accepted
	open[0].Close()
	<-first.over
	// it is counted just after it is closed
	await.For(t, "room where a connection was closed", func() bool { return answered(dial(t, l, request)) })
}

// slowOwn is a session in which a line takes a time.
type slowOwn struct{ takes time.Duration }

func (o *slowOwn) SessionID() string { return "own" }
func (o *slowOwn) Live(context.Context) iter.Seq[json.RawMessage] {
	return func(func(json.RawMessage) bool) {}
}
func (o *slowOwn) Do(ctx context.Context, _ []byte) json.RawMessage {
	select {
	case <-ctx.Done():
		return json.RawMessage(`{"ok":false}`)
	case <-time.After(o.takes):
		return json.RawMessage(`{"ok":true}`)
	}
}

// A line may take longer than a request may take to arrive.
func TestN5_LongLines(t *testing.T) {
	const arrives = time.Second
	s, l := bounded(t, Options{Own: func(string) Own { return &slowOwn{arrives + arrives/4} }},
		func(l *limits) { l.answer = arrives })
	// a busy machine may take longer than the server waits for a request
	await.For(t, "the answer to a long line", func() bool {
		c := dial(t, l, "POST /api/sessions/own/do HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"+
			"Authorization: Bearer "+s.token+
			"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
		got, err := io.ReadAll(c)
		t.Logf("%s, %v", got, err)
		return err == nil && strings.HasSuffix(string(got), `{"ok":true}`)
	})
}

// Requests that no browser makes are refused as well, unless they name this machine.
func TestN5_RawRequests(t *testing.T) {
	s, l := bounded(t, Options{}, func(*limits) {})
	token := "\r\nAuthorization: Bearer " + s.token
	for text, want := range map[string]string{
		"GET / HTTP/1.0":          "421",
		"GET / HTTP/1.1":          "400",
		"GET / HTTP/1.1\r\nHost:": "421",
		"GET /api/sessions HTTP/1.1\r\nHost: 127.0.0.1" + token:                       "200",
		"GET /api/sessions HTTP/1.1\r\nHost: localhost.:80" + token:                   "421",
		"GET /api/sessions HTTP/1.1\r\nHost: a@127.0.0.1" + token:                     "400",
		"GET /api/sessions HTTP/1.1\r\nHost: 127.0.0.1:80:80" + token:                 "421",
		"GET /api/sessions HTTP/1.1\r\nHost: 127.0.0.1:" + token:                      "421",
		"GET /api/sessions HTTP/1.1\r\nHost: ::1" + token:                             "421",
		"GET /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example" + token: "400",
		"GET http://evil.example/api/sessions HTTP/1.1\r\nHost: 127.0.0.1" + token:    "421",
		"GET //api/sessions HTTP/1.1\r\nHost: 127.0.0.1":                              "307",
		"GET /x/../api/sessions HTTP/1.1\r\nHost: 127.0.0.1":                          "307",
		"GET /%61pi/sessions HTTP/1.1\r\nHost: 127.0.0.1":                             "401",
		"GET /api%2fsessions HTTP/1.1\r\nHost: 127.0.0.1":                             "401",
		"HEAD /api/sessions HTTP/1.1\r\nHost: 127.0.0.1":                              "401",
		"HEAD /api/sessions HTTP/1.1\r\nHost: 127.0.0.1" + token:                      "200",
		"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1":                                       "403",
		"CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1:80":                         "403",
		"GET /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nOrigin: " +
			"http://evil.example" + token: "403",
		"GET /api/sessions/%2e%2e%2fx/items/0 HTTP/1.1\r\nHost: 127.0.0.1" + token: "400",
		"GET /api/sessions/%00/watch HTTP/1.1\r\nHost: 127.0.0.1" + token:          "400",
	} {
		c := dial(t, l, text+"\r\n\r\n")
		var b [12]byte
		if _, err := io.ReadFull(c, b[:]); err != nil || string(b[9:]) != want {
			t.Errorf("%q: %s, %v, want %s", strings.Replace(text, s.token, "TOKEN", 1), b, err, want)
		}
	}
}
