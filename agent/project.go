package agent

import (
	"encoding/json"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// project says which events a record stands for. It is called before the record is folded, so before is the state that the
// record found.
func project(rec record, before *State) []Event {
	switch r := rec.(type) {
	case inputRecord:
		if r.Continue {
			return []Event{&UserInput{Text: before.Last.Text}}
		}
		return []Event{&UserInput{Text: r.Text}}
	case turnRecord:
		return []Event{&SteeringInjected{Text: r.Text, Source: r.Source}}
	case answerRecord:
		return projectAnswer(r, before)
	case resultRecord:
		return []Event{projectResult(r)}
	case faultRecord:
		return projectFault(r, before)
	case endRecord:
		if r.Session {
			return []Event{&SessionEnd{State: StatusClosed, Reason: r.Reason}}
		}
		return projectEnd(r, before)
	}
	return nil
}

func projectAnswer(r answerRecord, before *State) []Event {
	var events []Event
	for _, part := range r.Message.Parts {
		if t, ok := part.(llm.Text); ok {
			events = append(events, &AssistantTextEnd{Block: len(events), Text: t.Text})
		}
	}
	return append(events, &StepEnd{Step: before.Steps + 1, FinishReason: r.Finish.Reason, Usage: r.Usage,
		LatencyMS: r.Latency.Milliseconds(), Attempts: len(before.Faults) + 1})
}

func projectResult(r resultRecord) Event {
	output := r.full
	if output == "" {
		output = r.Content.Text()
	}
	return &ToolCallEnd{CallID: r.CallID, Name: r.Name, Output: output, OutputBytes: r.Bytes, OutputComplete: !r.cut,
		OutputRef: r.OutputRef, IsError: r.IsError, DurationMS: r.Duration.Milliseconds()}
}

func projectFault(r faultRecord, before *State) []Event {
	events := discardedTexts(r.Discarded)
	if r.RetryAt.IsZero() {
		return events
	}
	return append(events, &LLMRetry{Attempt: len(before.Faults) + 1, DelayMS: r.Delay.Milliseconds(), ErrorKind: r.Kind,
		Status: r.Status, Text: r.Text, TextDiscarded: len(r.Discarded) > 0})
}

func discardedTexts(texts []string) []Event {
	var events []Event
	for block, text := range texts {
		events = append(events, &AssistantTextEnd{Block: block, Text: text, Discarded: true})
	}
	return events
}

func projectEnd(r endRecord, before *State) []Event {
	var events []Event
	if f := before.fault(); f != nil { // the model call that failed is still open
		events = append(events, &StepEnd{Step: before.Steps + 1, FinishReason: llm.FinishError, LatencyMS: f.Latency.Milliseconds(),
			Attempts: len(before.Faults)})
	}
	state := StatusIdle
	switch {
	case r.Reason == Failed:
		f := before.fault()
		events = append(events, &Error{ErrorKind: f.Kind, Text: f.Text, Provider: f.Provider, Status: f.Status,
			Retryable: f.Retryable, RequestID: f.RequestID})
		state = StatusClosed
	case r.Reason == Aborted:
		state = StatusClosed
	case r.Reason.Limit():
		events = append(events, &TurnLimit{Limit: r.Reason, Value: r.Value})
	}
	if state == StatusIdle && r.Reason.goesOn() && before.Queued(FollowUps) != nil {
		state = StatusProcessing
	}
	in := before.Input
	return append(events, &ProcessingEnd{Reason: r.Reason, Text: in.Final, Usage: in.Usage, Turns: in.Turns, ToolRounds: in.Rounds,
		State: state})
}

// arguments is a call's text as JSON for an event.
func arguments(text string) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return json.RawMessage("{}")
	}
	if trimmed[0] == '{' && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	raw, err := json.Marshal(map[string]string{"_raw": text})
	if err != nil { // cannot happen: a map of strings
		return json.RawMessage("{}")
	}
	return raw
}
