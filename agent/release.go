package agent

import (
	"context"
	"errors"
)

var (
	// ErrReleased means that the session was given away by [Session.Release], or by a middleware
	// that left a call open. Its journal has no end, and whoever resumes it goes on.
	ErrReleased = errors.New("agent: the session was released")
	// ErrTakenOver means that another process has written to the session's journal. The session
	// lives on there; here it has ended without an event.
	ErrTakenOver = errors.New("agent: the session was taken over by another process")
)

// Release gives the session away: it ends here as by [Session.Close], but without a record or an
// event of an end, so that another process can resume it from the journal. A running model call,
// and tool calls that have begun, come to their ends first; calls that have not begun stay open. If
// ctx ends before that, the step is cut off as by a kill, and OnEvent has Options.Grace to return.
// Submit returns an error that is an [ErrReleased]. Background commands and subagents end with the
// session. Release waits for all of that, so OnEvent, hooks and tools of the session must not call
// it.
func (s *Session) Release(ctx context.Context) error {
	s.disown(ErrReleased)
	stop := context.AfterFunc(ctx, s.sever)
	defer stop()
	s.endGivenAway()
	s.closed.Wait()
	return s.closing()
}
