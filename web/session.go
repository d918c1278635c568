package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/secret"
)

// restLooks is the number of checks in succession that find a journal without a writer and
// unchanged, before its reading is paused and the memory for further records is freed.
const restLooks = 3

// errIdle ends the reading of a journal that no process writes.
var errIdle = errors.New("nobody writes the journal")

// session is a session whose journal is read as it grows.
type session struct {
	id     string
	hub    *hub
	masker *secret.Masker
	ctx    context.Context
	end    context.CancelFunc
	// ready is closed when all that the journal had at first has been read, or it cannot be read.
	ready chan struct{}
	// wake has an element if the journal has changed while its reading was paused.
	wake chan struct{}

	// The hub guards these.
	users int
	since time.Time   // when the last user has gone
	idle  *time.Timer // ends the reading

	mu       sync.Mutex
	trace    *Trace
	began    bool          // the trace is in use
	last     int64         // the number of the last record that was read
	writer   journal.Entry // the journal at the last check
	looks    int           // checks in succession that found no writer and no change
	pause    func()        // pauses the reading; nil if the journal is not read
	caught   bool          // the trace has all that the journal had when its reading began
	isReady  bool
	failed   error // why the journal is not read any further
	watchers map[*watcher]struct{}
}

func newSession(h *hub, id string, m *secret.Masker) *session {
	ctx, end := context.WithCancel(h.ctx)
	return &session{id: id, hub: h, ctx: ctx, end: end, ready: make(chan struct{}), wake: make(chan struct{}, 1),
		masker: m, trace: NewTrace(m, h.options.Facts), watchers: map[*watcher]struct{}{}}
}

// read folds the journal until the session ends or an error occurs. It pauses while no process
// writes the journal.
func (s *session) read() {
	s.hub.lookAtWriters([]*session{s})
	for {
		err := s.follow()
		if !errors.Is(err, errIdle) {
			s.fail(err)
			return
		}
		if length, err := s.length(); err != nil || length != s.last {
			continue
		}
		s.trace.Rest()
		select {
		case <-s.ctx.Done():
		case <-s.wake:
		}
	}
}

// follow folds the journal into a new trace. That becomes the trace of the session when it has all
// that the journal had at first.
func (s *session) follow() error {
	ctx, pause := context.WithCancelCause(s.ctx)
	defer pause(nil)
	trace := s.begin(func() { pause(errIdle) })
	length, err := s.length()
	if err != nil {
		return err
	}
	if length == 0 {
		s.caughtUp(trace)
	}
	for line, err := range s.hub.options.Store.Follow(ctx, s.id, 1) {
		if err == nil {
			err = s.add(trace, line)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			s.caughtUp(trace) // the records before the error are shown
			return err
		case line.N >= length:
			s.caughtUp(trace)
		}
	}
	return context.Cause(ctx)
}

// begin notes that the journal is read, and returns a trace for it.
func (s *session) begin(pause func()) *Trace {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks, s.pause, s.caught = 0, pause, false
	select {
	case <-s.wake: // the change is read now
	default:
	}
	if s.began {
		return NewTrace(s.masker, s.hub.options.Facts)
	}
	s.began = true
	return s.trace
}

// current returns the session's trace.
func (s *session) current() *Trace {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trace
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

// add folds a record, and tells the watchers of the trace what has changed.
func (s *session) add(trace *Trace, line journal.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, step, err := trace.Add(line)
	if s.last = line.N; trace == s.trace {
		s.tell(row, step)
	}
	return err
}

// tell tells the watchers that rows and steps from these on have changed.
func (s *session) tell(row, step int) {
	for w := range s.watchers {
		w.changed(row, step)
	}
}

// caughtUp makes trace, which has all that the journal had when its reading began, the trace of the
// session.
func (s *session) caughtUp(trace *Trace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caught = true
	if old := s.trace; old != trace {
		s.trace = trace
		row := old.Len()
		if !old.Overview(math.MaxInt).Created.Equal(trace.Overview(math.MaxInt).Created) {
			row = 0 // another session has taken its name
		}
		s.tell(row, 1)
	}
	s.isReadyNow()
}

// isReadyNow wakes the callers of wait. The caller holds the lock.
func (s *session) isReadyNow() {
	if !s.isReady {
		s.isReady = true
		close(s.ready)
	}
}

// fail notes why the journal is not read any further.
func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed, s.pause = err, nil
	s.tell(s.trace.Len(), math.MaxInt)
	s.isReadyNow()
}

// hasEnded reports whether the journal is not read any further.
func (s *session) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed != nil
}

// look updates what is known of the journal. It pauses the reading of a journal that has no writer,
// until it changes.
func (s *session) look(e journal.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.writer
	s.writer = e
	if e.Locked != before.Locked || e.PID != before.PID {
		s.tell(s.trace.Len(), math.MaxInt)
	}
	if e.Locked || e.Size != before.Size || !e.Modified.Equal(before.Modified) {
		if s.looks = 0; s.pause != nil {
			return
		}
		select {
		case s.wake <- struct{}{}:
		default: // it was told already
		}
		return
	}
	if s.looks++; s.looks >= restLooks && s.caught && s.pause != nil {
		s.pause()
		s.pause = nil
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

// rows returns rows from a number on.
func (s *session) rows(first, count int) []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trace.Rows(first, count)
}

// item returns a row and its events.
func (s *session) item(ctx context.Context, i int) (item Item, err error) {
	trace := s.current()
	if rows := trace.Len(); i >= rows {
		return Item{}, refuse(http.StatusNotFound, fmt.Sprintf("there is no row %d; the session has %d", i, rows))
	}
	err = s.journal(ctx, func(log journal.Reader) error {
		item, err = trace.Item(ctx, log, i)
		return err
	})
	return item, err
}

// search returns the numbers of the rows that a query finds, and whether there may be more.
func (s *session) search(ctx context.Context, q Query) (rows []int, more bool, err error) {
	err = s.journal(ctx, func(log journal.Reader) error {
		rows, more, err = s.current().Search(ctx, log, q)
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
