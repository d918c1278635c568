package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/agent/stepstream"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// answerEnding returns an answer with a finish reason.
func answerEnding(reason llm.FinishReason, parts ...llm.Part) llmtest.Step {
	return llmtest.Respond(llm.Response{Message: llm.Message{Parts: parts},
		Finish: llm.Finish{Reason: reason, Raw: "raw " + string(reason)}})
}

func cutText(text string) llmtest.Step { return answerEnding(llm.FinishLength, llm.Text{Text: text}) }

// Steering between an answer that was cut off and its continuation loses no text.
func TestI3_SteeredWhenCutOff(t *testing.T) {
	var h *host
	h = open(t, setup{steps: []llmtest.Step{cutText("one "), llmtest.Text("two")},
		options: agent.Options{OnEvent: func(ev agent.Event) {
			if e, ok := ev.(*agent.SteeringInjected); ok && e.Source == "hook" {
				if err := h.Steer(context.Background(), "be kind"); err != nil {
					t.Error(err)
				}
			}
		}}})
	if result := h.submit(t, "go", agent.ReasonCompleted); result.Text != "one two" {
		t.Errorf("the text is %q, the turns are %s", result.Text, h.turns())
	}
}

// An answer that was cut off is continued, and its parts make one text. If that is not enough, the
// input ends as incomplete.
func TestI3_CutOffAnswers(t *testing.T) {
	tired := answerEnding("tired", llm.Text{Text: "a"})
	for _, c := range []struct {
		name      string
		continues int
		steps     []llmtest.Step
		reason    agent.Reason
		text      string
		turns     int // of requests to continue
	}{
		{"once", 0, []llmtest.Step{cutText("one, tw"), llmtest.Text("o, three")}, agent.ReasonCompleted,
			"one, two, three", 1},
		{"twice", 0, []llmtest.Step{cutText("a"), cutText("b"), llmtest.Text("c")}, agent.ReasonCompleted, "abc", 2},
		{"always", 0, []llmtest.Step{cutText("a"), cutText("b"), cutText("c"), llmtest.Text("d")},
			agent.ReasonIncomplete, "abc", 2},
		{"never asked", -1, []llmtest.Step{cutText("a"), llmtest.Text("b")}, agent.ReasonIncomplete, "a", 0},
		{"asked once", 1, []llmtest.Step{cutText("a"), cutText("b"), llmtest.Text("c")}, agent.ReasonIncomplete, "ab",
			1},
		{"a reason that nobody knows", 0, []llmtest.Step{tired, tired, tired}, agent.ReasonIncomplete, "aaa", 2},
		{"calls that are not there", 0, []llmtest.Step{answerEnding(llm.FinishToolCalls, llm.Text{Text: "I call"}),
			llmtest.Text("ed it.")}, agent.ReasonCompleted, "I called it.", 1},
		{"in a row", 0, []llmtest.Step{cutText("a"), cutText("b"), llmtest.Calls(call("work")), cutText("c"),
			cutText("d"), llmtest.Text("e")}, agent.ReasonCompleted, "cde", 4},
		{"in its thoughts", 0, []llmtest.Step{answerEnding(llm.FinishLength, llm.Thinking{Text: "so much"}),
			llmtest.Text("it")}, agent.ReasonCompleted, "it", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, setup{tools: []tool.Tool{echo("work")}, steps: c.steps,
				options: agent.Options{Policy: agent.Policy{Continues: c.continues}}})
			result := h.submit(t, "go", c.reason)
			if result.Text != c.text || strings.Count(h.turns(), "steering:continue") != c.turns {
				t.Errorf("%+v, %s", result, h.turns())
			}
			end := only[*agent.ProcessingEnd](h)[0]
			if end.Reason != c.reason || end.Text != c.text || end.Finish != result.Finish ||
				end.State != agent.StatusIdle || result.Finish.Reason == "" {
				t.Errorf("%+v, want the end of %+v", end, result)
			}
		})
	}
}

