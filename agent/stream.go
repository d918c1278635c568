package agent

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/tool"
)

// eventStream numbers events and delivers them: to the host's OnEvent, in order and one at a time, and to any number of cursors.
type eventStream struct {
	session string
	now     func() time.Time
	on      func(Event)
	outputs tool.Outputs // where cursors find long outputs again; may be nil

	mu      sync.Mutex
	changed sync.Cond
	seq     int64
	log     eventLog
	pending []Event // for on; those before next are delivered
	next    int
	done    int64 // the last number delivered to on
	busy    bool  // a goroutine delivers
	step    bool  // a model call has begun and not ended
	ended   bool  // SESSION_END is in the log

	holding  bool       // records are being written: their events come before those that are held
	held     []recorded // what has come meanwhile
	arrived  int        // how many were ever held
	admitted int        // how many of them have numbers by now
	overdue  int        // what hurries was when the time of who writes them began to run out

	limit int64       // of the log, in bytes
	full  func(error) // told when the log is larger; may be nil

	broke   func(error)   // told of a panic of on; may be nil
	grace   time.Duration // that on has for one event once nobody waits for ever
	calling Event         // that on is called with; nil between two calls
	hurried bool          // nobody waits for ever
	hurries int           // how often that has changed
	stuck   int           // what hurries was when the time of the call of on that is on its way began to run out; 0 before
}

func newEventStream(session string, now func() time.Time, on func(Event)) *eventStream {
	s := &eventStream{session: session, now: now, on: on}
	s.changed.L = &s.mu
	return s
}

// goOn sets the number that a resumed session's events go on from.
func (s *eventStream) goOn(seq int64) { s.seq, s.done = seq, seq }

// openTexts returns what has come of the model's first n texts that have begun and not ended.
func (s *eventStream) openTexts(n int) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var texts []string
	for block := range n {
		if run := s.log.find(textKey("", block)); run != nil {
			texts = append(texts, run.text.String())
		}
	}
	return texts
}

// again lets a stream go on with the events of a session that was resumed: what was on its way will not end.
func (s *eventStream) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.step, s.log.open = false, false, nil
}

// silence ends the stream without an event that says so: nothing is added any more, and cursors end where they have all.
func (s *eventStream) silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.changed.Broadcast()
}

// recorded are the events of a record; of none, when they are live.
type recorded struct {
	rec    record
	events []Event
}

// hold keeps back the events that come from now on until release, so that those of the records that are about to be written get the numbers
// right behind the one that it returns, which the records have.
func (s *eventStream) hold() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = true
	s.watchHold()
	return s.seq
}

// release adds the events of the records that were written, if they were, and then what was held.
func (s *eventStream) release(written ...recorded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range append(written, s.held...) {
		for _, ev := range r.events {
			s.pair(ev, r.rec)
		}
	}
	s.holding, s.held, s.admitted = false, nil, s.arrived
	s.changed.Broadcast()
}

// watchHold lets nobody wait for events that are held once nobody waits for ever, and the grace time is over.
func (s *eventStream) watchHold() {
	if !s.hurried || !s.holding {
		return
	}
	hurries := s.hurries
	time.AfterFunc(s.grace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.overdue = max(s.overdue, hurries)
		s.changed.Broadcast()
	})
}

// add appends events without delivering them, so that it can be called with the session's lock held. Nothing follows
// SESSION_END: later events are dropped.
func (s *eventStream) add(events ...Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holding {
		s.held = append(s.held, recorded{events: slices.Clone(events)}) // the caller's slice need not be allocated
		s.arrived++
		return
	}
	for _, ev := range events {
		s.pair(ev, nil)
	}
	s.changed.Broadcast()
}

// pair makes starts and ends match: a text that was not shown as it came gets its start and one delta, and the end of an empty
// text, or of a step that began in another process, is left out.
func (s *eventStream) pair(ev Event, rec record) {
	switch e := ev.(type) {
	case *StepStart:
		if s.step {
			return
		}
		s.step = true
	case *StepEnd:
		if !s.step {
			return
		}
		s.step = false
	case *AssistantTextEnd:
		if s.log.find(textKey("", e.Block)) != nil {
			break
		}
		if e.Text == "" {
			return
		}
		s.enter(&AssistantTextStart{Block: e.Block}, nil)
		s.enter(&AssistantTextDelta{Block: e.Block, Text: e.Text}, nil)
	}
	s.enter(ev, rec)
}

