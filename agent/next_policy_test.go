package agent

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
)

var (
	awaits    = awaitRecord{CallID: "a", Question: "really?"}
	compacts  = queuedRecord{Lane: LaneCompactions}
	full      = answerRecord{Message: asked("a").Message, Usage: llm.Usage{Input: 900, Output: 10}}
	overflown = faultRecord{Fault: Fault{Kind: "context_length"}}
	failed    = compactRecord{Failed: "no"}
	compacted = compactRecord{First: 1, Text: "short"}
)

// nudged returns the records of answers without calls and of the nudges after them.
func nudged(times int) []record {
	return slices.Repeat([]record{said, turnRecord{Origin: OriginNudge, Text: "go on"}}, times)
}

func records(groups ...any) []record {
	var all []record
	for _, g := range groups {
		switch g := g.(type) {
		case record:
			all = append(all, g)
		case []record:
			all = append(all, g...)
		}
	}
	return all
}

// TestNextByPolicy tests the cases of Next that depend on the host's policy.
func TestNextByPolicy(t *testing.T) {
	round := []record{asked("a"), got("a")}
	five := slices.Concat(round, round, round, round, round)
	done := resultRecord{CallID: "a", Name: "shell", Done: true, Final: "x"}
	keepOne := CompactionPolicy{Threshold: 0.85, KeepTurns: 1}
	want := &ResultPolicy{Schema: json.RawMessage(`{"type":"object"}`)}
	byTool := &ResultPolicy{Tool: "final_result", Schema: want.Schema}
	object := answerRecord{Message: llm.Assistant("{}")}
	not := answerRecord{Message: llm.Assistant("not done")}
	loop := &Loop{Period: 1, Repeats: 5}
	nudge := Step{Act: ActInject, Origin: OriginNudge}
	noResult := Step{Act: ActEndInput, Reason: ReasonFailed, Text: noObject}
	others := FallbackPolicy{Models: []FallbackModel{{Provider: "p2", Model: "m2"}, {Provider: "p3", Model: "m3"}}}
	change := func(to FallbackModel) Step { return Step{Act: ActChangeModel, Model: &to} }
	down, locked := faultRecord{Fault: Fault{Kind: "server"}}, faultRecord{Fault: Fault{Kind: "authentication"}}
	second, third := modelRecord{FallbackModel: others.Models[0]}, modelRecord{FallbackModel: others.Models[1]}
	chosen := FallbackModel{Provider: begun[0].(headerRecord).Provider, Model: begun[0].(headerRecord).Model}
	question := openCalls("a")
	question[0].awaits = &awaits
	tests := []struct {
		name    string
		records []record // after the records in begun
		policy  Policy
		want    Step // without its text, unless it ends the input
	}{
		{"A1 a question does not run again", records(asked("a"), awaits), Policy{},
			Step{Act: ActEndInput, Reason: ReasonAwaitingInput}},
		{"A1 the calls beside it run", records(asked("a", "b"), awaits), Policy{},
			Step{Act: ActRunCalls, Calls: openCalls("b")}},
		{"A1 an interrupt gives it a result", records(asked("a"), awaits, stopRecord{Reason: ReasonInterrupted}),
			Policy{}, Step{Act: ActRunCalls, Calls: question, Reason: ReasonInterrupted}},
		{"A1 it waits at rest, whatever is queued", records(asked("a"), awaits, endRecord{Reason: ReasonAwaitingInput},
			followUp, compacts, steered), Policy{}, Step{Act: ActRest}},
		{"A1 its answer calls the model", records(asked("a"), awaits, endRecord{Reason: ReasonAwaitingInput},
			inputRecord{Text: "yes", Answers: "a"}, got("a")), Policy{}, Step{Act: ActCallModel}},
		{"A4 a summary at the round limit", round, Policy{MaxToolRounds: 1, OnLimit: SummarizeOnLimit},
			Step{Act: ActSummarize, Reason: ReasonMaxToolRounds, Value: 1}},
		{"A4 a summary at the turn limit", round, Policy{MaxTurns: 1, OnLimit: SummarizeOnLimit},
			Step{Act: ActSummarize, Reason: ReasonMaxTurns, Value: 1}},
		{"A4 no limit between attempts", records(round, faultRecord{Fault: Fault{Kind: "server", RetryAt: at}}),
			Policy{MaxToolRounds: 1}, Step{Act: ActCallModel}},
		{"A9 a loop", five, Policy{}, Step{Act: ActInject, Origin: OriginLoop, Loop: loop}},
		{"A9 steering comes before it", records(five, steered), Policy{}, Step{Act: ActInject, Origin: OriginSteer}},
		{"A9 and it after the steering", records(five, steered, turnRecord{Origin: OriginSteer, Queued: 1}), Policy{},
			Step{Act: ActInject, Origin: OriginLoop, Loop: loop}},
		{"A9 once", records(five, turnRecord{Origin: OriginLoop, Loop: loop}), Policy{}, Step{Act: ActCallModel}},
		{"J10 a loop stops", five, Policy{Loops: LoopPolicy{EndInput: true}},
			Step{Act: ActEndInput, Reason: ReasonLoop, Value: 5}},
		{"J10 steering comes before that", records(five, steered), Policy{Loops: LoopPolicy{EndInput: true}},
			Step{Act: ActInject, Origin: OriginSteer}},
		{"J10 with a last text", five, Policy{Loops: LoopPolicy{EndInput: true}, OnLimit: SummarizeOnLimit},
			Step{Act: ActSummarize, Reason: ReasonLoop, Value: 5}},
		{"J10 goes on after it", records(five, endRecord{Reason: ReasonLoop}, inputRecord{Continue: true}),
			Policy{Loops: LoopPolicy{EndInput: true}}, Step{Act: ActCallModel}},
		{"A9 off", five, Policy{Loops: LoopPolicy{Off: true}}, Step{Act: ActCallModel}},
		{"A9 the limit comes before it", five, Policy{MaxToolRounds: 5},
			Step{Act: ActEndInput, Reason: ReasonMaxToolRounds, Value: 5}},
		{"A11 too long without compaction", records(round, overflown), Policy{},
			Step{Act: ActEndInput, Reason: ReasonFailed}},
		{"A11 too long with it", records(round, overflown), Policy{Compaction: keepOne},
			Step{Act: ActCompact, First: 3}},
		{"A11 tried again after it", records(round, overflown, compacted), Policy{Compaction: keepOne},
			Step{Act: ActCallModel}},
		{"A11 once", records(round, overflown, compacted, overflown), Policy{Compaction: keepOne},
			Step{Act: ActEndInput, Reason: ReasonFailed}},
		{"A11 not when it failed", records(round, overflown, failed), Policy{Compaction: keepOne},
			Step{Act: ActEndInput, Reason: ReasonFailed}},
		{"A11 not when there is nothing to replace", []record{overflown},
			Policy{Compaction: CompactionPolicy{Threshold: 1}}, Step{Act: ActEndInput, Reason: ReasonFailed}},
		{"A11 once more after an answer", records(round, overflown, compacted, round, overflown),
			Policy{Compaction: keepOne}, Step{Act: ActCompact, First: 5}},
		{"J13 a fallback", records(down), Policy{Fallbacks: others}, change(others.Models[0])},
		{"J13 none without any", records(down), Policy{}, Step{Act: ActEndInput, Reason: ReasonFailed}},
		{"J13 the next attempt comes first",
			records(faultRecord{Fault: Fault{Kind: "server", RetryAt: at.Add(time.Second), Delay: time.Second}}),
			Policy{Fallbacks: others}, Step{Act: ActWait, Until: at.Add(time.Second)}},
		{"J13 not for a wrong key", records(locked), Policy{Fallbacks: others},
			Step{Act: ActEndInput, Reason: ReasonFailed}},
		{"J13 of a fallback for that too", records(down, second, locked), Policy{Fallbacks: others},
			change(others.Models[1])},
		{"J13 it is asked", records(down, second), Policy{Fallbacks: others}, Step{Act: ActCallModel}},
		{"J13 all have failed", records(down, second, down, third, down), Policy{Fallbacks: others},
			Step{Act: ActEndInput, Reason: ReasonFailed}},
		{"J13 not back in the same input", records(down, second, round), Policy{Fallbacks: others},
			Step{Act: ActCallModel}},
		{"J13 back in the next", records(down, second, said, endRecord{Reason: ReasonCompleted},
			inputRecord{Text: "x"}), Policy{Fallbacks: others}, change(chosen)},
		{"J13 also when the input goes on", records(down, second, stopRecord{Reason: ReasonInterrupted},
			endRecord{Reason: ReasonInterrupted}, inputRecord{Continue: true}), Policy{Fallbacks: others},
			change(chosen)},
		{"J13 not after a crash", records(down, second, inputRecord{Continue: true}), Policy{Fallbacks: others},
			Step{Act: ActCallModel}},
		{"J13 the chosen one once more after an answer", records(down, second, round, down), Policy{Fallbacks: others},
			change(others.Models[1])},
		{"J13 and round", records(down, second, down, third, round, down), Policy{Fallbacks: others}, change(chosen)},
		{"J13 not of no time for a failed call", records(down, second),
			Policy{Fallbacks: FallbackPolicy{Models: others.Models, ReturnAfter: 1}}, Step{Act: ActCallModel}},
		{"J13 the same model twice", records(down, second, down),
			Policy{Fallbacks: FallbackPolicy{Models: []FallbackModel{others.Models[0], others.Models[0], chosen}}},
			Step{Act: ActEndInput, Reason: ReasonFailed}},
		{"J13 a compaction first", records(round, down, second, overflown),
			Policy{Fallbacks: others, Compaction: keepOne}, Step{Act: ActCompact, First: 3}},
		{"J13 then the next", records(round, down, second, overflown, compacted, overflown),
			Policy{Fallbacks: others, Compaction: keepOne}, change(others.Models[1])},
		{"J13 which is compacted for again", records(round, down, second, overflown, compacted, overflown, third,
			overflown), Policy{Fallbacks: others, Compaction: keepOne}, Step{Act: ActCompact, First: 3}},
		{"A14 a nudge", []record{said}, Policy{RequireDone: true}, nudge},
		{"A14 the third", records(nudged(2), said), Policy{RequireDone: true}, nudge},
		{"A14 no fourth", records(nudged(3), said), Policy{RequireDone: true},
			Step{Act: ActEndInput, Reason: ReasonCompleted}},
		{"A14 in a row only", records(nudged(3), round, said), Policy{RequireDone: true}, nudge},
		{"A14 done ends it", records(asked("a"), done), Policy{RequireDone: true},
			Step{Act: ActEndInput, Reason: ReasonDone}},
		{"A14 steering comes before a nudge", records(said, steered), Policy{RequireDone: true},
			Step{Act: ActInject, Origin: OriginSteer}},
		{"A14 the hook is asked", []record{said}, Policy{MaxConfirms: 1},
			Step{Act: ActConfirm, Reason: ReasonCompleted}},
		{"A14 after a nudge", []record{said}, Policy{MaxConfirms: 1, RequireDone: true}, nudge},
		{"A14 after done too", records(asked("a"), done), Policy{MaxConfirms: 1},
			Step{Act: ActConfirm, Reason: ReasonDone}},
		{"A14 what the hook says calls the model", records(asked("a"), done,
			turnRecord{Origin: OriginStop, Text: "more"}), Policy{MaxConfirms: 1}, Step{Act: ActCallModel}},
		{"A14 at most so often", records(said, turnRecord{Origin: OriginStop, Text: "more"}, said),
			Policy{MaxConfirms: 1}, Step{Act: ActEndInput, Reason: ReasonCompleted}},
		{"A14 not when it is interrupted", records(said, stopRecord{Reason: ReasonInterrupted}),
			Policy{MaxConfirms: 1, RequireDone: true}, Step{Act: ActEndInput, Reason: ReasonInterrupted}},
		{"A16 at the threshold", records(full, got("a")), Policy{Window: 1000, Compaction: keepOne},
			Step{Act: ActCompact, First: 3}},
		{"A16 below it", records(full, got("a")), Policy{Window: 1100, Compaction: keepOne}, Step{Act: ActCallModel}},
		{"A16 off", records(full, got("a")), Policy{Window: 1000}, Step{Act: ActCallModel}},
		{"A16 in an unknown window", records(full, got("a")), Policy{Compaction: keepOne}, Step{Act: ActCallModel}},
		{"A16 not again before an answer", records(full, got("a"), failed), Policy{Window: 1000, Compaction: keepOne},
			Step{Act: ActCallModel}},
		{"A16 nor on request", records(round, failed, compacts), Policy{}, Step{Act: ActCallModel}},
		{"A16 before steering", records(full, got("a"), steered), Policy{Window: 1000, Compaction: keepOne},
			Step{Act: ActCompact, First: 3}},
		{"A16 on request", records(round, compacts), Policy{Compaction: CompactionPolicy{KeepTurns: 2}},
			Step{Act: ActCompact, First: 1}},
		{"A16 on request at rest", records(ended(ReasonCompleted), compacts),
			Policy{Compaction: CompactionPolicy{KeepTurns: 1}}, Step{Act: ActCompact, First: 1}},
		{"A16 before a follow-up", records(ended(ReasonCompleted), followUp, compacts),
			Policy{Compaction: CompactionPolicy{KeepTurns: 1}}, Step{Act: ActCompact, First: 1}},
		{"A16 not between calls and results", records(asked("a"), compacts), Policy{},
			Step{Act: ActRunCalls, Calls: openCalls("a")}},
		{"A16 requests are answered together", records(round, compacts, compacts,
			compactRecord{First: 1, Text: "short", Queued: 2}), Policy{}, Step{Act: ActCallModel}},
		{"A18 a budget ends it", records(round, stopRecord{Reason: ReasonBudgetUSD, Value: 2.5}), Policy{},
			Step{Act: ActEndInput, Reason: ReasonBudgetUSD, Value: 2.5}},
		{"A21 a result", []record{object}, Policy{Result: want}, Step{Act: ActEndInput, Reason: ReasonCompleted}},
		{"A21 a correction", []record{not}, Policy{Result: want}, nudge},
		{"A21 two at most", records(nudged(2), not), Policy{Result: want}, noResult},
		{"A21 also with work in between", records(nudged(1), round, nudged(1), round, not), Policy{Result: want},
			noResult},
		{"A21 of another done tool", records(asked("a"), done), Policy{Result: want}, nudge},
		{"A21 the tool is to be called", []record{not}, Policy{Result: byTool}, nudge},
		{"I16 or the text is the result", []record{object}, Policy{Result: byTool},
			Step{Act: ActEndInput, Reason: ReasonCompleted}},
		{"A21 the hook is asked about a result", []record{object}, Policy{Result: want, MaxConfirms: 1},
			Step{Act: ActConfirm, Reason: ReasonCompleted}},
		{"A21 invalid calls are counted", records(nudged(3), round), Policy{Result: byTool}, noResult},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := stateOf(t, append(begun[:2:2], tt.records...)...)
			s.Policy = tt.policy
			step := Next(s, at)
			if step.Act == ActInject {
				if (step.Text == "") != (step.Origin == OriginSteer) {
					t.Errorf("text %q", step.Text)
				}
				step.Text = ""
			}
			if !reflect.DeepEqual(step, tt.want) {
				t.Errorf("Next = %+v, want %+v", step, tt.want)
			}
			for i, rec := range s.stepRecords(step) { // the records of the step can be folded
				if err := s.accepts(rec); err != nil && i == 0 {
					t.Errorf("%s: %v", rec.kind(), err)
				}
			}
		})
	}
}

