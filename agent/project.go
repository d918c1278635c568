package agent

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// project returns the events of a record. Before is the state before the record was folded.
func project(rec record, before *State) []Event {
	if before.hides(rec) {
		return nil
	}
	switch r := rec.(type) {
	case historyRecord:
		return []Event{projectHistory(r)}
	case inputRecord:
		switch {
		case r.Continue && (before.Input != nil || before.Last == nil):
			return nil
		case r.Continue:
			return []Event{&UserInput{Text: before.Last.Text}}
		}
		return []Event{&UserInput{Text: r.Text, Action: r.Action}}
	case turnRecord:
		if r.Loop != nil {
			return []Event{&LoopDetection{Period: r.Loop.Period, Repeats: r.Loop.Repeats, Text: r.Text}}
		}
		return []Event{&SteeringInjected{Text: r.Text, Source: r.Source}}
	case noteRecord:
		return []Event{projectNote(r)}
	case awaitRecord:
		return []Event{r.event()}
	case compactRecord:
		return projectCompaction(r, before)
	case answerRecord:
		return projectAnswer(r, before)
	case resultRecord:
		return []Event{projectResult(r)}
	case faultRecord:
		return append(discardedTexts(r.Discarded), r.retry(len(before.Faults)+1)...)
	case modelRecord:
		return projectModel(r, before)
	case mendRecord:
		return append(failedStep(before), r.warning())
	case spentRecord:
		return r.retry(r.Attempt)
	case endRecord:
		if r.Session {
			return []Event{&SessionEnd{State: StatusClosed, Reason: r.Reason}}
		}
		return projectEnd(r, before)
	}
	return nil
}

// apply folds a record and returns its events.
func (s *State) apply(rec record, at time.Time) []Event {
	events := project(rec, s)
	s.fold(rec, at)
	if s.Records == 1 {
		events = append(events, s.started(s.Dir(), false))
	}
	return append(events, s.windowWarning()...)
}

func projectAnswer(r answerRecord, before *State) []Event {
	var events []Event
	for _, part := range r.Message.Parts {
		if t, ok := part.(llm.Text); ok && t.Text != "" { // an empty text has no events
			events = append(events, &AssistantTextEnd{Block: len(events), Text: t.Text, Sources: t.Sources})
		}
	}
	return append(events, &StepEnd{Step: before.Steps + 1, FinishReason: r.Finish.Reason, Usage: r.Usage,
		LatencyMS: r.Latency.Milliseconds(), Attempts: len(before.Faults) + 1, CostUSD: r.Cost, Cold: r.Cold})
}

func projectResult(r resultRecord) Event {
	output, complete := r.full, !r.cut
	if output == "" { // older programs wrote no Truncated, but stored most outputs that were cut
		output, complete = r.Content.Text(), complete && !r.Truncated && r.OutputRef == ""
	}
	return &ToolCallEnd{CallID: r.CallID, Name: r.Name, Output: output, OutputBytes: r.Bytes, OutputComplete: complete,
		OutputRef: r.OutputRef, OutputBlob: r.keptAs(), IsError: r.IsError, DurationMS: r.Duration.Milliseconds(),
		Changes: r.Changes, Ran: r.Ran, Structured: r.Structured, Media: conversation.Media(r.Content, eventOutput)}
}

// projectNote returns the event of a note, a [PlanUpdated] if it holds a todo list.
func projectNote(r noteRecord) Event {
	var plan tool.Plan
	if r.Note == tool.PlanNote && json.Unmarshal(r.Data, &plan) == nil && plan.Items != nil {
		return &PlanUpdated{Plan: plan}
	}
	return &NoteWritten{Note: r.Note, Data: r.Data, Text: r.Text}
}

// retry returns the event of another attempt after a failed one, if there is to be one.
func (f *Fault) retry(attempt int) []Event {
	if f.RetryAt.IsZero() {
		return nil
	}
	return []Event{&LLMRetry{Attempt: attempt, DelayMS: f.Delay.Milliseconds(), ErrorKind: f.Kind, Status: f.Status,
		Text: f.Text, TextDiscarded: len(f.Discarded) > 0}}
}

func discardedTexts(texts []string) []Event {
	var events []Event
	for block, text := range texts {
		events = append(events, &AssistantTextEnd{Block: block, Text: text, Discarded: true})
	}
	return events
}

func projectCompaction(r compactRecord, before *State) []Event {
	if r.Failed != "" {
		return []Event{&Warning{Code: "compaction_failed", Text: "The conversation was not compacted: " + r.Failed}}
	}
	if before.partial {
		return append(failedStep(before), &Compaction{TurnsReplaced: r.First, TokensBefore: r.Before})
	}
	after := before.head()
	after.Add(llm.User(r.Text, r.More...))
	for _, t := range before.Turns[r.First:] {
		after.Add(t.Message)
	}
	return append(failedStep(before), &Compaction{TurnsReplaced: r.First, TokensBefore: r.Before,
		TokensAfter: after.Tokens()})
}

// failedStep returns the events that end a failed model call, if there is one.
func failedStep(before *State) []Event {
	f := before.fault()
	if f == nil {
		return nil
	}
	return []Event{&StepEnd{Step: before.Steps + 1, FinishReason: llm.FinishError, LatencyMS: f.Latency.Milliseconds(),
		Attempts: len(before.Faults)}}
}

func projectEnd(r endRecord, before *State) []Event {
	events := failedStep(before)
	state := StatusIdle
	switch {
	case r.Reason == ReasonFailed:
		f := before.fault()
		if r.Fault != nil {
			f = r.Fault
		}
		if f.tooLong() {
			events = append(events, fullWindow(f, before))
		}
		text := f.Text
		if all := before.failures(); r.Fault == nil && all != nil {
			text = (&ModelsFailed{all}).Error()
		}
		events = append(events, &Error{ErrorKind: f.Kind, Text: text, Provider: f.Provider, Status: f.Status,
			Retryable: f.Retryable, RequestID: f.RequestID})
		if before.Policy.closes(f) {
			state = StatusClosed
		}
	case r.Reason == ReasonAborted, r.Reason == ReasonLogFull:
		state = StatusClosed
	case r.Reason == ReasonAwaitingInput:
		state = StatusAwaiting
	case r.Reason.Limit():
		events = append(events, &TurnLimit{Limit: r.Reason, Value: r.Value})
	case r.Reason == ReasonRefused && before.fault() != nil:
		events = append(events, &Warning{Code: "refused", Text: before.fault().Text})
	}
	if state == StatusIdle && r.Reason.allowsFollowUps() && before.Queued(LaneFollowUps) != nil {
		state = StatusProcessing
	}
	in := before.Input
	return append(events, &ProcessingEnd{Reason: r.Reason, Finish: r.finish(before), Text: cmp.Or(r.Summary, in.Final),
		Usage:   in.Usage.Add(r.Usage),
		CostUSD: in.Cost + r.Cost, Turns: in.Turns, ToolRounds: in.Rounds,
		Unconfirmed: before.unconfirmed(r.Reason), State: state})
}

// fullWindow returns the warning that a request did not fit into the window, with the provider's
// numbers if it gave any.
func fullWindow(f *Fault, before *State) *ContextWarning {
	w := &ContextWarning{Ratio: 1, Tokens: cmp.Or(f.Tokens, before.Context.Tokens()),
		Window: cmp.Or(f.Window, before.Policy.Window)}
	if w.Window > 0 {
		w.Ratio = max(1, float64(w.Tokens)/float64(w.Window))
	}
	return w
}
