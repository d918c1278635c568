package agent

import "github.com/attractor-go/attractor/llm"

// leaveOut forgets what the records up to a number may have changed. The calls of the last answer
// stay, because their results may come later.
func (s *State) leaveOut(to int64) {
	s.Records, s.partial, s.unsettled = to, true, true
	s.Input, s.Last, s.Queue, s.Faults, s.Failed, s.recent, s.loopWarned = nil, nil, nil, nil, nil, nil, nil
}

// supply adds to the state what missing records must have said for a record to come now.
func (p *Projection) supply(rec record) {
	switch r := rec.(type) {
	case inputRecord, queuedRecord, settingRecord, childRecord, noteRecord, spentRecord, renewalRecord, compactRecord:
		return // may come while no input is open
	case endRecord:
		if r.Session {
			return
		}
	case answerRecord:
		p.joinStep(r.Shown)
	case faultRecord:
		p.joinStep(r.Shown)
	}
	if p.state.Input == nil {
		p.state.Input = &Input{Began: p.now}
	}
	switch r := rec.(type) {
	case awaitRecord:
		p.state.supplyCall(r.CallID)
	case resultRecord:
		p.state.supplyCall(r.CallID)
	}
}

// joinStep begins a model call without an event if an attempt is not its first one.
func (p *Projection) joinStep(seen shown) {
	if p.state.unsettled && seen.Step == 0 {
		p.stream.step = true
	}
}

// supplyCall opens a call whose answer is missing.
func (s *State) supplyCall(id string) {
	if s.open(id) == nil {
		s.Calls = append(s.Calls, OpenCall{ToolCall: llm.ToolCall{ID: id}, unseen: true})
	}
}

// hides reports whether missing records decide which events a record has: those that it may have
// had to end a failed model call.
func (s *State) hides(rec record) bool {
	switch r := rec.(type) {
	case compactRecord:
		return s.unsettled && r.Failed == ""
	case modelRecord, mendRecord:
		return s.unsettled
	case endRecord:
		return !r.Session && (s.unsettled || s.partial && r.Reason == ReasonFailed && r.Fault == nil &&
			s.fault() == nil)
	}
	return false
}

// settle notes that after a record the failed attempts of the current model call are known.
func (s *State) settle(rec record) {
	switch r := rec.(type) {
	case answerRecord, resultRecord, intentRecord, awaitRecord, turnRecord, mendRecord:
		s.unsettled = false
	case inputRecord:
		s.unsettled = s.unsettled && r.Continue
	case faultRecord:
		s.unsettled = s.unsettled && r.Shown.Step == 0
	case compactRecord:
		s.unsettled = s.unsettled && r.Failed != ""
	case endRecord:
		s.unsettled = s.unsettled && r.Session
	}
}
