package agent

import (
	"reflect"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// The states of these tests are built from records, as every state is.
var (
	at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

	begun = []record{headerRecord{Version: version, Header: Header{ID: "s", System: "sys"}},
		inputRecord{Text: "task"}}
	said     = answerRecord{Message: llm.Assistant("done")}
	steered  = queuedRecord{Lane: LaneSteering, Text: "left", Source: "host"}
	followUp = queuedRecord{Lane: LaneFollowUps, Text: "and then", Source: "host"}
)

func asked(ids ...string) answerRecord {
	m := llm.Message{Role: llm.RoleAssistant}
	for _, id := range ids {
		m.Parts = append(m.Parts, llm.ToolCall{ID: id, Name: "shell", Args: "{}"})
	}
	return answerRecord{Message: m}
}

func got(id string) resultRecord {
	return resultRecord{CallID: id, Name: "shell", Content: llm.TextParts("ok")}
}

func stateOf(t *testing.T, records ...record) *State {
	t.Helper()
	s := new(State)
	for i, rec := range records {
		if err := s.accepts(rec); err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		s.fold(rec, at)
	}
	return s
}

func ended(reason Reason) []record { return []record{said, endRecord{Reason: reason}} }

// TestNext tests the cases of Next, except those for hooks and policies.
func TestNext(t *testing.T) {
	later := at.Add(time.Minute)
	wait := faultRecord{Fault: Fault{Kind: "server", Retryable: true, RetryAt: later, Delay: time.Minute}}
	final := faultRecord{Fault: Fault{Kind: "authentication"}}
	limits := Policy{MaxToolRounds: 1, MaxTurns: 2}
	round := []record{asked("a"), got("a")}
	tests := []struct {
		name    string
		records []record // after the records in begun
		policy  Policy
		now     time.Time
		want    Step
	}{
		{name: "a new input calls the model", want: Step{Act: ActCallModel}},
		{name: "A3 an answer without calls ends it", records: []record{said},
			want: Step{Act: ActEndInput, Reason: ReasonCompleted}},
		{name: "calls run", records: []record{asked("a", "b")},
			want: Step{Act: ActRunCalls, Calls: openCalls("a", "b")}},
		{name: "the calls left run", records: []record{asked("a", "b"), got("b")},
			want: Step{Act: ActRunCalls, Calls: openCalls("a")}},
		{name: "results call the model", records: round, want: Step{Act: ActCallModel}},
		{name: "A14 a done tool ends it", records: []record{asked("a"), resultRecord{CallID: "a", Done: true}},
			want: Step{Act: ActEndInput, Reason: ReasonDone}},
		{name: "A6 steering before the first call", records: []record{steered},
			want: Step{Act: ActInject, Origin: OriginSteer}},
		{name: "A6 steering after results", records: append(round[:2:2], steered),
			want: Step{Act: ActInject, Origin: OriginSteer}},
		{name: "A6 steering keeps an answered input going", records: []record{said, steered},
			want: Step{Act: ActInject, Origin: OriginSteer}},
		{name: "nothing between calls and results", records: []record{asked("a"), steered},
			want: Step{Act: ActRunCalls, Calls: openCalls("a")}},
		{name: "injected steering calls the model", records: []record{steered,
			turnRecord{Origin: OriginSteer, Text: "left", Queued: 1}}, want: Step{Act: ActCallModel}},
		{name: "A4 the round limit", records: round, policy: limits,
			want: Step{Act: ActEndInput, Reason: ReasonMaxToolRounds, Value: 1}},
		{name: "A4 the turn limit", records: append(round[:2:2], append(round, steered)...),
			policy: Policy{MaxTurns: 2}, want: Step{Act: ActEndInput, Reason: ReasonMaxTurns, Value: 2}},
		{name: "A4 no limit on the answer itself", records: append(round[:2:2], said), policy: limits,
			want: Step{Act: ActEndInput, Reason: ReasonCompleted}},
		{name: "A5 an interrupt ends it", records: append(round[:2:2], stopRecord{Reason: ReasonInterrupted}),
			want: Step{Act: ActEndInput, Reason: ReasonInterrupted}},
		{name: "A5 an interrupt gives open calls their results first", records: []record{asked("a"),
			stopRecord{Reason: ReasonInterrupted}},
			want: Step{Act: ActRunCalls, Calls: openCalls("a"), Reason: ReasonInterrupted}},
		{name: "A5 an abort", records: []record{stopRecord{Reason: ReasonAborted}},
			want: Step{Act: ActEndInput, Reason: ReasonAborted}},
		{name: "A11 a failed attempt waits", records: []record{wait}, want: Step{Act: ActWait, Until: later}},
		{name: "A11 then it is tried again", records: []record{wait}, now: later, want: Step{Act: ActCallModel}},
		{name: "A11 with nothing in between", records: []record{wait, steered}, now: later,
			want: Step{Act: ActCallModel}},
		{name: "A11 a final failure ends it", records: []record{wait, final},
			want: Step{Act: ActEndInput, Reason: ReasonFailed}},
		{name: "A11 an answer forgets the failures", records: []record{wait, asked("a"), got("a")},
			want: Step{Act: ActCallModel}},
		{name: "at rest", records: ended(ReasonCompleted), want: Step{Act: ActRest}},
		{name: "A6 steering waits while idle", records: append(ended(ReasonCompleted), steered),
			want: Step{Act: ActRest}},
		{name: "A7 a follow-up after completion", records: append(ended(ReasonCompleted), followUp),
			want: Step{Act: ActBeginInput}},
		{name: "A7 a follow-up after a limit", records: append([]record{followUp}, ended(ReasonMaxTurns)...),
			want: Step{Act: ActBeginInput}},
		{name: "A7 none after an interrupt", records: append([]record{followUp}, ended(ReasonInterrupted)...),
			want: Step{Act: ActRest}},
		{name: "A7 an abort drops it", records: append([]record{followUp}, ended(ReasonAborted)...),
			want: Step{Act: ActRest}},
		{name: "A7 not before the end", records: []record{followUp}, want: Step{Act: ActCallModel}},
		{name: "an unfinished input goes on", records: append(append(round[:2:2], endRecord{Reason: ReasonInterrupted}),
			inputRecord{Continue: true}), want: Step{Act: ActCallModel}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.now.IsZero() {
				tt.now = at
			}
			s := stateOf(t, append(begun[:2:2], tt.records...)...)
			s.Policy = tt.policy
			if step := Next(s, tt.now); !reflect.DeepEqual(step, tt.want) {
				t.Errorf("Next = %+v, want %+v", step, tt.want)
			}
		})
	}
	if step := Next(new(State), at); step.Act != ActRest {
		t.Errorf("Next of nothing = %+v, want Rest", step)
	}
}

