package stepstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/agent/stepstream"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// stepLines formats the step events, one a line.
func stepLines(t *testing.T, events []agent.Event) string {
	t.Helper()
	var b strings.Builder
	for ev := range stepstream.Events(slices.Values(events)) {
		switch e := ev.(type) {
		case *stepstream.Reasoning:
			fmt.Fprintf(&b, "%s %q\n", e.Kind, e.Text)
		case *stepstream.Text:
			fmt.Fprintf(&b, "%s %q\n", e.Kind, e.Text)
		case *stepstream.Begin:
			fmt.Fprintf(&b, "%s %d %s %s\n", e.Kind, e.Step, e.CallID, e.Name)
		case *stepstream.Call:
			fmt.Fprintf(&b, "%s %s %s %s\n", e.Kind, e.CallID, e.Name, e.Args)
		case *stepstream.Result:
			fmt.Fprintf(&b, "%s %s %s %q %t\n", e.Kind, e.CallID, e.Name, e.Result, e.IsError)
		case *stepstream.Complete:
			fmt.Fprintf(&b, "%s %d %s %s %dms\n", e.Kind, e.Step, e.CallID, e.Status, e.DurationMS)
		case *stepstream.Final:
			fmt.Fprintf(&b, "%s %q %s\n", e.Kind, e.Text, e.Reason)
		default:
			t.Errorf("an event of type %T", ev)
		}
	}
	return b.String()
}

// called returns the lines of the four events of a call with empty arguments.
func called(n int, id, name, result string, ms int) string {
	return fmt.Sprintf("step_start %d %s %s\ntool_call %s %s {}\ntool_result %s %s %q false\nstep_complete %d %s "+
		"completed %dms\n", n, id, name, id, name, id, name, result, n, id, ms)
}

func failed(n int, id, name, args, result string, ms int) string {
	return fmt.Sprintf("step_start %d %s %s\ntool_call %s %s %s\ntool_result %s %s %q true\nstep_complete %d %s "+
		"error %dms\n", n, id, name, id, name, args, id, name, result, n, id, ms)
}