// After an incomplete end, Continue resumes the answer where it was cut off.
func TestI3_ContinueAfterIncomplete(t *testing.T) {
	h := open(t, setup{steps: []llmtest.Step{cutText("a"), cutText("b"), llmtest.Text("c")},
		options: agent.Options{Policy: agent.Policy{Continues: -1}}})
	h.submit(t, "go", agent.ReasonIncomplete)
	if result, err := h.Continue(context.Background()); err != nil || result.Reason != agent.ReasonIncomplete ||
		h.model.Left() != 2 {
		t.Errorf("%+v, %v: nothing is asked for where Continues says so", result, err)
	}
	if err := h.FollowUp(context.Background(), "and then"); err != nil {
		t.Fatal(err)
	}
	result, err := h.Continue(context.Background())
	if err != nil || result.Reason != agent.ReasonIncomplete || result.Text != "b" {
		t.Errorf("%+v, %v: a follow-up runs after an incomplete answer", result, err)
	}
}

// Complete calls of an answer that was cut off run. The call that was cut off does not, whatever
// its arguments are.
func TestI3_TornCalls(t *testing.T) {
	ids := func(args ...string) (calls []llm.Part) {
		for i, a := range args {
			calls = append(calls, llm.ToolCall{ID: fmt.Sprint(i), Name: "work", Args: a})
		}
		return calls
	}
	for _, c := range []struct {
		name   string
		reason llm.FinishReason
		parts  []llm.Part
		ran    string // for each call: ran, torn or bad JSON
	}{
		{"in the arguments", llm.FinishLength, ids(`{"path":"x"}`, `{"path":"/impor`), "ran torn"},
		{"before the arguments", llm.FinishLength, ids(`{}`, ``), "ran torn"},
		{"after the call", llm.FinishLength, ids(`{}`, `{}`), "ran ran"},
		{"in free text", llm.FinishLength, []llm.Part{llm.ToolCall{ID: "0", Name: "work", Args: "42", Free: true}},
			"torn"},
		{"after a call and empty text", llm.FinishLength, append(ids(`{"pa`), llm.Text{}), "torn"},
		{"in the text after a call", llm.FinishLength, append(ids(`{}`), llm.Text{Text: "Now I"}), "ran"},
		{"for a reason that nobody knows", "tired", ids(`{`), "torn"},
		{"not at all", llm.FinishToolCalls, ids(`{`), "bad"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, setup{tools: []tool.Tool{echo("work")},
				steps: []llmtest.Step{answerEnding(c.reason, c.parts...), llmtest.Text("done")}})
			h.submit(t, "go", agent.ReasonCompleted)
			var ran []string
			for _, p := range h.History()[2].Message.Parts {
				r := p.(llm.ToolResult)
				switch text := r.Content.Text(); {
				case text == "work ran":
					ran = append(ran, "ran")
				case strings.Contains(text, "before the call's arguments were complete") && r.IsError:
					ran = append(ran, "torn")
				default:
					ran = append(ran, "bad")
				}
			}
			if got := strings.Join(ran, " "); got != c.ran {
				t.Errorf("%s, want %s", got, c.ran)
			}
			if strings.Contains(h.turns(), "continue") {
				t.Errorf("%s: the results are enough to go on from", h.turns())
			}
		})
	}
}

