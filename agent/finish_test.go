package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// submitTool returns a tool that reports that the task is done.
func submitTool() tool.Tool {
	return newTool("submit", writes, func(context.Context, *tool.Call) (tool.Result, error) {
		result := tool.Text("accepted")
		result.Done, result.Final = true, "the final text"
		return result, nil
	})
}

// An answer without calls does not end the input. There are at most three nudges in a row, and tool
// rounds reset the count.
func TestA14_RequireDone(t *testing.T) {
	for _, c := range []struct {
		name   string
		steps  []llmtest.Step
		nudges int
		text   string
		reason agent.Reason
	}{
		{"done at once", []llmtest.Step{llmtest.Calls(call("submit"))}, 0, "the final text", agent.ReasonDone},
		{"done after a nudge", []llmtest.Step{llmtest.Text("1"), llmtest.Calls(call("submit"))}, 1, "the final text",
			agent.ReasonDone},
		{"never done", []llmtest.Step{llmtest.Text("1"), llmtest.Text("2"), llmtest.Text("3"), llmtest.Text("4")}, 3,
			"4", agent.ReasonCompleted},
		{"in a row only", []llmtest.Step{llmtest.Text("1"), llmtest.Text("2"), llmtest.Text("3"),
			llmtest.Calls(call("work")),
			llmtest.Text("4"), llmtest.Text("5"), llmtest.Calls(call("submit"))}, 5, "the final text",
			agent.ReasonDone},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, setup{tools: []tool.Tool{echo("work"), submitTool()}, steps: c.steps,
				options: agent.Options{Policy: agent.Policy{RequireDone: true}}})
			result := h.submit(t, "go", c.reason)
			if result.Text != c.text || strings.Count(h.turns(), "steering:nudge") != c.nudges || h.model.Left() != 0 {
				t.Errorf("%+v, %s, %d steps left", result, h.turns(), h.model.Left())
			}
			for _, s := range only[*agent.SteeringInjected](h) {
				if s.Source != "hook" {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

// The result of a done tool stays in the history. The other calls of its answer have run, and no
// model call follows.
func TestA14_DoneTool(t *testing.T) {
	h := open(t, setup{tools: []tool.Tool{echo("work"), submitTool()},
		steps: []llmtest.Step{llmtest.Calls(call("submit"), call("work")), llmtest.Text("more")}})
	if err := h.Steer(context.Background(), "later"); err != nil {
		t.Fatal(err)
	}
	result := h.submit(t, "go", agent.ReasonDone)
	if result.Text != "the final text" || result.ToolRounds != 1 ||
		h.turns() != "user:user steering:steer assistant:model tool_results:tools" {
		t.Errorf("%+v, %s", result, h.turns())
	}
	parts := h.History()[3].Message.Parts
	if parts[0].(llm.ToolResult).Content.Text() != "accepted" ||
		parts[1].(llm.ToolResult).Content.Text() != "work ran" {
		t.Errorf("results %+v", parts)
	}
	if end := only[*agent.ProcessingEnd](h)[0]; end.Text != "the final text" || end.Reason != agent.ReasonDone ||
		end.State != agent.StatusIdle {
		t.Errorf("%+v", end)
	}
	if h.submit(t, "and now", agent.ReasonCompleted).Text != "more" {
		t.Error("the session does not go on")
	}
}

// asker is a BeforeStop that sends the agent back with each of its prompts and records its
// arguments.
type asker struct {
	prompts []string
	asked   []agent.Stop
}

func (a *asker) ask(_ context.Context, stop agent.Stop) (string, error) {
	a.asked = append(a.asked, stop)
	if len(a.prompts) == 0 {
		return "", nil
	}
	prompt := a.prompts[0]
	a.prompts = a.prompts[1:]
	return prompt, nil
}

// BeforeStop may send the agent back to work, up to the limit of the policy.
func TestA14_BeforeStop(t *testing.T) {
	many := slices.Repeat([]string{"not yet"}, 9)
	for _, c := range []struct {
		name       string
		prompts    []string
		max        int
		back, asks int
	}{
		{"lets it end", nil, 0, 0, 1},
		{"sends it back", []string{"the tests fail"}, 0, 1, 2},
		{"three times unless set", many, 0, 3, 3},
		{"as often as it may", many, 2, 2, 2},
		{"never", many, -1, 0, 0},
		{"blank is no prompt", []string{" \n"}, 0, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &asker{prompts: slices.Clone(c.prompts)}
			steps := []llmtest.Step{llmtest.Calls(call("work")), llmtest.Text("0")}
			for i := range c.back {
				steps = append(steps, llmtest.Text(fmt.Sprint(i+1)))
			}
			h := open(t, setup{tools: []tool.Tool{echo("work")}, steps: steps,
				options: agent.Options{Hooks: agent.Hooks{BeforeStop: a.ask},
					Policy: agent.Policy{MaxConfirms: c.max}}})
			result := h.submit(t, "go", agent.ReasonCompleted)
			if result.Text != fmt.Sprint(c.back) || strings.Count(h.turns(), "steering:before_stop") != c.back ||
				len(a.asked) != c.asks {
				t.Errorf("%+v, %s, asked %+v", result, h.turns(), a.asked)
			}
			unconfirmed := c.back > 0 && c.back == c.asks // the last answer was not shown to it
			if end := only[*agent.ProcessingEnd](h)[0]; result.Unconfirmed != unconfirmed ||
				end.Unconfirmed != unconfirmed || h.Result().Unconfirmed != unconfirmed {
				t.Errorf("unconfirmed: %v in the result, %v in the event, %v afterwards, want %v", result.Unconfirmed,
					end.Unconfirmed, h.Result().Unconfirmed, unconfirmed)
			}
			if c.asks > 0 && a.asked[0] != (agent.Stop{Session: h.ID(), Text: "0", Reason: agent.ReasonCompleted,
				Turns: 2, ToolRounds: 1}) {
				t.Errorf("asked %+v", a.asked[0])
			}
			if s := only[*agent.SteeringInjected](h); c.back > 0 && (s[0].Text != c.prompts[0] ||
				s[0].Source != "hook") {
				t.Errorf("%+v", s[0])
			}
		})
	}
}

// BeforeStop is also called after a done tool and may send the agent back. The input ends when the
// tool is called again.
func TestA14_BeforeStopAfterADoneTool(t *testing.T) {
	a := &asker{prompts: []string{"the tests fail"}}
	h := open(t, setup{tools: []tool.Tool{submitTool()}, options: agent.Options{Hooks: agent.Hooks{BeforeStop: a.ask},
		Policy: agent.Policy{RequireDone: true}},
		steps: []llmtest.Step{llmtest.Calls(call("submit")), llmtest.Calls(call("submit"))}})
	if result := h.submit(t, "go", agent.ReasonDone); result.Text != "the final text" || result.Turns != 2 {
		t.Errorf("%+v", result)
	}
	if len(a.asked) != 2 || a.asked[0].Reason != agent.ReasonDone || a.asked[0].Text != "the final text" {
		t.Errorf("asked %+v", a.asked)
	}
}

// BeforeStop is called only at the natural end, not at a limit and not after an interrupt.
func TestA14_BeforeStopOnlyAtTheNaturalEnd(t *testing.T) {
	a := &asker{prompts: []string{"go on"}}
	h := open(t, setup{tools: []tool.Tool{echo("work")}, steps: []llmtest.Step{llmtest.Calls(call("work"))},
		options: agent.Options{Hooks: agent.Hooks{BeforeStop: a.ask}, Policy: agent.Policy{MaxToolRounds: 1}}})
	h.submit(t, "go", agent.ReasonMaxToolRounds)
	if len(a.asked) != 0 {
		t.Errorf("asked %+v", a.asked)
	}
}

// A BeforeStop that fails causes a warning, and the input ends.
func TestA14_BeforeStopFails(t *testing.T) {
	for name, hook := range map[string]func(context.Context, agent.Stop) (string, error){
		"error": func(context.Context, agent.Stop) (string, error) {
			return "ignored",
				errors.New("the checker is down")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, setup{steps: []llmtest.Step{llmtest.Text("done")},
				options: agent.Options{Hooks: agent.Hooks{BeforeStop: hook}}})
			h.submit(t, "go", agent.ReasonCompleted)
			if w := only[*agent.Warning](h); len(w) != 1 || w[0].Code != "before_stop_failed" ||
				!strings.Contains(w[0].Text, "the checker is down") {
				t.Errorf("warnings %+v", w)
			}
		})
	}
}