// Steps yields the events of a plain loop.
func TestB_Steps(t *testing.T) {
	finish := newTool("finish", writes, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{Content: llm.TextParts("noted"), Done: true, Final: "all done"}, nil
	})
	breaks := newTool("breaks", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{}, errors.New("it is broken")
	})
	ask := newTool("ask", readOnly, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		_, err := c.Session.Ask(ctx, tool.Question{Text: "which one?"})
		return tool.Text("nothing"), err
	})
	down := llm.Errorf(llm.ErrStream, "cut")
	tests := []struct {
		name    string
		setup   setup
		prompts int // 1 by default
		on      map[agent.Kind]func(*agent.Session)
		want    string
	}{
		{name: "thoughts, text, call and result", setup: setup{tools: []tool.Tool{echo("look")}, steps: []llmtest.Step{
			answers(thought("hm, "), thought("well"), saidText("I look"), thought("so"), calls("a", "look")),
			answers(thought("good"), saidText("it is done"))}},
			want: "reasoning \"hm, well\"\nreasoning \"so\"\ntext \"I look\"\n" + called(1, "a", "look", "look ran",
				0) +
				"reasoning \"good\"\nfinal \"it is done\" completed\n"},
		{name: "results in the order of the calls", setup: setup{
			tools: []tool.Tool{slowTool("slow", 3*time.Second, readOnly), slowTool("fast", time.Second, readOnly),
				breaks},
			steps: []llmtest.Step{answers(calls("a", "slow"), calls("b", "fast"), calls("c", "breaks")),
				answers(calls("d", "fast")), answers(saidText("ok"))}},
			want: called(1, "a", "slow", "slow ran", 3000) + called(2, "b", "fast", "fast ran", 1000) +
				failed(3, "c", "breaks", "{}", "Error: it is broken", 0) + called(4, "d", "fast", "fast ran",
				1000) + "final \"ok\" completed\n"},
		{name: "a call that waits for another",
			setup: setup{tools: []tool.Tool{slowTool("write", 2*time.Second, writes), slowTool("read", time.Second,
				readOnly)},
				steps: []llmtest.Step{answers(onFile("a", "write", "x"), onFile("b", "read", "x"),
					onFile("c", "read", "y")), answers(saidText("ok"))}},
			want: strings.NewReplacer("tool_call a write {}", `tool_call a write {"path":"x"}`, "tool_call b read {}",
				`tool_call b read {"path":"x"}`,
				"tool_call c read {}", `tool_call c read {"path":"y"}`).Replace(called(1, "a", "write", "write ran",
				2000)+
				called(2, "b", "read", "read ran", 1000)+called(3, "c", "read", "read ran", 1000)) +
				"final \"ok\" completed\n"},
		{name: "a torn attempt is not told", setup: setup{steps: []llmtest.Step{
			llmtest.TornParts(down, thought("wrong"), saidText("half of it")),
			llmtest.TornParts(down, thought("wrong again")),
			answers(thought("right"), saidText("whole"))}},
			want: "reasoning \"right\"\nfinal \"whole\" completed\n"},
		{name: "an answer that steering goes on from", setup: setup{steps: []llmtest.Step{answers(saidText("one")),
			answers(saidText("two"))}},
			on: map[agent.Kind]func(*agent.Session){"ASSISTANT_TEXT_START": func(s *agent.Session) {
				_ = s.Steer(
					context.Background(), "more")
			}},
			want: "text \"one\"\nfinal \"two\" completed\n"},
		{name: "a limit", setup: setup{tools: []tool.Tool{echo("look")},
			options: agent.Options{Policy: agent.Policy{MaxToolRounds: 1}},
			steps:   []llmtest.Step{answers(saidText("on it"), calls("a", "look"))}},
			want: "text \"on it\"\n" + called(1, "a", "look", "look ran", 0) + "final \"on it\" max_tool_rounds\n"},
		{name: "a limit with a summary", setup: setup{tools: []tool.Tool{echo("look")},
			options: agent.Options{Policy: agent.Policy{MaxToolRounds: 1, OnLimit: agent.SummarizeOnLimit}},
			steps:   []llmtest.Step{answers(calls("a", "look")), answers(saidText("so far"))}},
			want: called(1, "a", "look", "look ran", 0) + "final \"so far\" max_tool_rounds\n"},
		{name: "a tool that is done", setup: setup{tools: []tool.Tool{finish, echo("look")},
			options: agent.Options{Policy: agent.Policy{RequireDone: true}},
			steps: []llmtest.Step{answers(thought("done?"), saidText("I am done")),
				answers(calls("a", "finish"), calls("b", "look"))}},
			want: "reasoning \"done?\"\ntext \"I am done\"\n" + called(1, "a", "finish", "noted", 0) + called(2, "b",
				"look", "look ran", 0) +
				"final \"all done\" done\n"},
		{name: "unknown tools and bad arguments", setup: setup{tools: []tool.Tool{echo("look")},
			steps: []llmtest.Step{answers(llm.ToolCall{ID: "a", Name: "look", Args: "{"}), answers(saidText("ok"))}},
			want: failed(1, "a", "look", `{"_raw":"{"}`, "*", 0) + "final \"ok\" completed\n"},
		{name: "an abort", setup: setup{tools: []tool.Tool{slowTool("slow", time.Hour, writes), echo("look")},
			steps: []llmtest.Step{answers(saidText("on it"), calls("a", "slow"), calls("b", "look"))}},
			on: map[agent.Kind]func(*agent.Session){"TOOL_CALL_START": (*agent.Session).Abort},
			want: "text \"on it\"\n" + failed(1, "a", "slow", "{}", "*", 0) +
				failed(2, "b", "look", "{}", "*", 0)},
		{name: "an interrupt, and another input", prompts: 2, setup: setup{steps: []llmtest.Step{
			llmtest.HangAfter(thought("hm"), saidText("I am")), answers(saidText("again"))}},
			on:   map[agent.Kind]func(*agent.Session){"ASSISTANT_TEXT_DELTA": (*agent.Session).Interrupt},
			want: "final \"again\" completed\n"},
		{name: "a failure", setup: setup{steps: []llmtest.Step{llmtest.TornParts(llm.Errorf(llm.ErrAuthentication,
			"no"), thought("hm"))}}, want: ""},
		{name: "a follow-up", setup: setup{tools: []tool.Tool{echo("look")}, steps: []llmtest.Step{
			answers(calls("a", "look")), answers(saidText("one")), answers(calls("b", "look")),
			answers(saidText("two"))}},
			on: map[agent.Kind]func(*agent.Session){"USER_INPUT": func(s *agent.Session) {
				_ = s.FollowUp(
					context.Background(), "more")
			}},
			want: called(1, "a", "look", "look ran", 0) + "final \"one\" completed\n" +
				called(1, "b", "look", "look ran", 0) + "final \"two\" completed\n"},
		{name: "a question to the host", prompts: 2, setup: setup{tools: []tool.Tool{ask, echo("look")},
			options: agent.Options{Questions: &agent.Questions{}},
			steps:   []llmtest.Step{answers(calls("a", "ask"), calls("b", "look")), answers(saidText("ok"))}},
			want: "step_start 1 a ask\ntool_call a ask {}\nfinal \"\" awaiting_input\n" +
				"tool_result a ask \"go\" false\nstep_complete 1 a completed 0ms\n" + called(2, "b", "look", "look ran",
				0) + "final \"ok\" completed\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runSteps(t, tt.setup, max(tt.prompts, 1), tt.on, tt.want) })
		})
	}
}

