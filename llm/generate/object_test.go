package generate_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/generate"
	"github.com/attractor-go/attractor/llm/llmtest"
)

type person struct {
	Name string   `json:"name" jsonschema:"the full name"`
	Age  int      `json:"age"`
	Tags []string `json:"tags,omitempty"`
}

const alice = `{"name":"Alice","age":30}`

func TestG9_ObjectNative(t *testing.T) {
	client, p := scripted(llmtest.Text(alice))
	got, res, err := generate.Object[person](t.Context(), client, generate.Options{Model: "m", Prompt: "who?"})
	if err != nil || !cmp.Equal(got, person{Name: "Alice", Age: 30}) || res.Text() != alice {
		t.Errorf("%+v, %v", got, err)
	}
	req := p.Requests()[0]
	if len(req.Tools) != 0 || req.Format == nil || req.Format.Name != "answer" ||
		!strings.Contains(string(req.Format.Schema), `"description":"the full name"`) {
		t.Errorf("%+v", req)
	}
}

// A provider named anthropic is made to call a tool; the server checks the requests.
func TestG9_ObjectByTool(t *testing.T) {
	client, server := served(t,
		fakellm.Turn{Text: "Here:", Calls: []fakellm.Call{{Name: "answer", Args: []byte(alice)}}})
	got, res, err := generate.Object[person](t.Context(), client, generate.Options{Model: "m", Prompt: "who?"})
	if err != nil || got.Name != "Alice" || len(res.OpenCalls()) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	var body struct {
		Tools []struct {
			Name   string
			Schema struct{ Required []string } `json:"input_schema"`
		}
		Choice struct{ Type, Name string } `json:"tool_choice"`
		Output json.RawMessage             `json:"output_config"`
	}
	if err := json.Unmarshal(server.Requests()[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	if len(body.Tools) != 1 || body.Tools[0].Name != "answer" || !slices.Equal(body.Tools[0].Schema.Required,
		[]string{"name", "age"}) ||
		body.Choice.Type != "tool" || body.Choice.Name != "answer" || body.Output != nil {
		t.Errorf("%+v", body)
	}
}

func TestG9_ObjectModes(t *testing.T) {
	for name, tt := range map[string]struct {
		provider string
		mode     generate.ObjectMode
		tool     bool
	}{
		"anthropic":          {"anthropic", generate.ObjectAuto, true},
		"others":             {"gemini", generate.ObjectAuto, false},
		"anthropic, native":  {"anthropic", generate.ObjectNative, false},
		"others, by tool":    {"gemini", generate.ObjectTool, true},
		"no tool was called": {"gemini", generate.ObjectTool, true},
	} {
		answer := llmtest.Text("```json\n" + alice + "\n```") // also accepted from a model that does not call the tool
		if tt.tool && name != "no tool was called" {
			answer = llmtest.Calls(llmtest.Call("answer", alice))
		}
		p := llmtest.NewProvider(tt.provider, answer)
		client := &llm.Client{Providers: []llm.Provider{p}}
		got, _, err := generate.Object[person](t.Context(), client,
			generate.Options{Model: "m", Prompt: "who?", ObjectMode: tt.mode})
		if err != nil || got.Name != "Alice" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if req := p.Requests()[0]; (req.Format == nil) != tt.tool || (req.ToolChoice.Mode == llm.ToolNamed) != tt.tool {
			t.Errorf("%s: %+v", name, req)
		}
	}
}

func TestG9_ObjectsOfOtherTypes(t *testing.T) {
	client, p := scripted(llmtest.Text(`{"value":["a","b"]}`), llmtest.Text(`{"a":1}`), llmtest.Text(`{"value":"x"}`),
		llmtest.Text(`{"x":1.5}`))
	o := generate.Options{Model: "m", Prompt: "which?"}
	list, _, err := generate.Object[[]string](t.Context(), client, o)
	if err != nil || !slices.Equal(list, []string{"a", "b"}) {
		t.Errorf("%v, %v", list, err)
	}
	table, _, err := generate.Object[map[string]int](t.Context(), client, o)
	if err != nil || table["a"] != 1 {
		t.Errorf("%v, %v", table, err)
	}
	text, _, err := generate.Object[string](t.Context(), client, o)
	if err != nil || text != "x" {
		t.Errorf("%v, %v", text, err)
	}
	o.Format = &llm.Format{Name: "own", Schema: []byte(`{"type":"object","properties":{"x":{"type":"number"}}}`)}
	raw, _, err := generate.Object[json.RawMessage](t.Context(), client, o)
	if err != nil || string(raw) != `{"x":1.5}` {
		t.Errorf("%s, %v", raw, err)
	}
	for i, req := range p.Requests() {
		var schema struct{ Type string }
		if err := json.Unmarshal(req.Format.Schema, &schema); err != nil || schema.Type != "object" {
			t.Errorf("request %d: %s", i, req.Format.Schema)
		}
	}
	if f := p.Requests()[3].Format; f.Name != "own" {
		t.Errorf("%+v", f)
	}
}

func TestG9_NoObject(t *testing.T) {
	cut := func(text string, reason llm.FinishReason) llmtest.Step {
		return llmtest.Respond(llm.Response{Message: llm.Message{Parts: llm.TextParts(text)},
			Finish: llm.Finish{Reason: reason}})
	}
	for text, tt := range map[string]struct {
		step llmtest.Step
		says string
	}{
		`I do not know.`:                  {llmtest.Text(`I do not know.`), "invalid character"},
		`{"name":"Alice"}`:                {llmtest.Text(`{"name":"Alice"}`), "age"},
		`{"name":"Alice","age":"thirty"}`: {llmtest.Text(`{"name":"Alice","age":"thirty"}`), "age"},
		alice + alice:                     {llmtest.Text(alice + alice), "after top-level value"},
		``: {cut("", llm.FinishContentFilter),
			"the response was cut off (content_filter)"},
		`{"name":"Al`: {cut(`{"name":"Al`, llm.FinishLength), "the response was cut off (length)"},
	} {
		client, p := scripted(tt.step)
		o := generate.Options{Model: "m", Prompt: "who?"}
		got, res, err := generate.Object[person](t.Context(), client, o)
		var e *llm.Error
		if !errors.Is(err, llm.ErrNoObject) || !errors.As(err, &e) || string(e.Raw) != text ||
			!strings.Contains(e.Message, tt.says) || e.Provider != "p" {
			t.Errorf("%s: %v", text, err)
		}
		if !cmp.Equal(got, person{}) || res.Text() != text || len(p.Requests()) != 1 {
			t.Errorf("%s: %+v, %q, %d calls", text, got, res.Text(), len(p.Requests()))
		}
	}
}

func TestG9_ObjectConfiguration(t *testing.T) {
	client, p := scripted()
	o := generate.Options{Model: "m", Prompt: "who?"}
	_, _, err := generate.Object[chan int](t.Context(), client, o)
	if !errors.Is(err, llm.ErrConfiguration) {
		t.Errorf("no schema: %v", err)
	}
	o.Format = &llm.Format{Schema: []byte(`{"type":7}`)}
	if _, _, err := generate.Object[person](t.Context(), client, o); !errors.Is(err, llm.ErrConfiguration) {
		t.Errorf("a bad schema: %v", err)
	}
	o.Format, o.Provider = nil, "nobody"
	if _, _, err := generate.Object[person](t.Context(), client, o); !errors.Is(err, llm.ErrConfiguration) {
		t.Errorf("no provider: %v", err)
	}
	o.Provider, o.ObjectMode, o.Tools = "", generate.ObjectTool,
		[]generate.Tool{{ToolDefinition: llm.ToolDefinition{Name: "answer"}}}
	if _, _, err := generate.Object[person](t.Context(), client, o); !errors.Is(err, llm.ErrConfiguration) {
		t.Errorf("a tool of that name: %v", err)
	}
	if len(p.Requests()) > 0 {
		t.Error("something was sent")
	}
}

// With tools, some call is required until the object comes, and the object itself once the rounds
// are used up.
func TestG9_ObjectWithTools(t *testing.T) {
	look := llmtest.Calls(llmtest.Call("weather", cityArgs{City: "Oslo"}))
	client, p := scripted(look, look, llmtest.Calls(llmtest.Call("answer", alice)))
	got, res, err := generate.Object[person](t.Context(), client, generate.Options{Model: "m", Prompt: "who?",
		ObjectMode: generate.ObjectTool,
		Tools:      []generate.Tool{weatherTool}, MaxToolRounds: generate.Rounds(2)})
	if err != nil || got.Name != "Alice" || len(res.Steps) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	var choices []string
	for _, req := range p.Requests() {
		choices = append(choices, string(req.ToolChoice.Mode)+" "+req.ToolChoice.Name)
	}
	if diff := cmp.Diff([]string{"required ", "required ", "named answer"}, choices); diff != "" {
		t.Error(diff)
	}
	client, _ = scripted(look, llmtest.Text(alice))
	if got, _, err := generate.Object[person](t.Context(), client, generate.Options{Model: "m", Prompt: "who?",
		Tools: []generate.Tool{weatherTool}}); err != nil || got.Age != 30 {
		t.Errorf("native: %+v, %v", got, err)
	}
}
