package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/attractor-go/attractor/internal/proxied"
	"github.com/attractor-go/attractor/llm"
)

// phase describes what one of our timers waits for.
type phase struct {
	kind   error
	format string // of the message: a duration, a URL
}

func (p *phase) Error() string { return "timeout" }

// A stall in the middle of a response is both a broken stream and a timeout, for errors.Is.
var (
	phaseConnect   = &phase{llm.ErrTimeout, "cannot reach %[2]s: no connection within %[1]v"}
	phaseFirstByte = &phase{llm.ErrTimeout, "no response from %[2]s within %[1]v"}
	phaseIdle      = &phase{llm.ErrStream, "the response stalled: no data for %[1]v from %[2]s"}
)

// expired is the cause of a context that one of our timers has ended.
type expired struct {
	*phase
	after time.Duration
}

// watch ends a call when a phase takes too long, and tells afterwards why it ended.
type watch struct {
	call        *Call
	parent, ctx context.Context
	cancel      context.CancelCauseFunc

	traced, wrote atomic.Bool // the transport traces; it has sent the request

	// Only time spent waiting for the server counts as idle, not the time that the caller takes for
	// an event.
	idle, left time.Duration
	idling     *time.Timer
}

// Progress restarts the idle time of the body.
func (w *watch) Progress() { w.left = w.idle }

// shorten bounds the idle time of the rest of the body.
func (w *watch) shorten(most time.Duration) {
	w.idle = min(w.idle, most)
	w.left = min(w.left, most)
}

// reading runs the idle timer during one read.
func (w *watch) reading(read func() (int, error)) (int, error) {
	if w.idling == nil {
		w.idling = w.timer(w.idle, phaseIdle)
	}
	begin := time.Now()
	w.idling.Reset(max(w.left, 0))
	n, err := read()
	w.idling.Stop()
	w.left -= time.Since(begin)
	return n, err
}

// timer returns a timer, not running yet, that ends the call because a phase has taken so long.
func (w *watch) timer(after time.Duration, p *phase) *time.Timer {
	t := time.AfterFunc(never, func() { w.cancel(expired{p, after}) })
	t.Stop()
	return t
}

// failure returns why the call ended, given the error from the transport.
func (w *watch) failure(err error, answered bool) *llm.Error {
	var late expired
	switch {
	case errors.As(context.Cause(w.ctx), &late):
		e := w.call.fail(late.kind, late.format, late.after, safeURL(w.call.URL))
		e.Err = llm.ErrTimeout
		return e
	case w.parent.Err() != nil:
		return w.call.aborted(w.parent)
	case answered:
		e := w.call.fail(llm.ErrStream, "the response broke off: %v", err)
		e.Err = err
		return e
	}
	kind := llm.ErrNetwork
	if refused, is := errors.AsType[*proxied.Refused](err); is && refused.Policy() {
		kind = llm.ErrConfiguration
	}
	e := w.call.fail(kind, "cannot reach %s: %v", safeURL(w.call.URL), err)
	if w.wrote.Load() {
		e = w.call.fail(llm.ErrNetwork, "no valid response from %s: %v", safeURL(w.call.URL), err)
	}
	e.Err = err
	var cert *tls.CertificateVerificationError
	e.Final = errors.As(err, &cert) // the next handshake gets the same certificate
	e.Absent = refusedHere(err)
	return e
}

// refusedHere reports that nothing listens at the address on this machine.
func refusedHere(err error) bool {
	var dial *net.OpError
	if !errors.As(err, &dial) || !errors.Is(err, syscall.ECONNREFUSED) {
		return false
	}
	address, ok := dial.Addr.(*net.TCPAddr)
	return ok && address.IP.IsLoopback()
}

func (c *Call) aborted(ctx context.Context) *llm.Error {
	cause := context.Cause(ctx)
	e := c.fail(llm.ErrAborted, "the call was aborted: %v", cause)
	e.Err = cause
	return e
}

func (c *Call) fail(kind error, format string, args ...any) *llm.Error {
	e := &llm.Error{Kind: kind, Provider: c.Provider, Message: fmt.Sprintf(format, args...)}
	c.redact(e)
	return e
}
