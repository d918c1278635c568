package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/web"
)

// echo is a session that does nothing.
type echo struct{ lines int }

func (e *echo) SessionID() string { return "own" }

func (e *echo) Do(context.Context, []byte) json.RawMessage {
	e.lines++
	return json.RawMessage(`{"ok":true}`)
}

func (e *echo) Live(context.Context) iter.Seq[json.RawMessage] {
	return func(func(json.RawMessage) bool) {}
}

// Arbitrary requests get an answer of the server, and without its token and origin none that says
// or does something.
func FuzzN5_Requests(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n",
		"GET /api/sessions HTTP/1.1\r\nHost: 127.0.0.1:7\r\nAuthorization: Bearer TOKEN\r\n\r\n",
		"GET /api/sessions/own/watch?first=-1 HTTP/1.1\r\nHost: localhost:7\r\nAuthorization: Bearer TOKEN\r\n\r\n",
		"GET /api/sessions/own/outputs/" + strings.Repeat("a",
			64) + "?offset=5 HTTP/1.1\r\nHost: [::1]:7\r\nAuthorization: Bearer TOKEN\r\n\r\n",
		"GET /api/sessions/..%2f..%2fx/items/0 HTTP/1.1\r\nHost: 127.0.0.1:7\r\nAuthorization: Bearer TOKEN\r\n\r\n",
		"GET /api/sessions/own/search?q=%00%ff HTTP/1.1\r\nHost: 127.0.0.1:7\r\nAuthorization: Bearer TOKEN\r\n\r\n",
		"POST /api/sessions/own/do HTTP/1.1\r\nHost: 127.0.0.1:7\r\nOrigin: http://127.0.0.1:7\r\nAuthorization: " +
			"Bearer TOKEN\r\nContent-Length: 2\r\n\r\n{}",
		"POST /api/sessions/own/do HTTP/1.1\r\nHost: 127.0.0.1:7\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n" +
			"0\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n",
		"CONNECT 127.0.0.1:7 HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n",
	} {
		f.Add(seed)
	}
	own := new(echo)
	server := web.New(web.Options{Store: journal.NewDir(f.TempDir()), Own: func(string) web.Own { return own }})
	f.Cleanup(func() {
		if err := server.Close(); err != nil {
			f.Error(err)
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	page, err := url.Parse(server.URL(l, ""))
	if err != nil {
		f.Fatal(err)
	}
	l.Close()
	token := strings.TrimPrefix(page.Fragment, "token=")
	ctx := context.WithValue(context.Background(), http.LocalAddrContextKey,
		net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7}))
	f.Fuzz(func(t *testing.T, text string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(strings.ReplaceAll(text, "TOKEN", token))))
		if err != nil {
			return // the HTTP server has refused it
		}
		before := own.lines
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r.WithContext(ctx))
		allowed := r.Header.Get("Authorization") == "Bearer "+token && strings.HasSuffix(r.Host, ":7")
		if api := strings.HasPrefix(r.URL.Path, "/api/"); api && w.Code == http.StatusOK && !allowed {
			t.Errorf("a request without the token got %s", w.Body)
		}
		if own.lines > before && (!allowed || r.Header.Get("Origin") != "http://"+r.Host ||
			r.Method != http.MethodPost) {
			t.Error("a request of somebody else had an effect")
		}
		if w.Code >= 400 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("the error is no JSON: %s", w.Body)
		}
		if w.Header().Get("Content-Security-Policy") == "" {
			t.Error("the answer does not confine the page")
		}
	})
}
