package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// receiver serves the page on loopback to which the browser is sent after a login.
type receiver struct {
	URL string // to which the browser is sent
	got chan url.Values

	server  *http.Server
	serving sync.WaitGroup
	mu      sync.Mutex
	belongs func(url.Values) bool // nil if no answer is expected
}

const callbackPath = "/callback"

// listenForRedirect starts the server on a port, or on any if it is 0.
func listenForRedirect(port int) (*receiver, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp4",
		net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("cannot wait for the browser on this machine: %w", err)
	}
	r := &receiver{URL: "http://" + l.Addr().String() + callbackPath, got: make(chan url.Values, 1)}
	r.server = &http.Server{Handler: http.HandlerFunc(r.serve), ReadTimeout: 10 * time.Second,
		WriteTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	r.server.SetKeepAlivesEnabled(false)
	r.serving.Go(func() { _ = r.server.Serve(l) }) // it ends with Close
	return r, nil
}

// expect takes one answer that belongs to a login.
func (r *receiver) expect(belongs func(url.Values) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.belongs = belongs
	select {
	case <-r.got: // of an authorization that ended another way
	default:
	}
}

// serve answers a request. Any program and any web page can send one, so only the one that knows
// the login's state counts.
func (r *receiver) serve(w http.ResponseWriter, req *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if req.Method != http.MethodGet || req.URL.Path != callbackPath || "http://"+req.Host+callbackPath != r.URL {
		http.Error(w, "There is nothing here.", http.StatusNotFound)
		return
	}
	q, err := url.ParseQuery(req.URL.RawQuery)
	r.mu.Lock()
	mine := err == nil && r.belongs != nil && r.belongs(q)
	if mine {
		r.belongs = nil
		r.got <- q // there is room: one is taken for each that is expected
	}
	r.mu.Unlock()
	if !mine {
		http.Error(w, "This answer belongs to no login that is going on.", http.StatusBadRequest)
		return
	}
	// nobody needs it
	_, _ = io.WriteString(w, "The answer has arrived. Go back to the terminal; you can close this page.\n")
}

// Close ends the server. An answer that is being sent arrives.
func (r *receiver) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := r.server.Shutdown(ctx); err != nil {
		_ = errors.Join(err, r.server.Close()) // there is nothing left to do
	}
	r.serving.Wait()
}
