package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// An answer is a sequence of messages, numbered from 1, to the inbox of the call. The header
// "Fleet" of each has its number and its kind: a piece of an item, the last piece of an item, the
// end, which holds an error or nothing, or a sign of life. The client acknowledges every few
// messages on the reply subject, and says there that it wants no more. A gateway that ends leaves:
// the client calls another one.
const (
	answerHeader = "Fleet"
	kindPiece    = "piece"
	kindItem     = "item"
	kindEnd      = "end"
	kindIdle     = "idle"
	kindLeave    = "leave"

	pieceSize = 256 << 10
	window    = 32 // messages on the way without an acknowledgement
	ackEvery  = 8
	stopText  = "stop"

	maxErrorText = 64 << 10

	idleTime = 4 * time.Second  // the gateway says that often that it is still there
	goneTime = 3 * idleTime     // a client that hears nothing for so long takes the call for broken
	ackTime  = 30 * time.Second // the gateway waits that long for a client that does not read
)

// errHungUp says that the client does not listen any more.
var errHungUp = errors.New("the client is gone")

// errLeaves says that the gateway ends.
var errLeaves = errors.New("the server ends")

// answer sends the answer to one call.
type answer struct {
	ctx    context.Context // of the operation; ends with the client
	cancel context.CancelCauseFunc
	nc     *nats.Conn
	to     string
	acks   *nats.Subscription
	acked  atomic.Int64
	news   chan struct{} // of acked
	idle   *time.Ticker
	beats  sync.WaitGroup

	mu  sync.Mutex // of sending
	seq int64
}

// newAnswer begins an answer. It must be closed.
func newAnswer(ctx context.Context, nc *nats.Conn, to string) (*answer, error) {
	if to == "" {
		return nil, errors.New("the call has no inbox")
	}
	a := &answer{nc: nc, to: to, news: make(chan struct{}, 1), idle: time.NewTicker(idleTime)}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	var err error
	if a.acks, err = nc.Subscribe(nc.NewInbox(), a.hear); err != nil {
		a.idle.Stop()
		a.cancel(err)
		return nil, err
	}
	a.beats.Go(a.beat)
	return a, nil
}

// hear takes an acknowledgement. The server sends one with a status if nobody listens to the
// answer.
func (a *answer) hear(m *nats.Msg) {
	n, err := strconv.ParseInt(string(m.Data), 10, 64)
	if err != nil {
		a.cancel(errHungUp)
		return
	}
	a.acked.Store(n)
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// beat says that the answer goes on, while there is nothing else to say.
func (a *answer) beat() {
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-a.idle.C:
		}
		if a.mu.TryLock() {
			if a.seq-a.acked.Load() < window {
				a.publish(kindIdle, nil)
			}
			a.mu.Unlock()
		}
	}
}

// item sends an item.
func (a *answer) item(data []byte) error {
	for len(data) > pieceSize {
		if err := a.send(kindPiece, data[:pieceSize]); err != nil {
			return err
		}
		data = data[pieceSize:]
	}
	return a.send(kindItem, data)
}

// end sends the end.
func (a *answer) end(err error) {
	if context.Cause(a.ctx) == errLeaves {
		a.mu.Lock()
		defer a.mu.Unlock()
		_ = a.publish(kindLeave, nil) // a client that does not hear it finds out
		return
	}
	var body []byte
	if err != nil {
		body, _ = json.Marshal(encodeError(err)) // strings are always encoded
	}
	_ = a.send(kindEnd, body) // a client that hears no end asks again
}

// send sends a message as soon as the client has acknowledged enough of those before.
func (a *answer) send(kind string, data []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var late <-chan time.Time
	for a.seq-a.acked.Load() >= window {
		if late == nil {
			late = time.After(ackTime)
		}
		select {
		case <-a.news:
		case <-a.ctx.Done():
			return context.Cause(a.ctx)
		case <-late:
			return errHungUp
		}
	}
	if a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	a.idle.Reset(idleTime)
	return a.publish(kind, data)
}

// publish sends a message. The caller holds mu.
func (a *answer) publish(kind string, data []byte) error {
	a.seq++
	return a.nc.PublishMsg(&nats.Msg{
		Subject: a.to, Reply: a.acks.Subject, Data: data,
		Header: nats.Header{answerHeader: {strconv.FormatInt(a.seq, 10), kind}},
	})
}

// close ends the answer.
func (a *answer) close() {
	a.cancel(errHungUp)
	a.beats.Wait()
	a.idle.Stop()
	_ = a.acks.Unsubscribe() // fails only without a connection, which ends it as well
}

// wireError is an error in an answer.
type wireError struct {
	Code  string            `json:"code,omitempty"`
	Text  string            `json:"text"`
	Limit *fleet.LimitError `json:"limit,omitempty"`
}

// errorCode names an error that a caller may look for.
type errorCode struct {
	code string
	err  error
}

// errorCodes returns all of them. An error that is several has the first.
func errorCodes() []errorCode {
	return []errorCode{
		{"different", fleet.ErrDifferent}, {"answered", fleet.ErrAnswered}, {"no-owner", fleet.ErrNoOwner},
		{"lost", fleet.ErrLost},
		{"corrupt", journal.ErrCorrupt}, {"not-exist", fs.ErrNotExist}, {"exist", fs.ErrExist},
		{"invalid", fs.ErrInvalid},
		{"permission", fs.ErrPermission},
	}
}

// encodeError returns an error as it is sent.
func encodeError(err error) wireError {
	w := wireError{Text: err.Error()}
	if len(w.Text) > maxErrorText { // it has to fit into one message
		w.Text = strings.ToValidUTF8(w.Text[:maxErrorText], "") + " ..."
	}
	if errors.As(err, &w.Limit) {
		return w
	}
	for _, known := range errorCodes() {
		if errors.Is(err, known.err) {
			w.Code = known.code
			break
		}
	}
	return w
}

// decode returns the error that was sent.
func (w wireError) decode() error {
	if w.Limit != nil {
		return w.Limit
	}
	for _, known := range errorCodes() {
		if known.code == w.Code {
			return &remoteError{w.Text, known.err}
		}
	}
	return errors.New(w.Text)
}

// remoteError is an error of the gateway.
type remoteError struct {
	text  string
	known error
}

// Error returns the text of the error as it was there.
func (e *remoteError) Error() string { return e.text }

// Unwrap returns what a caller may look for.
func (e *remoteError) Unwrap() error { return e.known }

// parseAnswer returns the number and the kind of a message.
func parseAnswer(m *nats.Msg) (seq int64, kind string, err error) {
	h := m.Header[answerHeader]
	if len(h) != 2 {
		return 0, "", fmt.Errorf("the server's answer has the header %q: it is no gateway of a fleet", h)
	}
	seq, err = strconv.ParseInt(h[0], 10, 64)
	return seq, h[1], err
}