func (s *eventStream) enter(ev Event, rec record) {
	if s.ended {
		return
	}
	s.seq++
	*ev.Head() = EventHeader{Kind: ev.kind(), SessionID: s.session, Seq: s.seq, Time: s.now().UTC()}
	s.log.add(ev, rec)
	if s.full != nil && s.log.size > s.limit {
		s.full(eventsFull(s.log.size, s.limit))
	}
	_, s.ended = ev.(*SessionEnd)
	if s.on == nil {
		return
	}
	if s.next > 0 && len(s.pending) == cap(s.pending) { // make room at the end instead of growing
		s.pending, s.next = slices.Delete(s.pending, 0, s.next), 0
	}
	s.pending = append(s.pending, ev)
}

// number returns the number of an event that was added, 0 while it is held.
func (s *eventStream) number(ev Event) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ev.Head().Seq
}

// deliver has pending events handed to OnEvent, on a goroutine of its own: neither a panic nor a runtime.Goexit of it reaches the
// caller. It returns at once, and may be called from within OnEvent, but not with the session's lock held.
func (s *eventStream) deliver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pump()
}

// pump starts the goroutine that delivers unless there is one, or nothing to do.
func (s *eventStream) pump() {
	if !s.busy && s.next < len(s.pending) {
		s.busy = true
		go s.deliverAll()
	}
}

func (s *eventStream) deliverAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		s.busy = false
		s.pump() // after a runtime.Goexit of OnEvent the rest is left
		s.changed.Broadcast()
	}()
	for s.next < len(s.pending) {
		ev := s.pending[s.next]
		s.pending[s.next] = nil
		s.next++
		s.call(ev)
	}
	s.pending, s.next = s.pending[:0], 0
}

// call lets go of the lock around OnEvent.
func (s *eventStream) call(ev Event) {
	s.calling = ev
	s.watch()
	s.mu.Unlock()
	returned := false
	defer func() {
		if !returned && s.broke != nil {
			s.broke(hostError(guard.Caught("OnEvent", recover())))
		}
		s.mu.Lock()
		s.calling, s.stuck, s.done = nil, 0, ev.Head().Seq
		s.changed.Broadcast()
	}()
	s.on(ev)
	returned = true
}

// hurry bounds all waiting for OnEvent: it has the grace time for each event from now on. Events are not lost by that: they are
// delivered when OnEvent returns after all.
func (s *eventStream) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hurried = true
	s.hurries++
	s.watch()
	s.watchHold()
}

// calm lets the loop wait for a slow host again.
func (s *eventStream) calm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hurried = false
	s.hurries++
}

// watch gives the call of OnEvent that is on its way its time.
func (s *eventStream) watch() {
	ev, hurries := s.calling, s.hurries
	if !s.hurried || ev == nil {
		return
	}
	time.AfterFunc(s.grace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.calling == ev {
			s.stuck = max(s.stuck, hurries)
			s.changed.Broadcast()
		}
	})
}

// flush delivers, and waits until everything added so far is delivered: the loop and its tools wait for a slow host, so that
// nothing piles up. It must not be called from within OnEvent.
func (s *eventStream) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	hurries := max(s.hurries, 1)
	for arrived := s.arrived; s.admitted < arrived && s.overdue < hurries; {
		s.changed.Wait()
	}
	s.pump()
	for last := s.seq; s.on != nil && s.done < last && s.stuck < hurries; {
		s.changed.Wait()
	}
}

// undelivered says which event OnEvent does not return from, if it is stuck.
func (s *eventStream) undelivered() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stuck == 0 {
		return nil
	}
	return &undeliveredError{stuckError{fmt.Sprintf("OnEvent, called with %s,", s.calling.kind()), s.grace}}
}

type undeliveredError struct{ stuckError }

func (e *undeliveredError) Unwrap() []error { return []error{ErrStuck, ErrUndelivered} }

// emit adds events and waits for their delivery.
func (s *eventStream) emit(events ...Event) {
	s.add(events...)
	s.flush()
}
