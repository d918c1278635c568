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
	ended   bool    // SESSION_END is in the log
}

func newEventStream(session string, now func() time.Time, on func(Event)) *eventStream {
	s := &eventStream{session: session, now: now, on: on}
	s.changed.L = &s.mu
	return s
}

// add appends events without delivering them, so that it can be called with the session's lock held. Nothing follows
// SESSION_END: later events are dropped.
func (s *eventStream) add(events ...Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range events {
		if s.ended {
			return
		}
		s.seq++
		*ev.Head() = EventHeader{Kind: ev.kind(), SessionID: s.session, Seq: s.seq, Time: s.now().UTC()}
		_, s.ended = ev.(*SessionEnd)
		s.log = append(s.log, ev)
		if s.on != nil {
			s.pending = append(s.pending, ev)
		}
	}
	s.changed.Broadcast()
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
	for len(s.pending) > 0 {
		ev := s.pending[0]
		s.pending = s.pending[1:]
		s.mu.Unlock()
		s.on(ev)
		s.mu.Lock()
		s.done = ev.Head().Seq
		s.changed.Broadcast()
	}
	s.pending = nil
	s.busy = false
	s.changed.Broadcast()
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
