package web

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/webguard"
)

const (
	// maxWatchers bounds the streams that are open at a time.
	maxWatchers = 64
	// rowsMessage bounds the rows of a message.
	rowsMessage = 500
	// restTime is the least time between two updates.
	restTime = 200 * time.Millisecond
	pingTime = 15 * time.Second
)

// message is a line of a watcher's stream.
type message struct {
	Type     string          `json:"type"`
	First    *int            `json:"first,omitempty"`
	Rows     []Row           `json:"rows,omitempty"`
	Overview *Overview       `json:"overview,omitempty"`
	Event    json.RawMessage `json:"event,omitempty"`
	Text     string          `json:"text,omitempty"`
}

// watcher notes which rows and steps have changed since the last message. It does not hold the
// changes, so a slow client needs no memory and gets the newest state.
type watcher struct {
	wake chan struct{}

	mu        sync.Mutex
	row, step int // the first ones that have changed
}

// changed notes that rows and steps from the given ones on have changed. It never waits.
func (w *watcher) changed(row, step int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.row, w.step = min(w.row, row), min(w.step, step)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take returns the first row and the first step that have changed, and resets them.
func (w *watcher) take() (row, step int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	row, step = w.row, w.step
	w.row, w.step = math.MaxInt, math.MaxInt
	return row, step
}

// watch returns a watcher that begins with the rows from a number on, and a function that ends it.
func (s *session) watch(row int) (w *watcher, stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w = &watcher{wake: make(chan struct{}, 1), row: row, step: math.MaxInt}
	s.watchers[w] = struct{}{}
	return w, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, w)
	}
}

// stream writes messages to a watcher. It is safe for concurrent use.
type stream struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	most    time.Duration // for a message to be read
	began   bool
}

// send writes a message. It returns an error if the client does not read it in time.
func (s *stream) send(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.began {
		s.began = true
		s.w.Header().Set("Content-Type", "application/x-ndjson")
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(s.most)); err != nil {
		return err
	}
	if _, err := s.w.Write(append(line, '\n')); err != nil {
		return err
	}
	return s.control.Flush()
}

// serveWatch streams a session as it goes on, with the rows that the page does not have.
func (s *Server) serveWatch(w http.ResponseWriter, r *http.Request) error {
	first, err := webguard.Number(r, "first", 0, 0, 1<<40)
	if err != nil {
		return err
	}
	select {
	case s.watching <- struct{}{}:
		defer func() { <-s.watching }()
	default:
		return refuse(http.StatusServiceUnavailable, "too many pages watch sessions; close some")
	}
	id := r.PathValue("id")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	out := &stream{w: w, control: http.NewResponseController(w), most: s.limits.message}
	if err := out.control.SetReadDeadline(time.Time{}); err != nil { // there is nothing more to read
		return err
	}
	session, err := s.hub.acquire(id)
	if err != nil {
		return err
	}
	defer s.hub.release(session)
	if err = session.wait(ctx); err == nil {
		err = s.stream(ctx, out, session, first)
	}
	switch {
	case !out.began:
		return err
	case s.ctx.Err() != nil && s.options.OfServer: // the next server goes on with the session
	case s.ctx.Err() != nil:
		_ = out.send(message{Type: "end", Text: "The viewer has ended."}) // nobody may read it any more
	case r.Context().Err() == nil:
		_ = out.send(message{Type: "end", Text: session.masker.String(err.Error())}) // the same
	}
	return nil
}

// stream sends the rows from a number on, an overview, and then changes, until the context ends or
// the client does not read.
func (s *Server) stream(ctx context.Context, out *stream, session *session, first int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w, stop := session.watch(first)
	defer stop()
	row, _ := w.take()
	if err := session.sendRows(out, row); err != nil {
		return err
	}
	o := session.overview(1)
	if err := out.send(message{Type: "overview", Overview: &o}); err != nil {
		return err
	}
	if own := s.options.Own(session.id); own != nil {
		var live sync.WaitGroup
		defer live.Wait()
		live.Go(func() {
			for event := range own.Live(ctx) {
				if err := out.send(message{Type: "live", Event: event}); err != nil {
					cancel(err)
					return
				}
			}
		})
		defer cancel(nil)
	}
	return session.stream(ctx, out, w)
}

// stream sends changes until the context ends or the client does not read.
func (s *session) stream(ctx context.Context, out *stream, w *watcher) error {
	ping := time.NewTicker(pingTime)
	defer ping.Stop()
	rest := time.NewTimer(0)
	defer rest.Stop()
	var wake <-chan struct{} // nil while it rests
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-rest.C:
			wake = w.wake
		case <-wake:
			err = s.sendUpdate(out, w)
			wake = nil
			rest.Reset(restTime)
		case <-ping.C:
			err = out.send(message{Type: "ping"})
		}
		if err != nil {
			return err
		}
	}
}

// sendRows sends the rows from a number on, in messages of bounded size.
func (s *session) sendRows(out *stream, first int) error {
	for {
		rows := s.trace.Rows(first, rowsMessage)
		if len(rows) == 0 {
			return nil
		}
		if err := out.send(message{Type: "rows", First: &first, Rows: rows}); err != nil {
			return err
		}
		first += len(rows)
	}
}

// sendUpdate sends the rows that have changed, and an overview with the steps that have. It returns
// an error if there will be no more.
func (s *session) sendUpdate(out *stream, w *watcher) error {
	row, step := w.take()
	if err := s.sendRows(out, row); err != nil {
		return err
	}
	o := s.overview(step)
	if err := out.send(message{Type: "update", Overview: &o}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(s.failed, fs.ErrNotExist) {
		return refuse(http.StatusGone, "The session was removed.")
	}
	return nil
}