// A refusal ends the input, whether it comes as an answer, after calls or as an error. None of its
// calls runs.
func TestI3_Refusals(t *testing.T) {
	blocked := &llm.Error{Kind: llm.ErrContentFilter, Provider: "test", Code: "SAFETY",
		Message: "the prompt was blocked", Final: true}
	for name, c := range map[string]struct {
		step  llmtest.Step
		raw   string
		turns string
	}{
		"an answer": {answerEnding(llm.FinishContentFilter, llm.Text{Text: "No."}), "raw content_filter",
			"user:user assistant:model"},
		"without a word": {answerEnding(llm.FinishContentFilter), "raw content_filter", "user:user assistant:model"},
		"a call": {answerEnding(llm.FinishContentFilter, call("work")), "raw content_filter",
			"user:user assistant:model tool_results:tools"},
		"of the question": {llmtest.Error(blocked), "SAFETY", "user:user"},
	} {
		t.Run(name, func(t *testing.T) {
			work, asked := new(runLog), 0
			h := open(t, setup{tools: []tool.Tool{work.tool("work"), submitTool()}, steps: []llmtest.Step{c.step,
				llmtest.Calls(call("submit"))},
				options: agent.Options{Policy: agent.Policy{RequireDone: true},
					Hooks: agent.Hooks{BeforeStop: func(context.Context, agent.Stop) (string, error) {
						asked++
						return "", nil
					}}}})
			result := h.submit(t, "go", agent.ReasonRefused)
			if len(work.ran)+asked != 0 || h.turns() != c.turns || h.Status() != agent.StatusIdle {
				t.Errorf("ran %v, asked the hook %d times; %s", work.ran, asked, h.turns())
			}
			if want := (llm.Finish{Reason: llm.FinishContentFilter, Raw: c.raw}); result.Finish != want ||
				only[*agent.ProcessingEnd](h)[0].Finish != want {
				t.Errorf("%+v, %+v", result, only[*agent.ProcessingEnd](h)[0])
			}
			if name == "of the question" && !strings.Contains(h.warned(), "refused") {
				t.Errorf("the host is warned of %q", h.warned())
			}
			// continuing with the refusal as the last message does not ask a new question
			if name != "of the question" {
				if result, err := h.Continue(context.Background()); err != nil ||
					result.Reason != agent.ReasonRefused || h.model.Left() != 1 {
					t.Errorf("%+v, %v", result, err)
				}
			}
			if err := h.Steer(context.Background(), "please"); err != nil {
				t.Fatal(err)
			}
			if result, err := h.Continue(context.Background()); err != nil || result.Text != "the final text" {
				t.Errorf("%+v, %v: steering goes on after a refusal", result, err)
			}
		})
	}
}

// After a pause the model is called again at once with the same history, up to a limit.
func TestI3_Pauses(t *testing.T) {
	pause := answerEnding(llm.FinishPause, llm.Text{Text: "."})
	h := open(t, setup{steps: []llmtest.Step{pause, pause, llmtest.Text("!")}})
	if result := h.submit(t, "go", agent.ReasonCompleted); result.Text != "..!" ||
		h.turns() != "user:user assistant:model assistant:model assistant:model" {
		t.Errorf("%+v, %s", result, h.turns())
	}
	var many []llmtest.Step
	for range 40 {
		many = append(many, pause)
	}
	h = open(t, setup{steps: many})
	if result := h.submit(t, "go", agent.ReasonIncomplete); result.Turns != 17 ||
		result.Finish.Reason != llm.FinishPause {
		t.Errorf("%+v", result)
	}
}

