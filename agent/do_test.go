package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
)

type verdict struct {
	Passed bool     `json:"passed" jsonschema:"whether the tests pass"`
	Failed []string `json:"failed,omitempty"`
}

// do runs a task with a model that answers with the given steps.
func do[T any](o agent.Options, steps ...llmtest.Step) (T, *agent.Result, *llmtest.Provider, error) {
	model := llmtest.NewProvider("test", steps...)
	o.Client, o.Env = &llm.Client{Providers: []llm.Provider{model}}, envtest.NewMemory(nil)
	o.Profile, o.System = profile.Profile{Name: "test", Provider: "test", Model: "m"}, "x"
	value, result, err := agent.Do[T](context.Background(), o, "Do the tests pass?")
	return value, result, model, err
}

// A task has a result of a Go type, and the model gets its schema.
func TestJ10_TypedResults(t *testing.T) {
	value, result, model, err := do[verdict](agent.Options{}, llmtest.Text("They do not."),
		llmtest.Text(`{"passed":false,"failed":["TestA"]}`))
	if err != nil || value.Passed || !slices.Equal(value.Failed, []string{"TestA"}) || result.Turns != 2 {
		t.Errorf("%+v, %+v, %v", value, result, err)
	}
	tools := model.Requests()[0].Tools
	if schema := string(tools[len(tools)-1].Parameters); !strings.Contains(schema, "whether the tests pass") ||
		!strings.Contains(schema, `"required":["passed"]`) {
		t.Errorf("the schema is %s", schema)
	}
}

// A task without a valid result returns an error, together with the Result.
func TestJ10_NoTypedResult(t *testing.T) {
	if _, result, _, err := do[verdict](agent.Options{}, slices.Repeat([]llmtest.Step{llmtest.Text("no")},
		9)...); !errors.Is(err, llm.ErrNoObject) || result.Turns == 0 {
		t.Errorf("%+v, %v", result, err)
	}
	limited := agent.Options{Policy: agent.Policy{MaxTurns: 1}}
	if _, result, _, err := do[verdict](limited, llmtest.Text("not yet")); err == nil || !strings.Contains(err.Error(),
		"max_turns") || result.Reason != agent.ReasonMaxTurns {
		t.Errorf("%+v, %v", result, err)
	}
	if _, _, _, err := do[[]string](agent.Options{}); err == nil || !strings.Contains(err.Error(), "object") {
		t.Errorf("a list: %v", err)
	}
	if _, _, _, err := do[chan int](agent.Options{}); err == nil || !strings.Contains(err.Error(), "chan int") {
		t.Errorf("a channel: %v", err)
	}
}
