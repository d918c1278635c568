package agent

// A modelCallEpoch holds the epoch of a model call, in the record of its outcome.
type modelCallEpoch struct {
	// Epoch is set if the next one began during the call, by a setting whose record comes before
	// this one.
	Epoch *int `json:"epoch,omitempty"`

	began int // the epoch in which the call began
}

// ended returns the epoch for the journal at the end of the call.
func (a modelCallEpoch) ended(s *State) modelCallEpoch {
	if a.Epoch == nil && a.began != s.Epoch {
		a.Epoch = &a.began
	}
	return a
}

// in returns the epoch of a model call whose record comes next.
func (a modelCallEpoch) in(s *State) int {
	if a.Epoch != nil {
		return *a.Epoch
	}
	return s.Epoch
}

// begunIn reports whether the model call can have begun in an epoch. Others reports that settings
// before its record begin other epochs. The call began after those settings unless the record has
// an Epoch.
func (a modelCallEpoch) begunIn(epoch int, others bool) bool {
	if a.Epoch != nil {
		return *a.Epoch == epoch
	}
	return !others
}

// set changes n to the model of a setting, and reports whether the setting begins an epoch.
func (n *ModelName) set(r *settingRecord) bool {
	was := *n
	n.Provider, n.Model = deref(r.Provider, n.Provider), deref(r.Model, n.Model)
	return *n != was || r.Tools != nil
}

// addEpochs adds the epoch to the records of model calls, before they are written.
func (s *State) addEpochs(records []record) {
	for i, rec := range records {
		switch r := rec.(type) {
		case answerRecord:
			r.modelCallEpoch = r.ended(s)
			records[i] = r
		case faultRecord:
			r.modelCallEpoch = r.ended(s)
			records[i] = r
		}
	}
}

// epoch returns the current epoch and the model that is asked in it.
func (s *Session) epoch() (int, ModelName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Epoch, s.state.askedModel()
}
