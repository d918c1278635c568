package agent

import (
	"context"
	"errors"
)

var (
	// ErrReleased means that the session was given away by [Session.Release], or by a middleware that left a call open: its journal says
	// nothing of an end, and whoever resumes it goes on.
	ErrReleased = errors.New("agent: the session was released")
	// ErrTakenOver means that somebody else has written to the session's journal. The session lives on there. Here it has ended
	// without an event that says so.
	ErrTakenOver = errors.New("agent: the session was taken over by another process")
)

// Release gives the session away: it ends here as [Session.Close] ends it, but without a record or an event of an end, so that another
// process can resume it from the journal. A model call that is running, and calls of an answer that have begun, come to their ends first; calls
// that have not begun stay open. When ctx ends before that, the step is cut off as by a kill, and OnEvent has Options.Grace to return. Submit
// returns an error that is an [ErrReleased]. Commands in the background and subagents end with the session. As with Close, it waits: neither
// OnEvent nor a hook or a tool of the session may call it.
func (s *Session) Release(ctx context.Context) error {
	s.leave(ErrReleased)
	stop := context.AfterFunc(ctx, s.cut)
	defer stop()
	s.retire()
	<-s.closed
	return s.closing()
}

// retire ends a session that is given away, unless somebody works on it, who ends it then.
func (s *Session) retire() {
	s.mu.Lock()
	idle := s.ending == "" && s.working.Load() == nil
	if idle {
		s.ending, s.why = Closed, s.left()
		if !errors.Is(s.why, ErrReleased) {
			s.failure = s.why
		}
	}
	s.mu.Unlock()
	if idle {
		go s.shutdown()
	}
}

// leave has the session end before its next step, without saying so. Only the first reason counts. It takes no lock.
func (s *Session) leave(why error) { s.endStay(why) }

// left returns why the session ends without saying so, nil when it does not.
func (s *Session) left() error { return context.Cause(s.stay) }

// cut ends a session that is given away in the middle of what it does: nothing is written and nothing is told any more.
func (s *Session) cut() {
	s.severed.Store(true)
	s.events.silence()
	s.endLife(s.left())
	s.events.hurry()
}