// runSteps runs a session and compares the lines of its step events with want. On has reactions to
// events.
func runSteps(t *testing.T, s setup, prompts int, on map[agent.Kind]func(*agent.Session), want string) {
	h := open(t, s, on)
	for range prompts {
		if _, err := h.Submit(t.Context(), "go"); err != nil {
			t.Log(err) // the steps show the error
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	got := stepLines(t, h.events)
	if diff := gocmp.Diff(wildcards(want, got), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if late := stepLines(t, slices.Collect(h.Events(t.Context()))); late != got {
		t.Errorf("from a cursor:\n%swant\n%s", late, got)
	}
}

// wildcards replaces the results in want that stand for any result by those in got.
func wildcards(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if before, after, ok := strings.Cut(w[i], `"*"`); ok && strings.HasPrefix(g[i], before+`"Error: `) &&
			strings.HasSuffix(g[i], after) {
			w[i] = g[i]
		}
	}
	return strings.Join(w, "\n")
}

// Steps are yielded as soon as their turn is certain, and breaking off stops reading.
func TestB_StepsAreYieldedAtOnce(t *testing.T) {
	start := func(id string, i int) agent.Event { return &agent.ToolCallStart{CallID: id, Index: i, Name: "look"} }
	events := []agent.Event{&agent.StepStart{}, &agent.ThinkingDelta{Text: "hm"}, &agent.StepEnd{}, start("a", 0),
		start("b", 1),
		&agent.ToolCallEnd{CallID: "b"}, &agent.ToolCallEnd{CallID: "a"},
		&agent.ProcessingEnd{Reason: agent.ReasonCompleted}}
	var at []int
	read := 0
	for range stepstream.Events(func(yield func(agent.Event) bool) {
		for _, ev := range events {
			if read++; !yield(ev) {
				return
			}
		}
	}) {
		if at = append(at, read); len(at) == 8 {
			break
		}
	}
	// The steps: reasoning; start and call of a; result and end of a, start and call of b; result
	// of b.
	if want := []int{3, 4, 4, 7, 7, 7, 7, 7}; !slices.Equal(at, want) {
		t.Errorf("the events came after reading %v, want %v", at, want)
	}
}

// The final text consists of the texts of the last answer.
func TestB_StepsOfSeveralTexts(t *testing.T) {
	two := []agent.Event{&agent.StepStart{}, &agent.AssistantTextEnd{Text: "one, "},
		&agent.AssistantTextEnd{Block: 1, Text: "two"}, &agent.StepEnd{}}
	events := append(slices.Concat(two, two), &agent.ProcessingEnd{Text: "one, two", Reason: agent.ReasonCompleted})
	if got, want := stepLines(t, events), "text \"one, \"\ntext \"two\"\nfinal \"one, two\" completed\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// The result of a call that began before a resume has no start event.
func TestB_StepsAfterAResume(t *testing.T) {
	got := stepLines(t, []agent.Event{&agent.ToolCallEnd{CallID: "a", Name: "ask", Output: "yes"}})
	if want := strings.Replace(called(1, "a", "ask", "yes", 0), "{}", "null", 1); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// After a resume the remaining calls may have gaps in their numbers. Their order is unchanged.
func TestB_StepsOfTheCallsLeft(t *testing.T) {
	start := func(id string, i int) agent.Event {
		return &agent.ToolCallStart{CallID: id, Index: i, Name: "look", Arguments: json.RawMessage("{}")}
	}
	end := func(id string) agent.Event { return &agent.ToolCallEnd{CallID: id, Name: "look", Output: id} }
	got := stepLines(t, []agent.Event{&agent.SessionStart{}, start("c", 2), start("f", 5), start("d", 3), end("f"),
		end("d"), end("c"), &agent.ProcessingEnd{Reason: agent.ReasonCompleted}})
	want := called(1, "c", "look", "c", 0) + called(2, "d", "look", "d", 0) + called(3, "f", "look", "f",
		0) + "final \"\" completed\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A question that is given up at an interrupt starts a second time. It is still one call.
func TestB_StepsOfACallThatStartsTwice(t *testing.T) {
	start := &agent.ToolCallStart{CallID: "a", Name: "ask", Arguments: json.RawMessage("{}")}
	got := stepLines(t, []agent.Event{start, start, &agent.ToolCallEnd{CallID: "a", Name: "ask", Output: "yes"},
		&agent.ToolCallStart{CallID: "b", Index: 1, Name: "look", Arguments: json.RawMessage("{}")},
		&agent.ToolCallEnd{CallID: "b", Name: "look"}})
	if want := called(1, "a", "ask", "yes", 0) + called(2, "b", "look", "", 0); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Step events have a JSON form.
func TestB_StepsJSON(t *testing.T) {
	events := []agent.Event{&agent.ToolCallStart{CallID: "a", Name: "look", Arguments: json.RawMessage(`{"path":"x"}`)},
		&agent.ToolCallEnd{CallID: "a", Name: "look", Output: "no", IsError: true}, &agent.ProcessingEnd{Text: "ok",
			Reason: agent.ReasonCompleted}}
	data, err := json.Marshal(slices.Collect(stepstream.Events(slices.Values(events))))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"kind":"step_start","step":1,"call_id":"a","name":"look"},` +
		`{"kind":"tool_call","call_id":"a","name":"look","args":{"path":"x"}},` +
		`{"kind":"tool_result","call_id":"a","name":"look","result":"no","is_error":true},` +
		`{"kind":"step_complete","step":1,"call_id":"a","status":"error","duration_ms":0},` +
		`{"kind":"final","text":"ok","reason":"completed"}]`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}
