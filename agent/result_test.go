package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// formatting is a provider that accepts a format together with tools.
type formatting struct{ llm.Provider }

func (formatting) FormatsWithTools(string) bool { return true }

func formats(p llm.Provider) llm.Provider { return formatting{p} }

const person = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0}},"required":["name","age"],"additionalProperties":false}`

// openStructured opens a session that must give a result with a schema.
func openStructured(t *testing.T, schema string, native bool, steps ...llmtest.Step) *host {
	t.Helper()
	s := setup{tools: []tool.Tool{echo("work"), submitTool()}, steps: steps,
		options: agent.Options{Policy: agent.Policy{Result: &agent.ResultPolicy{Schema: json.RawMessage(schema)}}}}
	if native {
		s.wrap = formats
	}
	return open(t, s)
}

func final(args string) llmtest.Step { return llmtest.Calls(llmtest.Call("final_result", args)) }

// If the API supports formats, the answer is the result, and the schema is sent with every request.
func TestA21_NativeFormat(t *testing.T) {
	const ada = `{"name":"Ada","age":36}`
	for name, c := range map[string]struct {
		steps []llmtest.Step
		want  string // empty if the result is an error
		nudge int
	}{
		"at once":         {[]llmtest.Step{llmtest.Text(ada)}, ada, 0},
		"after some work": {[]llmtest.Step{llmtest.Calls(call("work")), llmtest.Text(ada)}, ada, 0},
		"corrected once":  {[]llmtest.Step{llmtest.Text(`{"name":"Ada"}`), llmtest.Text(ada)}, ada, 1},
		"corrected twice": {[]llmtest.Step{llmtest.Text("Ada, 36"), llmtest.Text(`{"name":"Ada","age":-1}`),
			llmtest.Text(ada)}, ada, 2},
		"corrected too often": {[]llmtest.Step{llmtest.Text("a"), llmtest.Text("b"), llmtest.Text("c"),
			llmtest.Text(ada)}, "", 2},
		"with work in between": {[]llmtest.Step{llmtest.Text("a"), llmtest.Calls(call("work")), llmtest.Text("b"),
			llmtest.Calls(call("work")), llmtest.Text("c")}, "", 2},
		"by another done tool": {[]llmtest.Step{llmtest.Calls(call("submit")), llmtest.Text(ada)}, ada, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := openStructured(t, person, true, c.steps...)
			checkResult(t, h, c.want)
			if n := strings.Count(h.turns(), "steering:nudge"); n != c.nudge {
				t.Errorf("%d corrections: %s", n, h.turns())
			}
			for _, r := range h.model.Requests() {
				if r.Format == nil || string(r.Format.Schema) != person || len(r.Tools) != 2 {
					t.Errorf("asked with the format %+v and %d tools", r.Format, len(r.Tools))
				}
			}
		})
	}
}

// checkResult submits an input and checks the JSON of its result, or the error for a missing one.
func checkResult(t *testing.T, h *host, want string) {
	t.Helper()
	result, err := h.Submit(context.Background(), "who?")
	if want != "" {
		if err != nil || result.Text != want {
			t.Fatalf("Submit = %+v, %v, want %s", result, err, want)
		}
		return
	}
	if !errors.Is(err, llm.ErrNoObject) || result.Reason != agent.ReasonFailed || h.Status() != agent.StatusIdle {
		t.Fatalf("Submit = %+v, %v, %s, want that there is no object", result, err, h.Status())
	}
	if e := only[*agent.Error](h); len(e) != 1 || e[0].ErrorKind != "no_object" || e[0].Retryable {
		t.Errorf("ERROR %+v", e)
	}
	if !strings.HasSuffix(h.kinds(), "ERROR PROCESSING_END") {
		t.Errorf("events %s", h.kinds())
	}
}

// Otherwise the result is the arguments of a tool. The tool is sent with every request, and an
// answer without it does not end the input.
func TestA21_ByATool(t *testing.T) {
	const ada = `{"name":"Ada","age":36}`
	for name, c := range map[string]struct {
		steps []llmtest.Step
		want  string
		nudge int
	}{
		"at once":               {[]llmtest.Step{final(ada)}, ada, 0},
		"after some work":       {[]llmtest.Step{llmtest.Calls(call("work")), final(ada)}, ada, 0},
		"after a nudge":         {[]llmtest.Step{llmtest.Text("It is Ada."), final(ada)}, ada, 1},
		"after an invalid call": {[]llmtest.Step{final(`{"name":"Ada"}`), final(ada)}, ada, 0},
		"after two mistakes": {[]llmtest.Step{final(`Ada`), llmtest.Text("It is Ada."), final(ada)}, ada,
			1},
		"three invalid calls": {[]llmtest.Step{final(`{}`), final(`{"name":1}`),
			final(`{"age":-1,"name":"x"}`), final(ada)}, "", 0},
		"mistakes with work in betweeen": {[]llmtest.Step{final(`{}`), llmtest.Calls(call("work")), final(`{}`),
			llmtest.Calls(call("work")), final(`{}`), final(ada)}, "", 0},
		"never called": {[]llmtest.Step{llmtest.Text("a"), llmtest.Text("b"), llmtest.Text("c"),
			final(ada)}, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := openStructured(t, person, false, c.steps...)
			checkResult(t, h, c.want)
			if n := strings.Count(h.turns(), "steering:nudge"); n != c.nudge {
				t.Errorf("%d nudges: %s", n, h.turns())
			}
			for _, r := range h.model.Requests() {
				if r.Format != nil || len(r.Tools) != 3 || r.Tools[2].Name != "final_result" {
					t.Errorf("asked with the format %+v and the tools %+v", r.Format, r.Tools)
				}
			}
		})
	}
}

// A schema may have definitions.
func TestA21_Definitions(t *testing.T) {
	h := openStructured(t, `{"$defs":{"n":{"type":"integer"}},"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}`,
		false, final(`{"n":"x"}`), final(`{"n":3}`))
	checkResult(t, h, `{"n":3}`)
}

