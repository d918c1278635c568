package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

func set(t *testing.T, h *host, s agent.Settings) {
	t.Helper()
	if err := h.Set(context.Background(), s); err != nil {
		t.Error(err)
	}
}

func effort(name string) agent.Settings { return agent.Settings{Effort: &name} }

// setter returns a tool that changes settings.
func setter(t *testing.T, h **host, s agent.Settings) tool.Tool {
	return newTool("set", writes, func(context.Context, *tool.Call) (tool.Result, error) {
		set(t, *h, s)
		return tool.Text("ok"), nil
	})
}

// requestSettings returns the model, effort and tools of every request.
func (h *host) requestSettings() []string {
	var asks []string
	for _, r := range h.model.Requests() {
		var names []string
		for _, d := range r.Tools {
			names = append(names, d.Name)
		}
		asks = append(asks, fmt.Sprintf("%s/%s/%s", r.Model, r.Effort, strings.Join(names, ",")))
	}
	return asks
}

func (h *host) epochs() []int {
	var epochs []int
	for _, e := range only[*agent.StepStart](h) {
		epochs = append(epochs, e.Epoch)
	}
	return epochs
}

// Settings that change during an input apply from the next model call on. A change to the beginning
// of the request begins a new epoch.
func TestA8_SettingsInTheMiddle(t *testing.T) {
	other := "model-2"
	for name, c := range map[string]struct {
		set    agent.Settings
		asks   []string
		epochs []int
	}{
		"effort": {effort("high"), []string{"model-1//set", "model-1/high/set"}, []int{0, 0}},
		"model":  {agent.Settings{Model: &other}, []string{"model-1//set", "model-2//set"}, []int{0, 1}},
		"tools": {agent.Settings{Tools: []tool.Tool{echo("new")}}, []string{"model-1//set", "model-1//new"},
			[]int{0, 1}},
		"none": {agent.Settings{Tools: []tool.Tool{}}, []string{"model-1//set", "model-1//"}, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h *host
				log := new(journal.Memory)
				h = open(t, setup{tools: []tool.Tool{setter(t, &h, c.set)}, options: agent.Options{Journal: log},
					steps: []llmtest.Step{llmtest.Calls(call("set")), llmtest.Text("done")}})
				h.submit(t, "go", agent.ReasonCompleted)
				if !slices.Equal(h.requestSettings(), c.asks) || !slices.Equal(h.epochs(), c.epochs) {
					t.Errorf("asked %q in the epochs %v, want %q in %v", h.requestSettings(), h.epochs(), c.asks,
						c.epochs)
				}
				state, err := agent.Load(context.Background(), log)
				if live := h.FoldedState(); err != nil || state.Epoch != live.Epoch || state.Effort != live.Effort ||
					state.Model != live.Model {
					t.Errorf("the journal has %+v, %v", state, err)
				}
				rest := open(t, setup{tools: []tool.Tool{setter(t, &h, c.set), echo("new")},
					steps:   []llmtest.Step{llmtest.Text("more")},
					options: agent.Options{Journal: journal.NewMemory(all(t, log)...)}})
				rest.submit(t, "more", agent.ReasonCompleted)
				if got := rest.requestSettings(); got[0] != c.asks[1] {
					t.Errorf("after a resume asked %q, want %q", got, c.asks[1])
				}
			})
		})
	}
}