// After an empty answer the model is nudged once.
func TestI3_EmptyAnswers(t *testing.T) {
	empty := llmtest.Answer()
	for _, c := range []struct {
		name   string
		steps  []llmtest.Step
		o      agent.Options
		reason agent.Reason
		text   string
		nudges string
	}{
		{"once", []llmtest.Step{empty, llmtest.Text("done")}, agent.Options{}, agent.ReasonCompleted, "done", "empty"},
		{"twice", []llmtest.Step{empty, llmtest.Text(" \n"), llmtest.Text("done")}, agent.Options{},
			agent.ReasonIncomplete, " \n", "empty"},
		{"only thoughts", []llmtest.Step{llmtest.Answer(llm.Thinking{Text: "hm"}), llmtest.Text("done")},
			agent.Options{}, agent.ReasonCompleted, "done", "empty"},
		{"in a row", []llmtest.Step{empty, llmtest.Calls(call("work")), empty, llmtest.Text("done")}, agent.Options{},
			agent.ReasonCompleted, "done", "empty empty"},
		{"where a tool ends it", []llmtest.Step{empty, llmtest.Calls(call("submit"))},
			agent.Options{Policy: agent.Policy{RequireDone: true}}, agent.ReasonDone, "the final text", "nudge"},
		{"where no tool ends it", []llmtest.Step{empty, empty, empty, empty, empty},
			agent.Options{Policy: agent.Policy{RequireDone: true}}, agent.ReasonIncomplete, "",
			"nudge nudge nudge empty"},
		{"where a result is wanted", []llmtest.Step{empty, llmtest.Text(`{"a":1}`)},
			agent.Options{Policy: agent.Policy{Result: &agent.ResultPolicy{Schema: []byte(`{"type":"object"}`)}}},
			agent.ReasonCompleted,
			`{"a":1}`, "nudge"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, setup{tools: []tool.Tool{echo("work"), submitTool()}, steps: c.steps, options: c.o,
				wrap: formats})
			result := h.submit(t, "go", c.reason)
			var nudges []string
			for _, turn := range h.History() {
				if turn.Kind == agent.TurnSteering {
					nudges = append(nudges, string(turn.Origin))
				}
			}
			if got := strings.Join(nudges, " "); got != c.nudges || result.Text != c.text {
				t.Errorf("%+v, nudges %s, want %s", result, got, c.nudges)
			}
		})
	}
}

// A structured result that was cut off is requested again as a whole.
func TestI3_CutOffResult(t *testing.T) {
	o := agent.Options{Policy: agent.Policy{Result: &agent.ResultPolicy{Schema: []byte(
		`{"type":"object","required":["a"]}`)}}}
	h := open(t, setup{steps: []llmtest.Step{cutText(`{"a":`), llmtest.Text(`{"a":1}`)}, options: o, wrap: formats})
	if result := h.submit(t, "go", agent.ReasonCompleted); result.Text != `{"a":1}` ||
		!strings.Contains(h.History()[2].Message.Parts.Text(), "whole result again") {
		t.Errorf("%+v, %+v", result, h.History()[2])
	}
	h = open(t, setup{steps: []llmtest.Step{cutText(`{"a":`), cutText(`{"a":`), cutText(`{"a":`)}, options: o,
		wrap: formats})
	h.submit(t, "go", agent.ReasonIncomplete)
}

// An answer that filled the model's window is treated like a request that does not fit: it is
// compacted and tried again, once.
func TestI3_FullWindowInAnAnswer(t *testing.T) {
	full := answerEnding(llm.FinishContextLength, llm.Text{Text: "half"})
	synctest.Test(t, func(t *testing.T) {
		n := 0
		steps := func(afterwards llmtest.Step) []llmtest.Step {
			n = 0
			return []llmtest.Step{llmtest.Calls(call("print")), full,
				llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
					n++
					return llmtest.Text("THE SUMMARY")
				}), afterwards}
		}
		h := openLong(t, agent.Options{Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}},
			steps(llmtest.Text("done")))
		if result := h.submit(t, "go", agent.ReasonCompleted); result.Text != "done" || n != 1 {
			t.Errorf("%+v after %d summaries", result, n)
		}
		if texts := only[*agent.AssistantTextEnd](h); !texts[0].Discarded || texts[0].Text != "half" {
			t.Errorf("%+v", texts[0])
		}
		h = openLong(t, agent.Options{Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}},
			steps(full))
		result, err := h.Submit(context.Background(), "go")
		if !errors.Is(err, llm.ErrContextLength) || result.Reason != agent.ReasonFailed || n != 1 ||
			h.Status() != agent.StatusClosed {
			t.Errorf("%+v, %v after %d summaries", result, err, n)
		}
		warnings := only[*agent.ContextWarning](h)
		if len(warnings) == 0 || warnings[len(warnings)-1].Ratio != 1 {
			t.Errorf("%+v", warnings)
		}
	})
}