// number is the schema of an object with a number.
const number = `{"type":"object","properties":{"value":{"type":"integer"}},"required":["value"]}`

// The result must match the schema exactly, without the repairs of tool arguments. If it does not,
// the model is asked to correct it.
func TestA21_TheResultIsChecked(t *testing.T) {
	h := openStructured(t, person, false, final(`{"name":"Ada","age":"36"}`), final(`{"name":"Ada","age":36}`))
	result, err := h.Submit(context.Background(), "who?")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(result.Text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(map[string]any{"name": "Ada", "age": 36.0}, got); diff != "" {
		t.Error(diff)
	}
}

// Every input has its own result and its own corrections.
func TestA21_EveryInput(t *testing.T) {
	h := openStructured(t, number, true, llmtest.Text("one"), llmtest.Text(`{"value":1}`), llmtest.Text("two"),
		llmtest.Text("zwei"), llmtest.Text(`{"value":2}`))
	checkResult(t, h, `{"value":1}`)
	checkResult(t, h, `{"value":2}`)
}

// Set with other tools keeps the tool for the result.
func TestA21_SetKeepsTheTool(t *testing.T) {
	h := openStructured(t, number, false, final(`{"value":1}`), final(`{"value":2}`))
	checkResult(t, h, `{"value":1}`)
	set(t, h, agent.Settings{Tools: []tool.Tool{echo("new")}})
	checkResult(t, h, `{"value":2}`)
}

// A session that is resumed with a new schema gets the tool, and a session that had one keeps it.
func TestA21_Resume(t *testing.T) {
	plain, log := new(journal.Memory), new(journal.Memory)
	s := setup{steps: []llmtest.Step{llmtest.Text("hello")}, options: agent.Options{Journal: plain}}
	open(t, s).submit(t, "hi", agent.ReasonCompleted)
	s.options.Result, s.options.Journal = &agent.ResultPolicy{Schema: json.RawMessage(number)},
		journal.NewMemory(all(t, plain)...)
	s.steps = []llmtest.Step{llmtest.Text("one"), final(`{"value":1}`)}
	checkResult(t, open(t, s), `{"value":1}`)
	s.options.Journal = log
	first := open(t, s)
	checkResult(t, first, `{"value":1}`)
	s.options.Journal, s.steps = journal.NewMemory(all(t, log)...), []llmtest.Step{final(`{"value":2}`)}
	again := open(t, s)
	checkResult(t, again, `{"value":2}`)
	if again.epochs()[0] != 0 {
		t.Errorf("epochs %v", again.epochs())
	}
	s.options.Result, s.options.Journal = &agent.ResultPolicy{Schema: json.RawMessage(strings.ReplaceAll(number,
		"integer", "string"))}, journal.NewMemory(all(t, log)...)
	s.steps = []llmtest.Step{final(`{"value":"three"}`)}
	other := open(t, s)
	checkResult(t, other, `{"value":"three"}`)
	if tools := other.model.Requests()[0].Tools; len(tools) != 1 || !strings.Contains(string(tools[0].Parameters),
		"string") {
		t.Errorf("tools %+v", tools)
	}
}

// A limit ends the input as usual. The text at the limit is not the result.
func TestA21_AtALimit(t *testing.T) {
	h := open(t, setup{wrap: formats, tools: []tool.Tool{echo("work")},
		steps: []llmtest.Step{llmtest.Calls(call("work")), llmtest.Text("half is done")},
		options: agent.Options{Policy: agent.Policy{Result: &agent.ResultPolicy{Schema: json.RawMessage(person)},
			MaxToolRounds: 1, OnLimit: agent.SummarizeOnLimit}}})
	if result := h.submit(t, "go", agent.ReasonMaxToolRounds); result.Text != "half is done" ||
		h.model.Requests()[1].Format != nil {
		t.Errorf("%+v", result)
	}
}

// New refuses schemas that cannot be used for a result.
func TestA21_BadSchemas(t *testing.T) {
	for _, schema := range []string{`{`, `{"type":1}`, `"x"`, `{"$ref":"#/nowhere"}`} {
		h := llmtest.NewProvider("test")
		_, err := agent.New(context.Background(), agent.Options{Client: &llm.Client{Providers: []llm.Provider{h}},
			Model: "m", Env: emptyEnv(t),
			System: "You are being tested.",
			Policy: agent.Policy{Result: &agent.ResultPolicy{Schema: json.RawMessage(schema)}}})
		if err == nil || !strings.Contains(err.Error(), "Result.Schema") {
			t.Errorf("schema %s: %v", schema, err)
		}
	}
}