func openCalls(ids ...string) []OpenCall {
	var calls []OpenCall
	for _, c := range asked(ids...).Message.Parts.ToolCalls() {
		calls = append(calls, OpenCall{ToolCall: c})
	}
	return calls
}

// Results follow their calls in the order of the calls, whatever order they arrived in.
func TestA2_ResultsInCallOrder(t *testing.T) {
	s := stateOf(t, append(begun[:2:2], asked("a", "b", "c"), got("c"), got("a"), got("b"))...)
	last := s.Turns[len(s.Turns)-1]
	if last.Kind != TurnToolResults {
		t.Fatalf("last turn is %s, want tool_results", last.Kind)
	}
	var ids string
	for _, p := range last.Message.Parts {
		ids += p.(llm.ToolResult).CallID
	}
	if ids != "abc" {
		t.Errorf("results in order %s, want abc", ids)
	}
}

// A damaged journal must not make the fold panic: each record is refused where it is out of place.
func TestFoldRefusesRecordsOutOfPlace(t *testing.T) {
	all := []record{headerRecord{}, inputRecord{}, inputRecord{Continue: true}, queuedRecord{}, turnRecord{},
		answerRecord{},
		intentRecord{}, resultRecord{}, faultRecord{}, settingRecord{}, stopRecord{}, endRecord{}}
	idle := append(begun[:2:2], ended(ReasonCompleted)...)
	tests := []struct {
		name    string
		records []record
		accepts map[string]bool
	}{
		{"nothing yet", nil, map[string]bool{"header": true}},
		{"at rest", idle, map[string]bool{"input": true, "continue": true, "queued": true, "setting": true}},
		{"an open input", begun, map[string]bool{"continue": true, "queued": true, "turn": true, "answer": true,
			"intent": true, "fault": true, "setting": true, "stop": true, "end": true}},
		{"an open call", append(begun[:2:2], asked("")), map[string]bool{"continue": true, "queued": true,
			"intent": true, "result": true, "setting": true, "stop": true}},
	}
	for _, tt := range tests {
		for _, rec := range append(all, endRecord{Reason: ReasonFailed}) {
			s := stateOf(t, tt.records...)
			failed := reflect.DeepEqual(rec, endRecord{Reason: ReasonFailed}) // although nothing failed
			kind := rec.kind()
			if in, ok := rec.(inputRecord); ok && in.Continue {
				kind = "continue"
			}
			if err := s.accepts(rec); (err == nil) != (tt.accepts[kind] && !failed) {
				t.Errorf("%s: accepts(%s) = %v", tt.name, kind, err)
			} else if err == nil {
				s.fold(rec, at) // must not panic
			}
		}
	}
}
