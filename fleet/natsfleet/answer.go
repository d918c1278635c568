package natsfleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// An answer is a stream of bytes in pages. The first one is the reply to the call. Each has a reply
// subject at which the client asks for the next one, or says that it wants no more. While there is
// nothing to say, pages are empty. A gateway that ends leaves: the client calls another one.
const (
	stopText     = "stop"
	pieceSize    = 256 << 10 // a page is complete above that
	maxErrorText = 64 << 10

	lingerTime = 5 * time.Millisecond // a page waits that long for more
	idleTime   = 4 * time.Second      // a page waits that long for something
	goneTime   = 3 * idleTime         // a client waits that long for a page before it gives the call up
	clientTime = 30 * time.Second     // the gateway waits that long for the request for the next page
)

// page is a part of an answer.
type page struct {
	Data   []byte     `json:"data,omitempty"`
	End    bool       `json:"end,omitempty"`
	Error  *wireError `json:"error,omitempty"` // at the end
	Leaves bool       `json:"leaves,omitempty"`
}

// errLeaves says that the gateway ends.
var errLeaves = errors.New("the server ends")

// answer passes what an operation writes to the pages of its call.
type answer struct {
	ctx   context.Context // of the operation; ends with the client
	parts chan []byte
	end   chan error // gets what the operation returns
}

// serveCall answers a call.
func serveCall(ctx context.Context, nc *nats.Conn, call *nats.Msg, do operation) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	requests, err := nc.SubscribeSync(nc.NewInbox()) // for pages
	if err != nil {
		return err
	}
	defer requests.Unsubscribe() // it fails only without a connection, which ends it as well
	a := &answer{ctx, make(chan []byte), make(chan error, 1)}
	var operation sync.WaitGroup
	defer operation.Wait()
	defer cancel(nil)
	operation.Go(func() { a.end <- do(ctx, call.Data, a) })
	for request := call; ; {
		p := a.next()
		data, err := json.Marshal(p)
		if err == nil {
			err = nc.PublishMsg(&nats.Msg{Subject: request.Reply, Reply: requests.Subject, Data: data})
		}
		if err != nil || p.End || p.Leaves {
			return err
		}
		patience, end := context.WithTimeout(ctx, clientTime)
		request, err = requests.NextMsgWithContext(patience)
		end()
		// the server says with a status that nobody listens to the answer
		if err != nil || request.Header.Get("Status") != "" || string(request.Data) == stopText {
			return err
		}
	}
}

// Write implements [io.Writer]. It waits until there is room in a page.
func (a *answer) Write(data []byte) (n int, err error) {
	for part := range slices.Chunk(data, pieceSize) {
		select {
		case a.parts <- bytes.Clone(part):
			n += len(part)
		case <-a.ctx.Done():
			return n, context.Cause(a.ctx)
		}
	}
	return n, nil
}

// next returns the next page.
func (a *answer) next() (p page) {
	due := time.NewTimer(idleTime)
	defer due.Stop()
	for len(p.Data) < pieceSize {
		select {
		case part := <-a.parts:
			if p.Data == nil {
				due.Reset(lingerTime)
			}
			p.Data = append(p.Data, part...)
		case err := <-a.end:
			if p.End = true; err != nil {
				p.Error = encodeError(err)
			}
			return p
		case <-a.ctx.Done():
			p.Leaves = context.Cause(a.ctx) == errLeaves
			return p
		case <-due.C:
			return p
		}
	}
	return p
}

// clientCall reads the answer to a call, on the side of the client. It implements [io.ReadCloser].
type clientCall struct {
	ctx  context.Context // of the caller
	nc   *nats.Conn
	page page   // the rest of the last one
	at   string // where the next one is asked for
}

// fetch requests a page.
func (q *clientCall) fetch(subject string, body []byte) error {
	ctx, cancel := context.WithTimeout(q.ctx, goneTime)
	defer cancel()
	m, err := q.nc.RequestWithContext(ctx, subject, body)
	switch {
	case q.ctx.Err() != nil:
		return q.ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return errBroken
	case err != nil:
		return err
	}
	q.page, q.at = page{}, m.Reply
	if err := json.Unmarshal(m.Data, &q.page); err != nil {
		return fmt.Errorf("the server's answer: it is no gateway of a fleet: %w", err)
	}
	return nil
}

// Read implements [io.Reader].
func (q *clientCall) Read(p []byte) (int, error) {
	for len(q.page.Data) == 0 {
		switch {
		case q.page.Leaves:
			return 0, errBroken
		case q.page.End && q.page.Error != nil:
			return 0, q.page.Error.decode()
		case q.page.End:
			return 0, io.EOF
		}
		if err := q.fetch(q.at, nil); errors.Is(err, nats.ErrNoResponders) {
			return 0, errBroken // the gateway has ended
		} else if err != nil {
			return 0, err
		}
	}
	n := copy(p, q.page.Data)
	q.page.Data = q.page.Data[n:]
	return n, nil
}

// Close implements [io.Closer]. It tells the gateway that the call has ended, unless the answer is
// complete. A gateway that does not hear it ends the call after clientTime.
func (q *clientCall) Close() error {
	if q.at != "" && !q.page.End {
		_ = q.nc.Publish(q.at, []byte(stopText))
	}
	return nil
}

// wireError is an error in an answer.
type wireError struct {
	Code  string            `json:"code,omitempty"`
	Text  string            `json:"text"`
	Limit *fleet.LimitError `json:"limit,omitempty"`
}

// errorCode names an error that callers look for with errors.Is.
type errorCode struct {
	code string
	err  error
}

// errorCodes returns all codes. An error that wraps several of them has the first.
func errorCodes() []errorCode {
	return []errorCode{
		{"different", fleet.ErrDifferent}, {"answered", fleet.ErrAnswered}, {"no-owner", fleet.ErrNoOwner},
		{"lost", fleet.ErrLost}, {"corrupt", journal.ErrCorrupt}, {"not-exist", fs.ErrNotExist},
		{"exist", fs.ErrExist}, {"invalid", fs.ErrInvalid}, {"permission", fs.ErrPermission},
	}
}

// encodeError encodes an error for an answer.
func encodeError(err error) *wireError {
	w := &wireError{Text: err.Error()}
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
func (w *wireError) decode() error {
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

// Error returns the text that the gateway sent.
func (e *remoteError) Error() string { return e.text }

// Unwrap returns the error of the code.
func (e *remoteError) Unwrap() error { return e.known }
