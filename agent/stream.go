package agent

import (
	"context"
	"iter"
	"sync"
	"time"
)

// eventStream numbers events and delivers them: to the host's OnEvent, in order and one at a time, and to any number of cursors.
type eventStream struct {
	session string
	now     func() time.Time
	on      func(Event)

	mu      sync.Mutex
	changed sync.Cond
	seq     int64
	log     []Event
	pending []Event // not yet delivered to on
	done    int64   // the last number delivered to on
	busy    bool    // somebody delivers

	// What has begun and not ended yet.
	ended bool           // SESSION_END is in the log
	step  bool           // a model call
	texts map[int]bool   // by block
	live  map[string]int // by call: bytes of live output in the log
}

func newEventStream(session string, now func() time.Time, on func(Event)) *eventStream {
	s := &eventStream{session: session, now: now, on: on, texts: map[int]bool{}, live: map[string]int{}}
	s.changed.L = &s.mu
	return s
}

// goOn sets the number that a resumed session's events go on from.
func (s *eventStream) goOn(seq int64) { s.seq, s.done = seq, seq }

// last is the number of the newest event.
func (s *eventStream) last() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq
}

// add appends events without delivering them, so that it can be called with the session's lock held. Nothing follows
// SESSION_END: later events are dropped.
func (s *eventStream) add(events ...Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range events {
		for _, paired := range s.pair(ev) {
			s.enter(paired)
		}
	}
	s.changed.Broadcast()
}

// pair makes starts and ends match: a text that was not shown as it came gets its start and one delta, and the end of an empty
// text, or of a step that began in another process, is left out.
func (s *eventStream) pair(ev Event) []Event {
	switch e := ev.(type) {
	case *StepStart:
		if s.step {
			return nil
		}
		s.step = true
	case *StepEnd:
		if !s.step {
			return nil
		}
		s.step = false
	case *AssistantTextStart:
		s.texts[e.Block] = true
	case *AssistantTextEnd:
		shown := s.texts[e.Block]
		delete(s.texts, e.Block)
		switch {
		case shown:
		case e.Text == "":
			return nil
		default:
			return []Event{&AssistantTextStart{Block: e.Block}, &AssistantTextDelta{Block: e.Block, Text: e.Text}, e}
		}
	}
	return []Event{ev}
}

// liveKept is how much of a call's live output stays in the log for cursors, in bytes: its beginning. OnEvent gets all of it, and
// the call's end has the whole output.
const liveKept = 64 << 10

func (s *eventStream) enter(ev Event) {
	if s.ended {
		return
	}
	s.seq++
	*ev.Head() = EventHeader{Kind: ev.kind(), SessionID: s.session, Seq: s.seq, Time: s.now().UTC()}
	keep := true
	switch e := ev.(type) {
	case *SessionEnd:
		s.ended = true
	case *ToolCallOutputDelta:
		keep = s.live[e.CallID] < liveKept
		s.live[e.CallID] += len(e.Text)
	case *ToolCallEnd:
		delete(s.live, e.CallID)
	}
	if keep {
		s.log = append(s.log, ev)
	}
	if s.on != nil {
		s.pending = append(s.pending, ev)
	}
}

// deliver hands pending events to OnEvent unless another goroutine is at it: that one will. So a call from within OnEvent
// returns at once. It must not be called with the session's lock held.
func (s *eventStream) deliver() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return
	}
	s.busy = true
	defer func() { s.busy = false; s.changed.Broadcast() }()
	for len(s.pending) > 0 {
		ev := s.pending[0]
		s.pending = s.pending[1:]
		s.call(ev)
		s.done = ev.Head().Seq
		s.changed.Broadcast()
	}
	s.pending = nil
}

// call lets go of the lock around OnEvent, also when that panics: the panic is the host's, the lock is ours.
func (s *eventStream) call(ev Event) {
	s.mu.Unlock()
	defer s.mu.Lock()
	s.on(ev)
}

// flush delivers, and waits until everything added so far is delivered: the loop and its tools wait for a slow host, so that
// nothing piles up. It must not be called from within OnEvent.
func (s *eventStream) flush() {
	s.deliver()
	s.mu.Lock()
	defer s.mu.Unlock()
	for last := s.seq; s.on != nil && s.done < last && (s.busy || len(s.pending) > 0); {
		s.changed.Wait()
	}
}

// emit adds events and waits for their delivery.
func (s *eventStream) emit(events ...Event) {
	s.add(events...)
	s.flush()
}

// cursor yields all events from the session's start, until SESSION_END or the end of the context.
func (s *eventStream) cursor(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		stop := context.AfterFunc(ctx, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
		defer stop()
		for at := 0; ; at++ {
			ev := s.wait(ctx, at)
			if ev == nil || !yield(ev) {
				return
			}
		}
	}
}

// wait returns the event at an index, or nil when there will be none.
func (s *eventStream) wait(ctx context.Context, at int) Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	for at >= len(s.log) {
		if s.ended || ctx.Err() != nil {
			return nil
		}
		s.changed.Wait()
	}
	return s.log[at]
}
