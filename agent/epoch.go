package agent

// callEpoch says in which epoch a model call was made, in the record of what it came to.
type callEpoch struct {
	// Epoch is set where the next one began while the call ran: by a setting, whose record comes before this one.
	Epoch *int `json:"epoch,omitempty"`

	began int // the epoch when the call began, before it is known whether another one comes
}

// over returns callEpoch as the journal has it when the call is over.
func (a callEpoch) over(s *State) callEpoch {
	if a.Epoch == nil && a.began != s.Epoch {
		a.Epoch = &a.began
	}
	return a
}

// in returns the epoch of a call whose record comes next.
func (a callEpoch) in(s *State) int {
	if a.Epoch != nil {
		return *a.Epoch
	}
	return s.Epoch
}

// begunIn reports whether the call began in an epoch, or may have: others that settings begin came before it, unless the record says
// that one came later.
func (a callEpoch) begunIn(epoch int, others bool) bool {
	if a.Epoch != nil {
		return *a.Epoch == epoch
	}
	return !others
}

// served is what serves the model calls of an epoch, with the tools.
type served struct{ provider, model string }

// set makes s what a setting makes it, and reports whether that begins an epoch.
func (s *served) set(r *settingRecord) bool {
	was := *s
	s.provider, s.model = deref(r.Provider, s.provider), deref(r.Model, s.model)
	return *s != was || r.Tools != nil
}

// dated completes the records of model calls, which come next.
func (s *State) dated(records []record) {
	for i, rec := range records {
		switch r := rec.(type) {
		case answerRecord:
			r.callEpoch = r.over(s)
			records[i] = r
		case faultRecord:
			r.callEpoch = r.over(s)
			records[i] = r
		}
	}
}

// epoch returns the epoch of now, and what serves it.
func (s *Session) epoch() (int, served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Epoch, served{s.state.Provider, s.state.Model}
}
