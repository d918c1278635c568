package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// openLooping opens a session in which each answer calls the tool of the next letter, and the last
// answer ends the input.
func openLooping(t *testing.T, letters string, o agent.Options) *host {
	t.Helper()
	n := 0
	poll := newTool("p", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		n++
		return tool.Text(fmt.Sprintf("line %d", n)), nil
	})
	var steps []llmtest.Step
	for _, l := range letters {
		steps = append(steps, llmtest.Calls(call(string(l))))
	}
	h := open(t, setup{tools: []tool.Tool{echo("a"), echo("b"), echo("c"), echo("d"), poll}, options: o,
		steps: append(steps, llmtest.Text("done"))})
	h.submit(t, "go", agent.ReasonCompleted)
	return h
}

// loops returns the periods and repeats of the detected loops, and after how many calls.
func (h *host) loops() string {
	var loops []string
	calls := 0
	for _, ev := range h.events {
		switch e := ev.(type) {
		case *agent.ToolCallEnd:
			calls++
		case *agent.LoopDetection:
			loops = append(loops, fmt.Sprintf("%d:%dx%d", calls, e.Period, e.Repeats))
		}
	}
	return strings.Join(loops, " ")
}

// Loops of up to three different calls are detected, once per episode.
func TestA9_Detects(t *testing.T) {
	for _, c := range []struct {
		name, calls string
		policy      agent.LoopPolicy
		want        string
	}{
		{"four are none", "aaaa", agent.LoopPolicy{}, ""},
		{"period 1", "aaaaa", agent.LoopPolicy{}, "5:1x5"},
		{"period 1 at the end", "bcaaaaa", agent.LoopPolicy{}, "7:1x5"},
		{"period 2 twice is none", "abab", agent.LoopPolicy{}, ""},
		{"period 2", "ababab", agent.LoopPolicy{}, "6:2x3"},
		{"period 3 once is none", "abcab", agent.LoopPolicy{}, ""},
		{"period 3", "abcabc", agent.LoopPolicy{}, "6:3x2"},
		{"period 4 is none", "abcdabcd", agent.LoopPolicy{}, ""},
		{"once an episode", "aaaaaaaaaaaaaaaaaaaa", agent.LoopPolicy{}, "5:1x5"},
		{"once an episode of period 2", "abababababababab", agent.LoopPolicy{}, "6:2x3"},
		{"once an episode of period 3", "abcabcabcabca", agent.LoopPolicy{}, "6:3x2"},
		{"episodes begin anew", "aaaaaabaaaaa", agent.LoopPolicy{}, "5:1x5 12:1x5"},
		{"an episode may follow another", "aaaaabababa", agent.LoopPolicy{}, "5:1x5 11:2x3"},
		{"of the last calls only", "ababab", agent.LoopPolicy{Window: 5}, ""},
		{"in a small window", "aaaaa", agent.LoopPolicy{Window: 5}, "5:1x5"},
		{"off", "aaaaaaaaaa", agent.LoopPolicy{Off: true}, ""},
		{"whatever the results", "ppppp", agent.LoopPolicy{}, "5:1x5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := openLooping(t, c.calls, agent.Options{Policy: agent.Policy{Loops: c.policy}})
			if got := h.loops(); got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
			if want := strings.Count(h.turns(), "steering:loop"); want != len(only[*agent.LoopDetection](h)) {
				t.Errorf("%d warnings in the history", want)
			}
		})
	}
}

// The model is warned once, with a user message right after the results and after steering.
func TestA9_Warns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *host
		steered := false
		o := agent.Options{OnEvent: func(ev agent.Event) {
			if h != nil && !steered && len(h.model.Requests()) == 5 {
				steered = true
				if err := h.Steer(context.Background(), "look elsewhere"); err != nil {
					t.Error(err)
				}
			}
		}}
		h = open(t, setup{tools: []tool.Tool{echo("a")}, options: o,
			steps: append(slices.Repeat([]llmtest.Step{llmtest.Calls(call("a", `"path":"x"`))}, 5),
				llmtest.Text("done"))})
		h.submit(t, "go", agent.ReasonCompleted)
		last := h.model.Requests()[5].Messages
		if n := len(last); last[n-2].Parts.Text() != "look elsewhere" || !strings.Contains(last[n-1].Parts.Text(),
			"5 times in a row") || last[n-1].Role != "user" {
			t.Errorf("the last messages: %+v", last[n-2:])
		}
		if want := "TOOL_CALL_END STEERING_INJECTED LOOP_DETECTION STEP_START"; !strings.Contains(h.kinds(), want) {
			t.Errorf("events %s, want %s", h.kinds(), want)
		}
		if w := only[*agent.LoopDetection](h)[0]; w.Text != last[len(last)-1].Parts.Text() {
			t.Errorf("LOOP_DETECTION %+v", w)
		}
	})
}