// A replaced tool is gone for the model and for the session, and a new tool runs.
func TestA8_ToolsRunAsTheyAreOffered(t *testing.T) {
	var h *host
	h = open(t, setup{tools: []tool.Tool{setter(t, &h, agent.Settings{Tools: []tool.Tool{echo("new")}})},
		steps: []llmtest.Step{llmtest.Calls(call("set")), llmtest.Calls(call("set"), call("new")),
			llmtest.Text("done")}})
	h.submit(t, "go", agent.ReasonCompleted)
	ends := only[*agent.ToolCallEnd](h)
	if !ends[1].IsError && !ends[2].IsError || !strings.Contains(ends[1].Output+ends[2].Output, "unknown tool") ||
		!strings.Contains(ends[1].Output+ends[2].Output, "new ran") {
		t.Errorf("results %q and %q", ends[1].Output, ends[2].Output)
	}
	twice := agent.Settings{Tools: []tool.Tool{{ToolDefinition: llm.ToolDefinition{Name: "no schema",
		Parameters: []byte("x")}}}}
	if err := h.Set(context.Background(), twice); err == nil {
		t.Error("a broken tool was accepted")
	}
	if d := h.Definitions(); len(d) != 1 || d[0].Name != "new" {
		t.Errorf("definitions %v", d)
	}
}

// A model gets the effort nearest to the requested one, and the host is warned.
func TestA8_ClampsTheEffort(t *testing.T) {
	for _, c := range []struct {
		takes []string
		asked string
		sent  string
		warns bool
	}{
		{nil, "max", "max", false},
		{[]string{"low", "medium", "high"}, "", "", false},
		{[]string{"low", "medium", "high"}, "medium", "medium", false},
		{[]string{"low", "medium", "high"}, "max", "high", true},
		{[]string{"low", "medium", "high"}, "none", "low", true},
		{[]string{"low", "high"}, "medium", "low", true}, // of two that are equally near, the cheaper one
		{[]string{"low", "high"}, "turbo", "turbo", false},
		{[]string{"special"}, "low", "low", false},
	} {
		t.Run(fmt.Sprint(c.takes, c.asked), func(t *testing.T) {
			h := open(t, setup{models: model(llm.Model{Efforts: c.takes}), options: agent.Options{Effort: c.asked},
				steps: []llmtest.Step{llmtest.Text("hi")}})
			h.submit(t, "go", agent.ReasonCompleted)
			if got := h.model.Requests()[0].Effort; got != c.sent {
				t.Errorf("sent %q, want %q", got, c.sent)
			}
			if warns := h.warned() == "effort_clamped"; warns != c.warns {
				t.Errorf("warned %q", h.warned())
			}
		})
	}
}

// The requested effort is kept: another model may support it although this one does not.
func TestA8_ClampedForTheCurrentModel(t *testing.T) {
	takes := map[string][]string{"model-1": {"low", "high"}, "model-2": {"low", "max"}}
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("1"), llmtest.Text("2"), llmtest.Text("3")},
		models: func(_, id string) (llm.Model, bool) { return llm.Model{Efforts: takes[id]}, true }})
	set(t, h, effort("max"))
	h.submit(t, "one", agent.ReasonCompleted)
	two := "model-2"
	set(t, h, agent.Settings{Model: &two})
	h.submit(t, "two", agent.ReasonCompleted)
	if want := []string{"model-1/high/", "model-2/max/"}; !slices.Equal(h.requestSettings(), want) ||
		h.warned() != "effort_clamped" {
		t.Errorf("asked %q, warned %q", h.requestSettings(), h.warned())
	}
}

// fixing is a provider whose effort must not change within a tool round.
type fixing struct{ llm.Provider }

func (fixing) FixesEffort(*llm.Model) bool { return true }

func fixes(p llm.Provider) llm.Provider { return fixing{p} }

// If the provider needs a fixed effort in a tool round, a new effort applies after the round, with
// a warning.
func TestA8_EffortFixedInAToolRound(t *testing.T) {
	var h *host
	h = open(t, setup{wrap: fixes, tools: []tool.Tool{setter(t, &h, effort("max"))},
		models: model(llm.Model{Efforts: []string{"low", "high"}}),
		steps: []llmtest.Step{llmtest.Calls(call("set")), llmtest.Calls(call("set")), llmtest.Text("done"),
			llmtest.Text("more"), llmtest.Text("even more")}})
	h.submit(t, "go", agent.ReasonCompleted)
	h.submit(t, "more", agent.ReasonCompleted)
	want := []string{"model-1//set", "model-1//set", "model-1//set", "model-1/high/set"}
	if !slices.Equal(h.requestSettings(), want) {
		t.Errorf("asked %q, want %q", h.requestSettings(), want)
	}
	if h.warned() != "effort_later effort_clamped effort_later effort_clamped" {
		t.Errorf("warned %q", h.warned())
	}
	set(t, h, effort("low")) // the effort may change between inputs
	h.submit(t, "even more", agent.ReasonCompleted)
	if last := h.requestSettings()[4]; last != "model-1/low/set" || strings.Count(h.warned(), "effort_later") != 2 {
		t.Errorf("asked %q, warned %q", last, h.warned())
	}
}

