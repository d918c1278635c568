package agent

import (
	"cmp"
	"slices"
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
	case conversation.Empty(s.last().Message.Parts) && in.Empties < maxEmpties:
		return Step{Act: ActInject, Origin: OriginEmpty, Text: saySomething}
	case conversation.Empty(s.last().Message.Parts):
		return Step{Act: ActEndInput, Reason: ReasonIncomplete}
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

// maxEmpties limits the empty answers in a row that get a nudge, maxPauses the pauses in a row.
const (
	maxEmpties = 1
	maxPauses  = 16
)

// cut reports whether the answer was cut off before its end.
func (t *Turn) cut() bool { return conversation.CutOff(t.Message.Parts, t.Finish.Reason) }

// openCalls returns the answer's calls. The last one is Torn if the answer was cut off in it. Those
// of a refused answer are Refused.
func (t *Turn) openCalls() []OpenCall {
	var open []OpenCall
	for _, call := range t.Message.Parts.ToolCalls() {
		open = append(open, OpenCall{ToolCall: call, Refused: t.Finish.Reason == llm.FinishContentFilter})
	}
	if t.cut() && conversation.TornCall(t.Message.Parts) {
		open[len(open)-1].Torn = true
	}
	return open
}

// last returns the newest turn, nil if there is none.
func (s *State) last() *Turn {
	if len(s.Turns) == 0 {
		return nil
	}
	return &s.Turns[len(s.Turns)-1]
}

// refused reports whether the last answer was refused and no turn has come since.
func (s *State) refused() bool {
	last := s.last()
	return last != nil && (last.Kind == TurnAssistant || last.Kind == TurnToolResults) &&
		s.Input.Finish.Reason == llm.FinishContentFilter
}

// modelDone reports whether the model is done: its last answer has no calls, or none that may run,
// and is not a pause.
func (s *State) modelDone() bool {
	if s.Answered() && s.last().Finish.Reason == llm.FinishPause {
		return s.Input.Pauses > maxPauses
	}
	return s.Answered() || s.refused()
}

// continues reports whether the next answer goes on where the last one stopped, so that their texts
// are joined.
func (s *State) continues() bool {
	if s.Policy.textIsResult() {
		return false
	}
	for _, t := range slices.Backward(s.Turns) {
		switch {
		case t.Origin == OriginContinue:
			return true
		case t.Origin != OriginSteer && t.Origin != OriginNote: // these may stand after it
			return t.Kind == TurnAssistant && t.Finish.Reason == llm.FinishPause
		}
	}
	return false
}

// unfinishedStep returns the step after an answer that is unfinished: the model is asked to go on,
// or the input ends. Ok is false if the answer is finished, even if it is empty.
func (s *State) unfinishedStep() (step Step, ok bool) {
	in, p := s.Input, &s.Policy
	switch last := s.last(); {
	case s.refused():
		return Step{Act: ActEndInput, Reason: ReasonRefused}, true
	case last.Finish.Reason == llm.FinishPause, last.cut() && in.Continues >= p.Continues:
		return Step{Act: ActEndInput, Reason: ReasonIncomplete}, true
	case !last.cut():
		return Step{}, false
	}
	text := goOn
	if p.textIsResult() {
		text = again
	}
	return Step{Act: ActInject, Origin: OriginContinue, Text: text}, true
}

const (
	goOn = "Your last response was cut off before it was finished. Go on exactly where it stopped: do not repeat " +
		"what you have said, and do not comment on this."
	again = "Your last response was cut off before the result was complete. Give the whole result again, and " +
		"make it shorter."
	saySomething = "Your last response was empty. Go on with the task; if it is done, give your final answer."
)

const (
	tornCall = "Error: the call was not run, because your response reached its length limit before the call's " +
		"arguments were complete. Make the call again with less in it, for example a long file in several parts."
	refusedCall = "Error: the call was not run, because the response that it belongs to was refused."
)

// refused reports whether the provider refused to answer the request.
func (f *Fault) refused() bool { return llm.KindNamed(f.Kind) == llm.ErrContentFilter }

// finish returns a refusal as the Finish of an answer.
func (f *Fault) finish() llm.Finish {
	return llm.Finish{Reason: llm.FinishContentFilter, Raw: cmp.Or(f.Code, f.Text)}
}