// An unfinished subagent is reported as an error to its parent.
func TestI3_Subagents(t *testing.T) {
	for name, step := range map[string]llmtest.Step{"refused": answerEnding(llm.FinishContentFilter,
		llm.Text{Text: "No."}),
		"incomplete": cutText("half"), "empty": llmtest.Answer()} {
		t.Run(name, func(t *testing.T) {
			h := openSpawning(t, agent.Options{}, map[string][]llmtest.Step{
				"<task>": {llmtest.Calls(spawn("<part>")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
				"<part>": {step, step, step, step},
			})
			h.submit(t, "<task>", agent.ReasonCompleted)
			outputs := h.outputs()
			if r := result(t, outputs[len(outputs)-1]); r.Success {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Steps yields each piece of an answer that was cut off once, and the whole text at the end.
func TestI3_StepsOfACutOffAnswer(t *testing.T) {
	h := open(t, setup{steps: []llmtest.Step{cutText("one, tw"), llmtest.Text("o")}})
	h.submit(t, "go", agent.ReasonCompleted)
	var told []string
	for ev := range stepstream.Events(func(yield func(agent.Event) bool) {
		for _, ev := range h.events {
			if !yield(ev) {
				return
			}
		}
	}) {
		told = append(told, fmt.Sprintf("%T %+v", ev, ev))
	}
	want := "*stepstream.Text &{Kind:text Text:one, tw}|*stepstream.Final &{Kind:final Text:one, two Reason:completed}"
	if got := strings.Join(told, "|"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A refused summary is not used. A summary that was cut off says so.
func TestI3_Summaries(t *testing.T) {
	compacted := func(t *testing.T, summary llmtest.Step) *host {
		h := openLong(t, agent.Options{Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}},
			worker(9, llmtest.Text("done"), summary))
		if _, err := h.Submit(context.Background(), "go"); err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := compacted(t, cutText("HALF A SUMMARY"))
	if requests := h.model.Requests(); !strings.Contains(fmt.Sprint(requests[len(requests)-1].Messages),
		"HALF A SUMMARY\n[The text was cut off here.]") {
		t.Errorf("the model does not see that its summary was cut off: %v", requests[len(requests)-1].Messages)
	}
	for name, step := range map[string]llmtest.Step{"refused": answerEnding(llm.FinishContentFilter,
		llm.Text{Text: "No."}), "too long": answerEnding(llm.FinishContextLength)} {
		h := compacted(t, step)
		if !strings.Contains(h.warned(), "compaction_failed") || strings.Contains(h.turns(), "compaction") {
			t.Errorf("%s: %s, %s", name, h.warned(), h.turns())
		}
	}
	h = open(t, setup{tools: []tool.Tool{echo("work")}, options: agent.Options{Policy: agent.Policy{MaxToolRounds: 1,
		OnLimit: agent.SummarizeOnLimit}},
		steps: []llmtest.Step{llmtest.Calls(call("work")),
			answerEnding(llm.FinishContentFilter, llm.Text{Text: "No."})}})
	if result := h.submit(t, "go", agent.ReasonMaxToolRounds); !strings.Contains(result.Text, "no summary") {
		t.Errorf("%+v", result)
	}
}

// A subagent whose answer was refused accepts another message.
func TestI3_MessageToARefusedSubagent(t *testing.T) {
	h := openSpawning(t, agent.Options{}, map[string][]llmtest.Step{
		"<task>": {llmtest.Calls(spawn("<part>")), llmtest.Calls(wait("agent-1")),
			llmtest.Calls(send("agent-1", "please")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
		"<part>": {answerEnding(llm.FinishContentFilter, llm.Text{Text: "No."}), llmtest.Text("Fine.")},
	})
	h.submit(t, "<task>", agent.ReasonCompleted)
	outputs := h.outputs()
	if r := result(t, outputs[len(outputs)-1]); !r.Success || r.Output != "Fine." {
		t.Errorf("%+v", r)
	}
}