// The effort stays fixed after steering, and after an interrupt with Continue. The next task frees
// it.
func TestA8_EffortFixedUntilTheRoundIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *host
		h = open(t, setup{wrap: fixes, tools: []tool.Tool{echo("work")},
			steps: []llmtest.Step{llmtest.Calls(call("work")),
				// results and steering are in the request
				llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
					set(t, h, effort("high"))
					h.Interrupt()
					return llmtest.Hang()
				}),
				llmtest.Calls(call("work")), llmtest.Text("done"), llmtest.Text("more")},
			options: agent.Options{OnEvent: func(ev agent.Event) {
				if _, ok := ev.(*agent.ToolCallEnd); ok && len(only[*agent.ToolCallEnd](h)) == 1 {
					if err := h.Steer(context.Background(), "left"); err != nil {
						t.Error(err)
					}
				}
			}}})
		h.submit(t, "go", agent.ReasonInterrupted)
		if result, err := h.Continue(context.Background()); err != nil || result.Text != "done" {
			t.Fatalf("Continue = %+v, %v", result, err)
		}
		h.submit(t, "more", agent.ReasonCompleted)
		want := []string{"model-1//work", "model-1//work", "model-1//work", "model-1//work", "model-1/high/work"}
		if !slices.Equal(h.requestSettings(), want) || h.warned() != "effort_later" {
			t.Errorf("asked %q, want %q; warned %q", h.requestSettings(), want, h.warned())
		}
	})
}

// After an answer without calls the effort may change, also for the model call after BeforeStop, a
// nudge or steering.
func TestA8_EffortFreeBetweenAnswers(t *testing.T) {
	var h *host
	h = open(t, setup{wrap: fixes, steps: []llmtest.Step{llmtest.Text("one"), llmtest.Text("two")},
		options: agent.Options{Policy: agent.Policy{MaxConfirms: 1},
			Hooks: agent.Hooks{BeforeStop: func(context.Context, agent.Stop) (string, error) {
				set(t, h, effort("high"))
				return "more", nil
			}}}})
	h.submit(t, "go", agent.ReasonCompleted)
	if want := []string{"model-1//", "model-1/high/"}; !slices.Equal(h.requestSettings(), want) || h.warned() != "" {
		t.Errorf("asked %q, warned %q", h.requestSettings(), h.warned())
	}
}

// A model without a known price is refused if there is a money budget, and nothing changes.
func TestA18_SetRefusesAModelWithoutPrices(t *testing.T) {
	h := open(t, setup{options: agent.Options{Policy: agent.Policy{Budget: agent.Budget{USD: 1}}},
		steps: []llmtest.Step{llmtest.Text("hi")},
		models: func(_, id string) (llm.Model, bool) {
			return llm.Model{Prices: []llm.Price{{Input: 1, Output: 1}}}, id == "model-1"
		}})
	unknown := "model-2"
	if err := h.Set(context.Background(), agent.Settings{Model: &unknown}); err == nil ||
		errors.Is(err, agent.ErrClosed) {
		t.Errorf("Set = %v", err)
	}
	h.submit(t, "go", agent.ReasonCompleted)
	if diff := gocmp.Diff([]string{"model-1//"}, h.requestSettings()); diff != "" {
		t.Error(diff)
	}
}
