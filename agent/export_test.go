package agent

import "github.com/attractor-go/attractor/journal"

// FoldedState is the state as the session folded it, with the messages that it lets go of at rest, for comparing it with what the
// journal holds.
func (s *Session) FoldedState() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.gather()
	return s.state
}

// Comparable returns a record without what differs from run to run.
func Comparable(line journal.Record) string { return string(comparable(line)) }
