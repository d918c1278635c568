package agent

// FoldedState is the state as the session folded it, with the messages that it lets go of at rest, for comparing it with what the
// journal holds.
func (s *Session) FoldedState() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.gather()
	return s.state
}