// Steering during BeforeStop continues the input as usual. The hook is called again at the next
// end.
func TestA14_SteeringDuringBeforeStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *host
		asked := 0
		h = open(t, setup{steps: []llmtest.Step{llmtest.Text("one"), llmtest.Text("two")},
			options: agent.Options{Hooks: agent.Hooks{BeforeStop: func(context.Context, agent.Stop) (string, error) {
				if asked++; asked == 1 {
					time.Sleep(time.Second)
					if err := h.Steer(context.Background(), "one more thing"); err != nil {
						t.Error(err)
					}
				}
				return "", nil
			}}}})
		if result := h.submit(t, "go", agent.ReasonCompleted); result.Text != "two" || asked != 2 {
			t.Errorf("%+v, asked %d times", result, asked)
		}
		if h.turns() != "user:user assistant:model steering:steer assistant:model" {
			t.Errorf("history %s", h.turns())
		}
	})
}

// An interrupt ends the hook and the input. Messages are not lost, and Continue calls the hook
// again.
func TestA14_InterruptDuringBeforeStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		h := open(t, setup{steps: []llmtest.Step{llmtest.Text("one")},
			options: agent.Options{Hooks: agent.Hooks{BeforeStop: func(ctx context.Context, _ agent.Stop) (string,
				error) {
				if asked++; asked == 1 {
					<-ctx.Done()
					return "too late", nil
				}
				return "", nil
			}}}})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if result, err := h.Submit(ctx, "go"); err == nil || result.Reason != agent.ReasonInterrupted ||
			result.Text != "one" {
			t.Fatalf("Submit = %+v, %v", result, err)
		}
		if result, err := h.Continue(context.Background()); err != nil || result.Text != "one" ||
			result.Reason != agent.ReasonCompleted || asked != 2 {
			t.Errorf("Continue = %+v, %v, asked %d times", result, err, asked)
		}
	})
}