// Calls are the same if only the order of arguments or white space differs, and different if a
// value differs.
func TestA9_CanonicalArguments(t *testing.T) {
	type args struct {
		A, B string `json:",omitempty"`
	}
	work := tool.New(echo("work").ToolDefinition, func(context.Context, *tool.Call, args) (tool.Result,
		error) {
		return tool.Text("ok"), nil
	})
	work.Parameters = []byte(`{"type":"object"}`)
	play := func(texts ...string) *host {
		var steps []llmtest.Step
		for _, text := range texts {
			steps = append(steps, llmtest.Calls(llmtest.Call("work", text)))
		}
		h := open(t, setup{tools: []tool.Tool{work}, steps: append(steps, llmtest.Text("done"))})
		h.submit(t, "go", agent.ReasonCompleted)
		return h
	}
	if got := play(`{"A":"1","B":"2"}`, `{"B":"2","A":"1"}`, ` { "A": "1", "B":"2" } `,
		"{\"A\":\"1\",\n\"B\":\"\\u0032\"}", `{"A":"1","B":"2"}`).loops(); got != "5:1x5" {
		t.Errorf("found %q", got)
	}
	if got := play(`{"A":"1"}`, `{"A":"2"}`, `{"A":"3"}`, `{"A":"4"}`, `{"A":"5"}`, "no json", "nor this", "nor that",
		"or that", "or this").loops(); got != "" {
		t.Errorf("found %q", got)
	}
}

// A user who asks for the same thing repeatedly does not make a loop.
func TestA9_NewTaskResetsDetection(t *testing.T) {
	var steps []llmtest.Step
	for range 6 {
		steps = append(steps, llmtest.Calls(call("a")), llmtest.Text("ok"))
	}
	h := open(t, setup{tools: []tool.Tool{echo("a")}, steps: steps})
	for range 6 {
		h.submit(t, "run it", agent.ReasonCompleted)
	}
	if h.loops() != "" {
		t.Errorf("found %q", h.loops())
	}
}

// Several calls of one answer count like calls of several answers.
func TestA9_CallsOfOneAnswer(t *testing.T) {
	h := open(t, setup{tools: []tool.Tool{echo("a")},
		steps: []llmtest.Step{llmtest.Calls(call("a"), call("a"), call("a"), call("a"), call("a")),
			llmtest.Text("done")}})
	h.submit(t, "go", agent.ReasonCompleted)
	if h.loops() != "5:1x5" {
		t.Errorf("found %q", h.loops())
	}
}

// A loop can end the input instead, like a limit, and the session can continue.
func TestJ10_LoopsStop(t *testing.T) {
	work := echo("work")
	again := slices.Repeat([]llmtest.Step{llmtest.Calls(call("work"))}, 5)
	h := open(t, setup{tools: []tool.Tool{work}, steps: slices.Concat(again, []llmtest.Step{llmtest.Calls(call("work")),
		llmtest.Text("done")}),
		options: agent.Options{Policy: agent.Policy{Loops: agent.LoopPolicy{EndInput: true}}}})
	result := h.submit(t, "go", agent.ReasonLoop)
	limit := only[*agent.TurnLimit](h)
	if result.ToolRounds != 5 || len(limit) != 1 || limit[0].Limit != agent.ReasonLoop || limit[0].Value != 5 ||
		len(only[*agent.LoopDetection](h)) != 0 {
		t.Errorf("%+v, %+v", result, limit)
	}
	if result, err := h.Continue(context.Background()); err != nil || result.Reason != agent.ReasonCompleted ||
		result.Text != "done" {
		t.Errorf("%+v, %v", result, err)
	}
}