// Time in which a session did not run does not count, however often it stops.
func TestA18_WorkedTime(t *testing.T) {
	s := new(State)
	step := func(rec record, after time.Duration) {
		t.Helper()
		if err := s.accepts(rec); err != nil {
			t.Fatal(err)
		}
		s.fold(rec, at.Add(after))
	}
	step(begun[0], 0)
	step(begun[1], 0)
	step(asked("a"), 10*time.Second)
	step(steered, time.Hour)
	step(inputRecord{Continue: true}, 2*time.Hour) // after a crash
	step(got("a"), 2*time.Hour+5*time.Second)
	if got := s.worked(); got != 15*time.Second {
		t.Errorf("worked %v", got)
	}
	step(inputRecord{Continue: true}, 3*time.Hour)
	step(said, 3*time.Hour+time.Second)
	step(endRecord{Reason: ReasonCompleted}, 3*time.Hour+time.Second)
	if s.Worked != 16*time.Second || s.worked() != s.Worked {
		t.Errorf("worked %v", s.Worked)
	}
}

// The fold refuses the policies' records if they are out of place.
func TestFoldRefusesPolicyRecordsOutOfPlace(t *testing.T) {
	idle := append(begun[:2:2], ended(ReasonCompleted)...)
	waiting := append(begun[:2:2], asked("a"), awaits, endRecord{Reason: ReasonAwaitingInput})
	for _, tt := range []struct {
		name    string
		records []record
		rec     record
		ok      bool
	}{
		{"a question of no call", begun, awaits, false},
		{"a question", append(begun[:2:2], asked("a")), awaits, true},
		{"an input that answers nothing", idle, inputRecord{Text: "x", Answers: "a"}, false},
		{"an input that does not answer", waiting, inputRecord{Text: "x"}, false},
		{"an input that answers", waiting, inputRecord{Text: "x", Answers: "a"}, true},
		{"a compaction of more than there is", idle, compactRecord{First: 3, Text: "x"}, false},
		{"a compaction of nothing", idle, compactRecord{First: 0, Text: "x"}, false},
		{"a compaction", idle, compactRecord{First: 2, Text: "x"}, true},
		{"a compaction between calls", append(begun[:2:2], asked("a")), compactRecord{First: 1, Text: "x"}, false},
		{"a fallback", append(begun[:2:2], faultRecord{}), modelRecord{}, true},
		{"a fallback without a failure", begun, modelRecord{}, false},
		{"a fallback at rest", idle, modelRecord{}, false},
		{"a return without a fallback", begun, modelRecord{Return: true}, false},
		{"a return", append(begun[:2:2], faultRecord{}, modelRecord{FallbackModel: FallbackModel{Provider: "p2"}}),
			modelRecord{Return: true}, true},
		{"a failure of its own", begun, endRecord{Reason: ReasonFailed, Fault: &Fault{Kind: "no_object"}}, true},
	} {
		s := stateOf(t, tt.records...)
		if err := s.accepts(tt.rec); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		} else if err == nil {
			s.fold(tt.rec, at)
		} else if !strings.Contains(err.Error(), "out of place") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