// If Authorize returns Ask, Approve decides. It sees the access of the call, and may edit the
// arguments, which are checked again.
func TestA15_Approve(t *testing.T) {
	type args struct {
		Path string `json:"path"`
	}
	work := tool.WithAccess(tool.New(llm.ToolDefinition{Name: "work"}, func(_ context.Context, _ *tool.Call,
		a args) (tool.Result, error) {
		return tool.Text("wrote " + a.Path), nil
	}), func(a args) tool.Access { return tool.Access{Effect: tool.Writes, Paths: []string{a.Path}} })
	var seen []string
	asks := func(_ context.Context, r tool.Request) (tool.Decision, error) {
		if strings.Contains(r.Call.Args, "free") {
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		if strings.Contains(r.Call.Args, "rewritten") { // edited by a first hook
			return tool.Decision{Verdict: tool.Ask, Args: `{"path":"moved"}`}, nil
		}
		return tool.Decision{Verdict: tool.Ask}, nil
	}
	approve := func(_ context.Context, r tool.Request) (tool.Decision, error) {
		seen = append(seen, fmt.Sprintf("%s %s %s %v", r.Call.Name, r.Call.Args, r.Access.Effect,
			baseNames(t, r.Access.Paths)))
		switch {
		case strings.Contains(r.Call.Args, "deny"):
			return tool.Decision{Reason: "not that file"}, nil
		case strings.Contains(r.Call.Args, "edit"):
			return tool.Decision{Verdict: tool.Allow, Args: `{"path":"edited"}`}, nil
		case strings.Contains(r.Call.Args, "break"):
			return tool.Decision{Verdict: tool.Allow, Args: `{"file":1}`}, nil
		case strings.Contains(r.Call.Args, "fail"):
			return tool.Decision{}, errors.New("the terminal is gone")
		case strings.Contains(r.Call.Args, "again"):
			return tool.Decision{Verdict: tool.Ask}, nil
		}
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	var calls []llm.ToolCall
	names := []string{"free", "plain", "deny", "edit", "break", "fail", "again", "rewritten"}
	for _, name := range names {
		calls = append(calls, call("work", fmt.Sprintf(`"path":%q`, name)))
	}
	h := open(t, setup{tools: []tool.Tool{work}, steps: []llmtest.Step{llmtest.Calls(calls...), llmtest.Text("done")},
		options: agent.Options{Hooks: agent.Hooks{Authorize: asks, Approve: approve}}})
	h.submit(t, "go", agent.ReasonCompleted)
	want := []string{"wrote free", "wrote plain", "not that file", "wrote edited", "invalid arguments",
		"the terminal is gone", "approval", "wrote moved"}
	for i, part := range h.History()[2].Message.Parts {
		r := part.(llm.ToolResult)
		if !strings.Contains(r.Content.Text(), want[i]) || r.IsError == strings.HasPrefix(want[i], "wrote") {
			t.Errorf("%s: %+v, want %q", names[i], r, want[i])
		}
	}
	if len(seen) != 7 || seen[0] != `work {"path":"plain"} writes [plain]` ||
		seen[6] != `work {"path":"moved"} writes [moved]` {
		t.Errorf("the host was shown %q", seen)
	}
	for _, e := range only[*agent.ToolCallStart](h) {
		effective := map[string]string{`{"path":"edit"}`: `{"path":"edited"}`,
			`{"path":"rewritten"}`: `{"path":"moved"}`,
			`{"path":"break"}`:     `{"file":1}`}[string(e.Arguments)]
		if string(e.Effective) != effective {
			t.Errorf("the event has the arguments %s, and as effective ones %s", e.Arguments, e.Effective)
		}
	}
}

// An interrupt ends the wait for an approval.
func TestA15_InterruptDuringApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, setup{tools: []tool.Tool{echo("work")}, steps: []llmtest.Step{llmtest.Calls(call("work"))},
			options: agent.Options{
				Hooks: agent.Hooks{Authorize: func(context.Context, tool.Request) (tool.Decision, error) {
					return tool.Decision{Verdict: tool.Ask}, nil
				},
					Approve: func(ctx context.Context, _ tool.Request) (tool.Decision, error) {
						<-ctx.Done()
						return tool.Decision{Verdict: tool.Allow}, nil
					}}}})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if result, err := h.Submit(ctx, "go"); err == nil || result.Reason != agent.ReasonInterrupted {
			t.Fatalf("Submit = %+v, %v", result, err)
		}
		if r := h.History()[2].Message.Parts[0].(llm.ToolResult); !r.IsError || !strings.Contains(r.Content.Text(),
			"interrupted") {
			t.Errorf("result %+v", r)
		}
	})
}

// BeforeStop is also called before a subagent ends, with its name. Each agent can be sent back up
// to its own limit.
func TestJ14_BeforeStopOfSubagents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		hook := func(_ context.Context, stop agent.Stop) (string, error) {
			asked = append(asked, fmt.Sprintf("%s %q %s", stop.Session, stop.Agent, stop.Text))
			return "look again", nil
		}
		ids := []string{"first", "second"}
		h := openSpawning(t, agent.Options{Hooks: agent.Hooks{BeforeStop: hook}, Policy: agent.Policy{MaxConfirms: 1},
			NewID: func() string { id := ids[0]; ids = ids[1:]; return id }},
			map[string][]llmtest.Step{
				"go": {llmtest.Calls(spawn("a part")), llmtest.Calls(wait("agent-1")), llmtest.Text("done"),
					llmtest.Text("really done")},
				"a part": {llmtest.Text("part done"), llmtest.Text("part really done")},
			})
		h.submit(t, "go", agent.ReasonCompleted)
		want := []string{`second "agent-1" part done`, `first "" done`}
		if !slices.Equal(asked, want) {
			t.Errorf("asked about %q, want %q", asked, want)
		}
		wantOutputs(t, h, "agent-1", "part really done")
	})
}
