package agent

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/guard"
)

// An eventStream numbers events and delivers them to the host's OnEvent, in order and one at a
// time, and to any number of cursors.
type eventStream struct {
	session string
	now     func() time.Time
	on      func(Event)
	// the facts in the journal, for cursors that have fallen behind; may be nil
	earlier func(ctx context.Context) iter.Seq[Event]
	direct  func(Event) // gets each event as it is added, in place of cursors and on; may be nil

	mu      sync.Mutex
	changed chan struct{} // closed by the next change, nil if nobody waits for it
	seq     int64
	first   int64 // the number of the last event of an earlier process
	log     eventLog
	pending []Event // for on; those before next have been delivered
	next    int
	done    int64 // the last number delivered to on
	busy    bool  // a goroutine delivers
	step    bool  // a model call is open
	ended   bool  // SESSION_END is in the log

	holding  bool       // records are being written, whose events must come first
	held     []recorded // the events that have come meanwhile
	arrived  int        // how many calls of add were ever held
	admitted int        // how many of those have their numbers
	overdue  bool       // writing has taken too long

	broke   func(error)   // called when on panics; may be nil
	grace   time.Duration // for one call of on, while hurried
	calling Event         // the argument of the running call of on, nil between two calls
	hurried bool          // waiting for on is bounded
	stuck   bool          // the running call of on has taken too long
}

func newEventStream(session string, now func() time.Time, on func(Event)) *eventStream {
	return &eventStream{session: session, now: now, on: on}
}

// setSeq sets the number of the last event of a session that is resumed.
func (s *eventStream) setSeq(seq int64) { s.seq, s.done, s.first = seq, seq, seq }

// rest drops what is not needed while the session is at rest, because the journal has it.
func (s *eventStream) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.earlier != nil {
		s.log.trim(restBytes)
	}
}

// openTexts returns what has arrived of the first n texts of the model that have begun and not
// ended.
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

// reopen reopens an ended stream for the events of a resumed session, and drops texts that will not
// end.
func (s *eventStream) reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.step, s.log.open = false, false, nil
}

// endSilently ends the stream without an event: later events are dropped, and cursors end after the
// last one.
func (s *eventStream) endSilently() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wake()
}

// recorded holds the events of a record, or live events with no record.
type recorded struct {
	rec    record
	events []Event
}

// holdBack keeps back events until releaseHeld. It returns the newest number, which the records
// that are about to be written contain, so that their events get the numbers that follow it.
func (s *eventStream) holdBack() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holding = true
	return s.seq
}

// releaseHeld adds the events of the records that were written, if any, and then the events that
// were held back.
func (s *eventStream) releaseHeld(written ...recorded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range append(written, s.held...) {
		for _, ev := range r.events {
			s.pair(ev)
		}
	}
	s.holding, s.held, s.admitted, s.overdue = false, nil, s.arrived, false
	s.wake()
}

// wake wakes all that wait for a change. It is called with the lock.
func (s *eventStream) wake() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// change returns a channel that the next change closes. It is called with the lock.
func (s *eventStream) change() <-chan struct{} {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// wait waits until reached reports true. While the stream is hurried it waits for one call of
// OnEvent no longer than the grace time, and then sets late. It is called with the lock.
func (s *eventStream) wait(late *bool, reached func() bool) {
	var timer <-chan time.Time
	var during Event
	for !*late && !reached() {
		switch {
		case !s.hurried:
			timer = nil
		case timer == nil || during != s.calling:
			timer, during = time.After(s.grace), s.calling
		}
		changed := s.change()
		s.mu.Unlock()
		select {
		case <-changed:
			s.mu.Lock()
		case <-timer:
			s.mu.Lock()
			*late = s.hurried && during == s.calling && !reached()
		}
	}
}

// add appends events without delivering them, so that it can be called with the session's lock
// held. Events after SESSION_END are dropped.
func (s *eventStream) add(events ...Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holding {
		s.held = append(s.held, recorded{events: slices.Clone(events)}) // the caller's slice need not be allocated
		s.arrived++
		return
	}
	for _, ev := range events {
		s.pair(ev)
	}
	s.wake()
}

// pair enters an event and makes starts and ends match: a text without deltas gets its start and
// one delta, and the end of an empty text, or of a step that began in another process, is left out.
func (s *eventStream) pair(ev Event) {
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
		s.enter(&AssistantTextStart{Block: e.Block})
		s.enter(&AssistantTextDelta{Block: e.Block, Text: e.Text})
	}
	s.enter(ev)
}

func (s *eventStream) enter(ev Event) {
	if s.ended {
		return
	}
	s.seq++
	*ev.Head() = EventHeader{Kind: ev.kind(), SessionID: s.session, Seq: s.seq, Time: s.now().UTC()}
	s.log.add(ev, s.direct == nil)
	_, s.ended = ev.(*SessionEnd)
	if s.direct != nil {
		s.direct(ev)
	}
	if s.on == nil {
		return
	}
	if s.next > 0 && len(s.pending) == cap(s.pending) { // make room at the end instead of growing
		s.pending, s.next = slices.Delete(s.pending, 0, s.next), 0
	}
	s.pending = append(s.pending, ev)
}

// number returns the number of an event that was added, 0 while it is held back.
func (s *eventStream) number(ev Event) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ev.Head().Seq
}

// deliver starts the delivery of pending events to OnEvent, on a goroutine of its own, so that
// neither a panic nor a runtime.Goexit of it reaches the caller. It returns at once, and may be
// called from within OnEvent, but not with the session's lock held.
func (s *eventStream) deliver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pump()
}

// pump starts the goroutine that delivers, unless it runs or has nothing to do.
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
		s.pump() // a runtime.Goexit of OnEvent leaves the rest
		s.wake()
	}()
	for s.next < len(s.pending) {
		ev := s.pending[s.next]
		s.pending[s.next] = nil
		s.next++
		s.callOnEvent(ev)
	}
	s.pending, s.next = s.pending[:0], 0
}

// callOnEvent calls OnEvent without the lock.
func (s *eventStream) callOnEvent(ev Event) {
	s.calling = ev
	s.mu.Unlock()
	returned := false
	defer func() {
		if !returned && s.broke != nil {
			s.broke(hostError(guard.Caught("OnEvent", recover())))
		}
		s.mu.Lock()
		s.calling, s.stuck, s.done = nil, false, ev.Head().Seq
		s.wake()
	}()
	s.on(ev)
	returned = true
}

// hurry bounds the wait for OnEvent to the grace time for each event. No event is lost: OnEvent
// gets the rest when it returns.
func (s *eventStream) hurry() { s.setHurried(true) }

// unhurry lets the loop wait for a slow OnEvent again.
func (s *eventStream) unhurry() { s.setHurried(false) }

func (s *eventStream) setHurried(hurried bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hurried, s.stuck, s.overdue = hurried, false, false
	s.wake()
}

// flush waits until all events that were added so far are delivered. The loop and its tools call
// it, so that nothing piles up before a slow host. It must not be called from within OnEvent.
func (s *eventStream) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	arrived := s.arrived
	s.wait(&s.overdue, func() bool { return s.admitted >= arrived })
	s.pump()
	last := s.seq
	s.wait(&s.stuck, func() bool { return s.on == nil || s.done >= last })
}

// undelivered returns an error that names the event with which OnEvent is stuck, nil if it is not.
func (s *eventStream) undelivered() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stuck || s.calling == nil { // it may have begun nothing yet
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
