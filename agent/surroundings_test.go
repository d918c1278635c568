package agent_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// isolating returns the options for agents, of which those of the kind apart have surroundings.
func isolating(isolate func(ctx context.Context, id string, e env.Environment,
	task tool.AgentTask) (*agent.Surroundings,
	error)) agent.Options {
	return agent.Options{Subagents: &agent.Subagents{MaxRunning: 1, Isolate: isolate,
		Definitions: []agent.AgentDefinition{{Name: "apart", Description: "x", Isolation: "island"}}}}
}

// An agent in surroundings of its own works there, under the id of its session. It ends with its
// report, which has what the host says of them. Until they are closed it counts as working.
func TestO8_Surroundings(t *testing.T) {
	dir, ids, cuts := t.TempDir(), []string(nil), []bool(nil)
	leaving, goOn := make(chan struct{}), make(chan struct{})
	o := isolating(func(_ context.Context, id string, e env.Environment, task tool.AgentTask) (*agent.Surroundings,
		error) {
		local, err := env.NewLocal(dir, env.LocalOptions{})
		if ids = append(ids, id); task.Isolation != "island" || e.WorkDir() == dir {
			t.Errorf("asked for %+v in %s", task, e.WorkDir())
		}
		return &agent.Surroundings{Env: local, Instructions: "ON AN ISLAND", Close: func(cut bool) string {
			close(leaving)
			<-goOn
			cuts = append(cuts, cut)
			if err := local.Close(); err != nil {
				t.Error(err)
			}
			return "it was an island"
		}}, err
	})
	o.Subagents.Definitions[0].Instructions = "ITS KIND"
	h := openSpawning(t, o, map[string][]llmtest.Step{
		"go": {llmtest.Calls(spawn("work", "agent", "apart")),
			llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
				<-leaving
				return llmtest.Calls(spawn("more"))
			}),
			llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
				close(goOn)
				return llmtest.Calls(wait("agent-1"), send("agent-1", "more"), closing("agent-1"))
			}), llmtest.Text("done")},
		"work": {llmtest.Calls(llmtest.Call("write_file", `{"file_path":"made","content":"x"}`)),
			llmtest.Text("made it")},
	}, coding.WriteFile())
	h.submit(t, "go", agent.ReasonCompleted)
	wantOutputs(t, h, "agent-1", "1 agents are working", `"output":"made it\n\nit was an island"`,
		"agent agent-1 has ended", "completed")
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
	if !slices.Equal(cuts, []bool{false}) || len(ids) != 1 {
		t.Errorf("closed %v, ids %v", cuts, ids)
	}
	prompt := h.requests("work")[0].Messages[0].Parts.Text()
	if i, j := strings.Index(prompt, "ON AN ISLAND"), strings.Index(prompt, "ITS KIND"); i < 0 || j < i {
		t.Errorf("the prompt is %s", prompt)
	}
	for _, ev := range only[*agent.SubagentEvent](h) {
		if s, ok := ev.Event.(*agent.SessionStart); ok && (s.Dir != dir || s.SessionID != ids[0]) {
			t.Errorf("%s works in %s", s.SessionID, s.Dir)
		}
	}
}

// Surroundings are closed once, whatever becomes of the agent: it is ended, it cannot begin, or the
// session ends before it has a report.
func TestO8_SurroundingsAreClosed(t *testing.T) {
	for name, c := range map[string]struct {
		steps []llmtest.Step
		cut   bool
	}{
		"ended": {[]llmtest.Step{llmtest.Calls(spawn("work", "agent", "apart")),
			llmtest.Calls(closing("agent-1")), llmtest.Text("x")}, true},
		"cannot begin": {[]llmtest.Step{llmtest.Calls(spawn("work", "agent", "apart", "working_dir", "none")),
			llmtest.Text("x")}, true},
		"elsewhere": {[]llmtest.Step{llmtest.Calls(spawn("work", "agent", "apart", "working_dir", "/")),
			llmtest.Text("x")}, true},
		"the session is":  {[]llmtest.Step{llmtest.Calls(spawn("work", "agent", "apart")), llmtest.Text("x")}, true},
		"the answer ends": {[]llmtest.Step{llmtest.Calls(spawn("quick", "agent", "apart")), llmtest.Text("x")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			closed := make(chan bool, 9)
			o := isolating(func(_ context.Context, _ string, e env.Environment, _ tool.AgentTask) (*agent.Surroundings,
				error) {
				return &agent.Surroundings{Env: e, Close: func(cut bool) string { closed <- cut; return "told" }}, nil
			})
			h := openSpawning(t, o, map[string][]llmtest.Step{"go": c.steps, "quick": {llmtest.Text("done")},
				"work": {llmtest.Hang()}})
			h.submit(t, "go", agent.ReasonCompleted)
			if !c.cut {
				closed <- await.Receive(t, "the surroundings are closed", closed)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			if cut := <-closed; cut != c.cut || len(closed) > 0 {
				t.Errorf("closed with %t, and %d times more", cut, len(closed))
			}
		})
	}
}

// What the host says against surroundings is the result of the call. Without Isolate there are
// none.
func TestO8_NoSurroundings(t *testing.T) {
	for want, o := range map[string]agent.Options{
		"no islands here": isolating(func(context.Context, string, env.Environment,
			tool.AgentTask) (*agent.Surroundings, error) {
			return nil, errors.New("no islands here")
		}),
		"isolation is not offered here": isolating(nil),
	} {
		h := openSpawning(t, o, map[string][]llmtest.Step{
			"go": {llmtest.Calls(spawn("work", "agent", "apart")), llmtest.Text("done")}})
		h.submit(t, "go", agent.ReasonCompleted)
		wantOutputs(t, h, want)
		if events := only[*agent.SubagentEvent](h); len(events) > 0 {
			t.Errorf("an agent has begun: %+v", events[0])
		}
	}
}
