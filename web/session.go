package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/attractor-go/attractor/journal"
)

// session is a session whose journal is read as it grows.
type session struct {
	id  string
	hub *hub
	ctx context.Context
	end context.CancelFunc
	// ready is closed when all that the journal had at first has been read, or it cannot be read.
	ready chan struct{}

	// The hub guards these.
	users int
	since time.Time   // when the last user has gone
	idle  *time.Timer // ends the reading

	mu       sync.Mutex
	trace    *Trace
	writer   journal.Entry // who writes the journal
	isReady  bool
	failed   error // why the journal is not read any further
	watchers map[*watcher]struct{}
}

func newSession(h *hub, id string) *session {
	ctx, end := context.WithCancel(h.ctx)
	return &session{id: id, hub: h, ctx: ctx, end: end, ready: make(chan struct{}), trace: NewTrace(h.options.Masker), watchers: map[*watcher]struct{}{}}
}

// read folds the journal until the session ends or an error occurs.
func (s *session) read() {
	length, err := s.length()
	if err == nil {
		s.caughtUp(0, length)
		for line, problem := range s.hub.options.Store.Follow(s.ctx, s.id, 1) {
			if err = problem; err == nil {
				err = s.add(line)
			}
			if err != nil {
				break
			}
			s.caughtUp(line.N, length)
		}
	}
	s.fail(cmp.Or(err, s.ctx.Err()))
}

// length returns how many records the journal has now. For a journal that cannot be opened these are unknown: reading it finds what is
// wrong, and yields what is good.
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

// add folds a record and tells the watchers what has changed.
func (s *session) add(line journal.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, step, err := s.trace.Add(line)
	for w := range s.watchers {
		w.changed(row, step)
	}
	return err
}

// caughtUp notes that the records up to a number have been read.
func (s *session) caughtUp(n, length int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isReady && n >= length {
		s.isReady = true
		close(s.ready)
	}
}

// fail notes why the journal is not read any further.
func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	for w := range s.watchers {
		w.changed(s.trace.Len(), math.MaxInt)
	}
	if !s.isReady {
		s.isReady = true
		close(s.ready)
	}
}

// hasEnded reports whether the journal is not read any further.
func (s *session) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed != nil
}

// setWriter notes who writes the journal.
func (s *session) setWriter(e journal.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.Locked == s.writer.Locked && e.PID == s.writer.PID {
		return
	}
	s.writer = e
	for w := range s.watchers {
		w.changed(s.trace.Len(), math.MaxInt)
	}
}

// wait returns when the journal has been read as far as it went at first, with the error if nothing of it can be read.
func (s *session) wait(ctx context.Context) error {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil && (s.trace.Len() == 0 || errors.Is(s.failed, fs.ErrNotExist)) {
		return noSession(s.id, s.failed)
	}
	return nil
}

// overview returns what the page shows besides rows, with the steps from a number on.
func (s *session) overview(step int) Overview {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.trace.Overview(step)
	o.ID = s.id
	o.withWriter(s.writer, s.hub.options.Own(s.id) != nil)
	if s.failed != nil && s.ctx.Err() == nil {
		o.Problem = s.hub.options.Masker.String(s.failed.Error())
	}
	return o
}

// withWriter adds what is known of the process that writes the journal.
func (o *Overview) withWriter(e journal.Entry, own bool) {
	o.Own, o.PID = own, e.PID
	if !e.Locked && !own && (o.State == StateRunning || o.State == StateWaiting) {
		o.State, o.Running = StateInterrupted, []RunningCall{}
	}
}

// rows returns rows from a number on.
func (s *session) rows(first, count int) []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trace.Rows(first, count)
}

// item returns a row and its events.
func (s *session) item(ctx context.Context, i int) (item Item, err error) {
	if rows := s.trace.Len(); i >= rows {
		return Item{}, refuse(http.StatusNotFound, fmt.Sprintf("there is no row %d; the session has %d", i, rows))
	}
	err = s.journal(ctx, func(log journal.Reader) error {
		item, err = s.trace.Item(ctx, log, i)
		return err
	})
	return item, err
}

// search returns the numbers of the rows that a query finds, and whether there may be more.
func (s *session) search(ctx context.Context, q Query) (rows []int, more bool, err error) {
	err = s.journal(ctx, func(log journal.Reader) error {
		rows, more, err = s.trace.Search(ctx, log, q)
		return err
	})
	return rows, more, err
}

// journal calls do with the session's journal as it is now.
func (s *session) journal(ctx context.Context, do func(journal.Reader) error) (err error) {
	log, err := s.hub.options.Store.Read(ctx, s.id)
	if err != nil {
		return noSession(s.id, err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	return do(log)
}
