package web

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/secret"
)

// session is a session whose journal is read as it grows.
type session struct {
	id     string
	hub    *hub
	masker *secret.Masker
	ctx    context.Context
	end    context.CancelFunc
	trace  *Trace
	// ready is closed, by isReady, when all that the journal had at first has been read, or it
	// cannot be read.
	ready   chan struct{}
	isReady func()

	// The hub guards these.
	users int
	since time.Time   // when the last user has gone
	idle  *time.Timer // ends the reading

	mu       sync.Mutex
	writer   journal.Entry // the journal at the last check
	failed   error         // why the journal is not read any further
	watchers map[*watcher]struct{}
}

func newSession(h *hub, id string, m *secret.Masker) *session {
	ctx, end := context.WithCancel(h.ctx)
	ready := make(chan struct{})
	return &session{id: id, hub: h, ctx: ctx, end: end, ready: ready, isReady: sync.OnceFunc(func() { close(ready) }),
		masker: m, trace: NewTrace(m, h.options.Facts), watchers: map[*watcher]struct{}{}}
}

// read folds the journal, as it grows, until the session ends or an error occurs.
func (s *session) read() {
	s.hub.lookAtWriters([]*session{s})
	s.fail(s.follow())
}

// follow folds the journal. It returns why it ends.
func (s *session) follow() error {
	length, err := s.length()
	if err != nil {
		return err
	}
	if length == 0 {
		s.isReady()
	}
	for line, err := range s.hub.options.Store.Follow(s.ctx, s.id, 1) {
		if err == nil {
			err = s.add(line)
		}
		if err != nil {
			return err
		}
		if line.N >= length {
			s.isReady()
		}
	}
	return context.Cause(s.ctx)
}

// length returns how many records the journal has now. For a journal that is damaged it returns
// math.MaxInt64, so that it is read up to the error.
func (s *session) length() (int64, error) {
	log, err := s.hub.options.Store.Read(s.ctx, s.id)
	if errors.Is(err, journal.ErrCorrupt) {
		return math.MaxInt64, nil
	}
	if err != nil {
		return 0, err
	}
	return log.Len(), log.Close()
}

// add folds a record, and tells the watchers what has changed.
func (s *session) add(line journal.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, step, err := s.trace.Add(line)
	s.tell(row, step)
	return err
}

// tell tells the watchers that rows and steps from these on have changed.
func (s *session) tell(row, step int) {
	for w := range s.watchers {
		w.changed(row, step)
	}
}

// fail notes why the journal is not read any further.
func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	s.tell(s.trace.Len(), math.MaxInt)
	s.isReady()
}

// hasEnded reports whether the journal is not read any further.
func (s *session) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed != nil
}

// look updates what is known of the writer of the journal.
func (s *session) look(e journal.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.writer
	s.writer = e
	if e.Locked != before.Locked || e.PID != before.PID {
		s.tell(s.trace.Len(), math.MaxInt)
	}
}

// wait waits until all that the journal had at first has been read. It returns an error if nothing
// of the journal can be read.
func (s *session) wait(ctx context.Context) error {
	select {
	case <-s.ready:
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return refuse(http.StatusServiceUnavailable,
				"the session is so long that it is still being read; try again in a while")
		}
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil && (s.trace.Len() == 0 || errors.Is(s.failed, fs.ErrNotExist)) {
		return noSession(s.id, s.failed)
	}
	return nil
}

// overview returns the overview, with the steps from a number on.
func (s *session) overview(step int) Overview {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.trace.Overview(step)
	o.ID = s.id
	o.Own = s.hub.options.Own(s.id) != nil
	o.withWriter(s.writer, o.Own && !s.hub.options.OfServer) // a server's sessions may be at rest
	if s.failed != nil && s.ctx.Err() == nil {
		o.Problem = s.masker.String(s.failed.Error())
	}
	return o
}

// withWriter adds the process that writes the journal, or marks what it left open as interrupted if
// there is none. Here says that this process works on the session.
func (o *Overview) withWriter(e journal.Entry, here bool) {
	o.PID = e.PID
	if e.Locked || here {
		return
	}
	if o.State == StateRunning || o.State == StateWaiting {
		o.State, o.Running = StateInterrupted, []RunningCall{}
	}
	o.Children = slices.Clone(o.Children) // they may be those of the trace
	for i := range o.Children {
		if c := &o.Children[i]; c.Status == string(StateRunning) { // its end was not recorded
			c.Status = string(StateInterrupted)
		}
	}
}
