package agent

import (
	"time"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

// An Act names what the loop does in a step.
type Act string

// The acts.
const (
	ActRest        Act = "rest"         // nothing; the session waits for the host
	ActBeginInput  Act = "begin_input"  // begin the next follow-up as an input
	ActRunCalls    Act = "run_calls"    // run Calls and record their results
	ActInject      Act = "inject"       // add a turn of Origin to the history, or all queued steering or notes
	ActWait        Act = "wait"         // wait until Until for the next attempt
	ActCallModel   Act = "call_model"   // make one attempt
	ActChangeModel Act = "change_model" // use Model from now on
	ActCompact     Act = "compact"      // replace the beginning of the history by a summary
	ActMend        Act = "mend"         // leave out of the requests what the provider has refused
	ActConfirm     Act = "confirm"      // ask BeforeStop whether the input may end for Reason
	ActSummarize   Act = "summarize"    // ask the model for a last text, then end the input for Reason
	ActEndInput    Act = "end_input"    // end the input for Reason
)

// Step describes what to do next.
type Step struct {
	Act    Act
	Calls  []OpenCall // for ActRunCalls
	Reason Reason     // why the input ends; for ActRunCalls, why the calls are not run but get error results
	Value  float64    // the limit that was reached
	Until  time.Time  // for ActWait
	Origin Origin     // for ActInject
	// for ActInject, unless it is queued; for ActEndInput, a failure other than that of a model
	// call
	Text  string
	Loop  *Loop          // for ActInject with OriginLoop
	First int            // for ActCompact, the index of the first turn that stays
	Model *FallbackModel // for ActChangeModel
	mend  *mendRecord    // for ActMend
}

// Next returns what a session in this state does next. It is a pure function, and the order of its
// cases is the specification of the loop.
func Next(s *State, now time.Time) Step {
	in, p := s.Input, &s.Policy
	if open := s.runnable(); len(open) > 0 {
		// nothing may come between calls and their results
		return Step{Act: ActRunCalls, Calls: open, Reason: in.Ending}
	}
	switch {
	case s.compactsAtRest():
		return s.compactionStep()
	case in == nil && s.Queued(LaneFollowUps) != nil && s.allowsFollowUps():
		return Step{Act: ActBeginInput}
	case in == nil:
		return Step{Act: ActRest}
	case in.Ending != "":
		return Step{Act: ActEndInput, Reason: in.Ending, Value: in.Value}
	case s.awaiting() != nil:
		return Step{Act: ActEndInput, Reason: ReasonAwaitingInput}
	case p.Result != nil && in.Corrections > maxCorrections:
		return Step{Act: ActEndInput, Reason: ReasonFailed, Text: noObject}
	}
	steered := s.Queued(LaneSteering) != nil
	if in.Done || s.modelDone() && !steered {
		return s.endingStep()
	}
	if f := s.fault(); f != nil {
		if step, ok := s.mendStep(f); ok {
			return step
		}
		switch {
		case f.tooLong() && !in.Rescued && p.Compaction.on() && s.compacts():
			return s.compactionStep()
		case f.RetryAt.IsZero() && f.refused():
			return Step{Act: ActEndInput, Reason: ReasonRefused}
		case f.RetryAt.IsZero():
			if step, ok := s.fallbackStep(); ok {
				return step
			}
			return Step{Act: ActEndInput, Reason: ReasonFailed}
		case now.Before(f.RetryAt):
			return Step{Act: ActWait, Until: f.RetryAt}
		}
		return Step{Act: ActCallModel} // the same model call again; nothing may come in between
	}
	if limit := s.limitStep(); limit.Reason != "" {
		return limit
	}
	if s.returnDue() {
		return Step{Act: ActChangeModel, Model: &s.Fallback.Chosen}
	}
	switch loop := s.looping(p.Loops); {
	case s.compactionDue():
		return s.compactionStep()
	case steered:
		return Step{Act: ActInject, Origin: OriginSteer}
	case s.Queued(LaneNotes) != nil:
		return Step{Act: ActInject, Origin: OriginNote}
	case loop != nil && p.Loops.EndInput:
		return p.atLimit(ReasonLoop, float64(loop.Repeats))
	case loop != nil:
		return Step{Act: ActInject, Origin: OriginLoop, Loop: loop, Text: loop.warning()}
	}
	return Step{Act: ActCallModel}
}

// runnable returns the open calls that do not wait for the host, or all of them if the input has to
// end.
func (s *State) runnable() []OpenCall {
	if s.Input == nil {
		return nil
	}
	var open []OpenCall
	for _, c := range s.Open() {
		if c.awaits == nil || s.Input.Ending != "" {
			open = append(open, c)
		}
	}
	return open
}

// endingStep returns the step after the last answer of an input, or after a result that is Done.
func (s *State) endingStep() Step {
	in, p := s.Input, &s.Policy
	if !in.Done {
		if step, ok := s.unfinishedStep(); ok {
			return step
		}
	}
	if problem := p.missing(in); problem != "" {
		switch {
		case in.Nudges < maxNudges && p.Result == nil, in.Corrections < maxCorrections && p.Result != nil:
			return Step{Act: ActInject, Origin: OriginNudge, Text: problem}
		case p.Result != nil:
			return Step{Act: ActEndInput, Reason: ReasonFailed, Text: noObject}
		}
	}
	reason := ReasonCompleted
	switch {
	case in.Done:
		reason = ReasonDone
	case conversation.Empty(s.last().Message.Parts):
		return s.emptyAnswerStep()
	}
	if in.Confirms < p.MaxConfirms {
		return Step{Act: ActConfirm, Reason: reason}
	}
	return Step{Act: ActEndInput, Reason: reason}
}

// unconfirmed reports whether an input that ends for a reason ends without having been shown to
// BeforeStop, which has sent the agent back as often as it may.
func (s *State) unconfirmed(reason Reason) bool {
	return reason.isDone() && s.Policy.MaxConfirms > 0 && s.Input.Confirms >= s.Policy.MaxConfirms
}

// limitStep returns the step at a limit that is reached before a model call, a zero Step if none
// is. The end of a budget is a record instead, since it depends on a timer or on other agents.
func (s *State) limitStep() Step {
	p, in := &s.Policy, s.Input
	switch {
	case p.MaxToolRounds > 0 && in.Rounds >= p.MaxToolRounds:
		return p.atLimit(ReasonMaxToolRounds, float64(p.MaxToolRounds))
	case p.MaxTurns > 0 && s.Steps >= p.MaxTurns:
		return p.atLimit(ReasonMaxTurns, float64(p.MaxTurns))
	}
	return Step{}
}

// atLimit returns the step at a limit.
func (p *Policy) atLimit(reason Reason, value float64) Step {
	step := Step{Act: ActEndInput, Reason: reason, Value: value}
	if p.OnLimit == SummarizeOnLimit {
		step.Act = ActSummarize
	}
	return step
}

// allowsFollowUps reports whether follow-ups run after the end of the last input.
func (s *State) allowsFollowUps() bool {
	return s.Last != nil && s.Last.Reason.allowsFollowUps()
}

func (r Reason) allowsFollowUps() bool {
	switch r {
	case ReasonCompleted, ReasonDone, ReasonMaxToolRounds, ReasonMaxTurns, ReasonLoop, ReasonIncomplete, ReasonRefused:
		return true
	}
	return false
}

// stepRecords returns the records of a step without work, nil for any other.
func (s *State) stepRecords(step Step) []record {
	switch step.Act {
	case ActBeginInput:
		q := s.Queued(LaneFollowUps)
		return []record{inputRecord{Text: q.Text, More: q.More, Queued: q.ID}}
	case ActInject:
		lane, queued := map[Origin]Lane{OriginSteer: LaneSteering, OriginNote: LaneNotes}[step.Origin]
		if !queued {
			return []record{turnRecord{Origin: step.Origin, Text: step.Text, Loop: step.Loop, Source: sourceHook}}
		}
		var turns []record
		for _, q := range s.Queue {
			if q.Lane == lane {
				turns = append(turns, turnRecord{Origin: step.Origin, Text: q.Text, More: q.More, Queued: q.ID,
					Source: q.Source})
			}
		}
		return turns
	case ActChangeModel:
		return []record{modelRecord{FallbackModel: *step.Model, Return: s.fault() == nil}}
	case ActMend:
		return []record{*step.mend}
	case ActEndInput:
		end := endRecord{Reason: step.Reason, Value: step.Value}
		if step.Text != "" {
			end.Fault = &Fault{Kind: llm.ErrNoObject.Error(), Text: step.Text, Provider: s.Provider}
		}
		return []record{end}
	}
	return nil
}

// The sources of steering, as STEERING_INJECTED names them.
const (
	sourceHost = "host"
	sourceHook = "hook"
)
