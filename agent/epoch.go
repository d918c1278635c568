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

// set makes n the model that a setting chooses, and reports whether the setting begins an epoch.
func (n *ModelName) set(r *settingRecord) bool {
	was := *n
	n.Provider, n.Model = deref(r.Provider, n.Provider), deref(r.Model, n.Model)
	return *n != was || r.Tools != nil
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

// epoch returns the epoch of now, and the model that is asked in it.
func (s *Session) epoch() (int, ModelName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Epoch, s.state.asked()
}
