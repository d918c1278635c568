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
