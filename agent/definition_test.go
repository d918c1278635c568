package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/profile/gemini"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// reviewer is an agent that only reads.
var reviewer = agent.AgentDefinition{Name: "reviewer", Description: "Reviews a change\nfor mistakes.",
	Instructions: "Look for mistakes.", Tools: []string{"look"},
	Model: "model-2", Effort: "high", MaxTurns: 3}

// offered returns the names of the tools of a request.
func offered(r *llm.Request) []string {
	var names []string
	for _, d := range r.Tools {
		names = append(names, d.Name)
	}
	return names
}

// The model chooses an agent by its name. The agent has exactly the tools, model, effort and
// instructions of its definition.
func TestJ10_DefinedAgent(t *testing.T) {
	log := new(journal.Memory)
	other := agent.AgentDefinition{Name: "other", Description: "Is of another family.",
		ExtraTools: []tool.Tool{echo("own")},
		Profile: &profile.Profile{Name: "other", Provider: "test", Model: "model-3", Prompt: "You are another.",
			Tools: []tool.Tool{echo("theirs")}}}
	h := openSpawning(t, agent.Options{Journal: log, Instructions: "Be brief.",
		Subagents: &agent.Subagents{Definitions: []agent.AgentDefinition{reviewer, other}}}, map[string][]llmtest.Step{
		"go": {llmtest.Calls(spawn("a", "agent", "reviewer"), spawn("b", "agent", "nobody"), spawn("c"),
			spawn("d", "agent", "other")),
			llmtest.Calls(wait("agent-1"), wait("agent-3"), wait("agent-4")), llmtest.Text("done")},
		"a": slices.Repeat([]llmtest.Step{llmtest.Calls(call("look"), call("change"))}, 9), "c": {llmtest.Text("ok")},
		"d": {llmtest.Text("ok")},
	}, echo("look"), echo("change"))
	h.submit(t, "go", agent.ReasonCompleted)
	wantOutputs(t, h, "running", `there is no agent "nobody"; choose one of reviewer, other`, "running", "running",
		"max_turns", "ok", "ok")
	a, c, d := h.requests("a"), h.requests("c")[0], h.requests("d")[0]
	if r := a[0]; len(a) != 3 || r.Model != "model-2" || r.Effort != "high" ||
		!slices.Equal(offered(r), []string{"look"}) {
		t.Errorf("the reviewer made %d calls, of %s with the effort %q and the tools %v", len(a), r.Model, r.Effort,
			offered(r))
	}
	if system := a[0].Messages[0].Parts.Text(); !strings.Contains(system,
		"Be brief.\n\nLook for mistakes.\n\nYou work for another agent") {
		t.Errorf("the reviewer's prompt: %s", system)
	}
	if !strings.Contains(a[1].Messages[3].Parts[1].(llm.ToolResult).Content.Text(), "unknown tool") {
		t.Errorf("a tool that the reviewer may not have: %+v", a[1].Messages)
	}
	if c.Model != "model-1" || !slices.Equal(offered(c), []string{"look", "change"}) {
		t.Errorf("the general agent has the model %s and the tools %v", c.Model, offered(c))
	}
	if d.Model != "model-3" || !slices.Equal(offered(d), []string{"theirs", "own"}) ||
		!strings.HasPrefix(d.Messages[0].Parts.Text(), "You are another.") {
		t.Errorf("the other agent has the model %s and the tools %v", d.Model, offered(d))
	}
	if def := h.requests("go")[0].Tools[0]; !strings.Contains(def.Description,
		"\n- reviewer: Reviews a change for mistakes.\n- other: Is") || !strings.Contains(string(def.Parameters),
		`"agent"`) {
		t.Errorf("the model is told %s, %s", def.Description, def.Parameters)
	}
	state, err := agent.Load(context.Background(), log)
	if err != nil {
		t.Fatal(err)
	}
	if got := state.Children[0].Started; got.Task != "a" || got.Agent != "reviewer" ||
		got.Instructions != "Look for mistakes." || got.Model != "model-2" ||
		got.Effort != "high" || got.MaxTurns != 3 || !slices.Equal(got.Tools, []string{"look"}) {
		t.Errorf("the journal says that the reviewer was started with %+v", got)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	checkReplay(t, log, h.events)
}

// A tool that starts agents may give them fewer tools, but none that they would not have.
func TestJ10_TaskOfAnAgent(t *testing.T) {
	var table tool.Agents
	h := openSpawning(t, agent.Options{Subagents: &agent.Subagents{Definitions: []agent.AgentDefinition{reviewer}}},
		map[string][]llmtest.Step{
			"go": {llmtest.Calls(call("agents")), llmtest.Text("done")}, "a": {llmtest.Text("ok")},
			"b": {llmtest.Text("ok")},
		}, agents(&table), echo("look"), echo("change"))
	h.submit(t, "go", agent.ReasonCompleted)
	ctx := context.Background()
	for _, task := range []tool.AgentTask{{Task: "x", Tools: []string{"nothing"}}, {Task: "x", Agent: "reviewer",
		Tools: []string{"change"}}} {
		if _, err := table.Spawn(ctx, task); err == nil || !strings.Contains(err.Error(), "is to have the tool") {
			t.Errorf("%+v: %v", task, err)
		}
	}
	for _, task := range []tool.AgentTask{{Task: "a", Tools: []string{"look"}, Instructions: "Look twice."},
		{Task: "b", Tools: []string{}}} {
		status, err := table.Spawn(ctx, task)
		if err == nil {
			_, err = table.Wait(ctx, status.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	a, b := h.requests("a")[0], h.requests("b")[0]
	if !slices.Equal(offered(a), []string{"look"}) || len(b.Tools) != 0 || !strings.Contains(a.Messages[0].Parts.Text(),
		"Look twice.") {
		t.Errorf("the tools are %v and %v", offered(a), offered(b))
	}
}

// The tools of each dialect list the defined agents. Without definitions they are unchanged.
func TestJ10_DialectsListAgents(t *testing.T) {
	kinds := []tool.AgentKind{{Name: "reviewer", Description: "Reviews."}}
	found := 0
	for _, tools := range [][]tool.Tool{coding.Agents(), anthropic.Native().Tools, gemini.Native().Tools} {
		for _, t2 := range tools {
			if t2.ForAgents == nil {
				continue
			}
			found++
			def := t2.ForAgents(kinds)
			if def.Name != t2.Name || !strings.Contains(def.Description, "- reviewer: Reviews.") ||
				string(def.Parameters) == string(t2.Parameters) ||
				strings.Contains(string(def.Parameters), "There is one") || strings.Contains(t2.Description,
				"reviewer") {
				t.Errorf("%s: %s %s", t2.Name, def.Description, def.Parameters)
			}
			t2.ToolDefinition = def
			if _, err := tool.NewRegistry(t2); err != nil {
				t.Error(err)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d tools list agents", found)
	}
}

// Definitions that the model could not choose are refused.
func TestJ10_InvalidDefinitions(t *testing.T) {
	for want, defs := range map[string][]agent.AgentDefinition{
		"Definitions[1] has no name": {reviewer, {}}, `have the name "reviewer"`: {reviewer, reviewer},
		"cannot be negative": {{Name: "x", MaxTurns: -1}},
	} {
		o := agent.Options{Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test")}},
			Env:       emptyEnv(t),
			Profile:   profile.Profile{Name: "test", Provider: "test", Model: "m"},
			Subagents: &agent.Subagents{Definitions: defs}}
		if _, err := agent.New(context.Background(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A definition that names the session's own provider needs no model of its own, also while a
// fallback of another provider is asked.
func TestJ10_DefinedAgentDuringAFallback(t *testing.T) {
	same := agent.AgentDefinition{Name: "same", Provider: "test"}
	o := agent.Options{Retry: once, Subagents: &agent.Subagents{Definitions: []agent.AgentDefinition{same}}}
	two := byTask(map[string][]llmtest.Step{
		"go": {llmtest.Calls(spawn("a", "agent", "same")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
		"a":  {llmtest.Text("ok")},
	})
	b := openWithFallbacks(t, setup{steps: []llmtest.Step{fails(llm.ErrServer)}, tools: coding.Agents(), options: o},
		two, nil)
	b.submit(t, "go", agent.ReasonCompleted)
	wantOutputs(t, b.host, "running", `"output":"ok"`)
}

// Options of a provider are sent to no other one, whichever way a subagent comes to have another
// provider, and neither is the model that writes summaries asked of another one.
func TestJ10_ProviderOptionsOfAnAgent(t *testing.T) {
	other := agent.AgentDefinition{Name: "other", Provider: "two", Model: "model-2"}
	for name, c := range map[string]struct {
		first []llmtest.Step // of the session's provider
		agent string
		own   bool // the options are the profile's
	}{
		"a definition": {[]llmtest.Step{llmtest.Calls(spawn("a", "agent", "other"))}, "other", false},
		"a definition, the profile's options": {[]llmtest.Step{llmtest.Calls(spawn("a", "agent", "other"))}, "other",
			true},
		"a fallback":                        {[]llmtest.Step{fails(llm.ErrServer)}, "", false},
		"a fallback, the profile's options": {[]llmtest.Step{fails(llm.ErrServer)}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(journal.Memory)
			o := agent.Options{Retry: once, Subagents: &agent.Subagents{Definitions: []agent.AgentDefinition{other},
				Journal: func(context.Context, string) (journal.Log, error) { return log, nil }}}
			o.Compaction = agent.CompactionPolicy{Threshold: 0.8, Model: "small"}
			options := json.RawMessage(`{"x":1}`)
			if c.own {
				o.Profile.Options = options
			} else {
				o.Request.ProviderOptions = options
			}
			two := byTask(map[string][]llmtest.Step{
				"go": {llmtest.Calls(spawn("a")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
				"a":  {llmtest.Text("ok")},
			})
			b := openWithFallbacks(t, setup{steps: append(c.first, llmtest.Calls(wait("agent-1")),
				llmtest.Text("done")), tools: coding.Agents(), options: o}, two, nil)
			b.submit(t, "go", agent.ReasonCompleted)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			found := false
			for _, r := range b.two.Requests() {
				found = found || taskOf(r) == "a"
				if _, ok := r.Options["two"]; ok {
					t.Errorf("%q has the options %s", taskOf(r), r.Options["two"])
				}
			}
			if state, err := agent.Load(context.Background(), log); err != nil ||
				state.Policy.Compaction.Provider != "test" {
				t.Errorf("summaries are asked of another provider: %+v, %v", state, err)
			}
			if !found {
				t.Errorf("the agent asked no model of the other provider: %s", b.kinds())
			}
		})
	}
}

// A tool that panics when it is to list the agents is not added.
func TestJ10_BrokenListOfAgents(t *testing.T) {
	bad := echo("bad")
	bad.ForAgents = func([]tool.AgentKind) llm.ToolDefinition { panic("no list") }
	o := agent.Options{Subagents: &agent.Subagents{Definitions: []agent.AgentDefinition{reviewer}}}
	h := open(t, setup{options: o, steps: []llmtest.Step{llmtest.Text("done")}})
	var broken *agent.HostError
	if err := h.AddTools(context.Background(), bad); !errors.As(err, &broken) {
		t.Errorf("AddTools: %v", err)
	}
	if err := h.Set(context.Background(), agent.Settings{Tools: []tool.Tool{bad}}); !errors.As(err, &broken) {
		t.Errorf("Set: %v", err)
	}
	h.submit(t, "go", agent.ReasonCompleted)
}
