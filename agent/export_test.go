package agent

// FoldedState is the state as the session folded it, for comparing it with what the journal holds.
func (s *Session) FoldedState() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}
