package agent

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

// accepts returns an error for a record that cannot come now, because the journal is damaged or the
// loop is wrong. Any other can be folded.
func (s *State) accepts(rec record) error {
	if problem := s.problem(rec); problem != "" {
		return fmt.Errorf("%s record out of place: %s", rec.kind(), problem)
	}
	return nil
}

// problem returns why a record cannot come now, or "". If records are missing before it, only those
// that begin a journal cannot.
func (s *State) problem(rec record) string {
	problem := ""
	switch r := rec.(type) {
	case headerRecord:
		if s.Records > 0 {
			problem = "a second header"
		}
		return problem
	case historyRecord:
		if s.Records > 1 {
			return "it does not follow the header"
		}
		problem = conversation.Problem(r.Messages)
	}
	if s.Records == 0 {
		return "the header is missing"
	}
	if s.partial {
		return ""
	}
	switch r := rec.(type) {
	case inputRecord:
		return s.acceptsInput(r)
	case awaitRecord:
		return s.acceptsCall(r.CallID)
	case resultRecord:
		return s.acceptsCall(r.CallID)
	case compactRecord:
		if r.Failed == "" && (r.First < 1 || r.First > len(s.Turns)) {
			problem = fmt.Sprintf("there is no turn %d", r.First)
		}
	case intentRecord:
		problem = s.needsInput()
		for _, call := range r.Calls {
			problem = cmp.Or(problem, s.acceptsCall(call.ID))
		}
	case turnRecord:
		problem = cmp.Or(s.needsInput(), s.acceptsTurn(r))
	case modelRecord:
		problem = s.acceptsModel(r)
	case answerRecord, faultRecord, stopRecord, mendRecord:
		problem = s.needsInput()
	case endRecord:
		if problem = s.acceptsEnd(r); r.Session || r.Reason == ReasonAwaitingInput {
			return problem
		}
	}
	if len(s.Calls) > 0 && !betweenCalls(rec) {
		problem = "calls have no result yet"
	}
	return problem
}

func (s *State) acceptsInput(r inputRecord) string {
	asked := s.awaiting()
	switch {
	case s.Input != nil && !r.Continue:
		return "an input is open"
	case r.Continue && s.Input == nil && s.Last == nil:
		return "there is no input to continue"
	case asked != nil && !r.Continue && r.Answers != asked.ID:
		return "a question waits for its answer"
	case r.Answers != "" && asked == nil:
		return "no question waits for an answer"
	case len(s.Calls) > 0 && !r.Continue && r.Answers == "":
		return "calls have no result yet"
	}
	return s.acceptsQueued(r.Queued)
}

// acceptsCall returns the problem of a record about a call.
func (s *State) acceptsCall(id string) string {
	if s.open(id) == nil {
		return fmt.Sprintf("no call %q is open", id)
	}
	return s.needsInput()
}

// acceptsTurn returns the problem of a turn of the session's. A warning of a loop must fit the
// calls that were made.
func (s *State) acceptsTurn(r turnRecord) string {
	switch loop := r.Loop; {
	case loop == nil && r.Origin == OriginLoop:
		return "it warns of no loop"
	case loop != nil && (loop.Period < 1 || loop.Period > len(s.recent)):
		return fmt.Sprintf("there are no %d calls that could repeat", loop.Period)
	}
	return s.acceptsQueued(r.Queued)
}

func (s *State) acceptsQueued(id int) string {
	if id != 0 && !slices.ContainsFunc(s.Queue, func(q Queued) bool { return q.ID == id }) {
		return fmt.Sprintf("there is no entry %d in the queue", id)
	}
	return ""
}

func (s *State) acceptsEnd(r endRecord) string {
	switch {
	case r.Session:
		return ""
	case s.Input == nil:
		return s.needsInput()
	case r.Reason == ReasonAwaitingInput && s.awaiting() == nil:
		return "no question waits for an answer"
	case r.Reason == ReasonFailed && s.fault() == nil && r.Fault == nil:
		return "nothing has failed"
	}
	return ""
}

// needsInput returns a problem if no input is open.
func (s *State) needsInput() string {
	if s.Input == nil {
		return "no input is open"
	}
	return ""
}

// betweenCalls reports whether a record may come between calls and their results.
func betweenCalls(rec record) bool {
	switch rec.(type) {
	case intentRecord, stopRecord, queuedRecord, settingRecord, childRecord, noteRecord, renewalRecord:
		return true
	}
	return false
}

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
