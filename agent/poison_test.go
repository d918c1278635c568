package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// wide returns a picture that Anthropic refuses in a request with many.
func wide(t *testing.T) llm.Media {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 9000, 16))); err != nil {
		t.Fatal(err)
	}
	return llm.Media{MIME: "image/png", Data: b.Bytes()}
}

// A picture is fitted wherever it enters: with an input, a tool's result or the history. The model
// is told both sizes, and what is damaged is a line of text.
func TestU2_PicturesThatEnter(t *testing.T) {
	damaged := llm.Media{MIME: "image/png", Data: []byte(llmtest.PNG[:40])}
	look := newTool("look", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Result{
			Content: llm.Parts{wide(t), damaged, llm.Media{MIME: "application/pdf", Data: []byte("%PDF")}},
		}, nil
	})
	h := open(
		t,
		setup{
			tools:   []tool.Tool{look},
			options: agent.Options{History: []llm.Message{llm.User("before", wide(t), damaged), llm.Assistant("seen")}},
			steps:   []llmtest.Step{llmtest.Calls(call("look")), llmtest.Text("done")},
		},
	)
	h.submit(t, "and this", agent.ReasonCompleted, agent.Attach(wide(t)))
	requests := h.model.Requests()
	text, err := json.Marshal(requests[len(requests)-1].Messages)
	if err != nil {
		t.Fatal(err)
	}
	const scaled, out = "[The image has 9000 x 16 pixels and is shown scaled down to 2000 x 3.]",
		"[An image was left out: it is a damaged image, which cannot be decoded.]"
	if strings.Count(string(text), scaled) != 3 || strings.Count(string(text), out) != 2 ||
		strings.Count(string(text), `{"media":`) != 4 {
		t.Errorf("%s", text)
	}
	if _, err := h.Submit(t.Context(), "look", agent.Attach(damaged)); err == nil ||
		!strings.Contains(err.Error(), "damaged image") {
		t.Errorf("a damaged image of a person: %v", err)
	}
}

// Calls that a model has written wrongly go back in a form that each API takes, and the journal has
// them as they were. A server that checks as the vendors do refuses nothing.
func TestU3_WhatModelsWriteWrongly(t *testing.T) {
	odd := []fakellm.Call{
		{Name: "multi_tool_use.parallel", Args: json.RawMessage(`{"a":1}`)},
		{Name: "functions.echo", Args: json.RawMessage(`{}`)},
		{
			Name: "1. echo\u0000 " + strings.Repeat("x", 300),
			Args: json.RawMessage(`{}`),
		},
		{Name: "echo<|channel|>commentary", Args: json.RawMessage(`{}`)},
		{ID: "call 1/ü\u2028", Name: "nothing", Args: json.RawMessage(`{"text":"\ud800"}`)},
	}
	for _, provider := range []string{"anthropic", "openai", "openai-compatible", "gemini"} {
		t.Run(provider, func(t *testing.T) {
			calls := odd
			if provider != "gemini" { // which decodes its arguments
				calls = append(
					calls,
					fakellm.Call{Name: "echo", Raw: "not JSON"},
					fakellm.Call{Name: "echo", Raw: `["a list"]`},
				)
			}
			server := fakellm.New(
				fakellm.Script(
					fakellm.Turn{Text: "I call", Calls: calls},
					fakellm.Turn{Text: "done"},
					fakellm.Turn{Text: "and on"},
				),
				fakellm.Options{},
			)
			log := new(journal.Memory)
			o := setup{tools: []tool.Tool{echo("echo")}, options: agent.Options{Journal: log}}
			o.wrap = func(llm.Provider) llm.Provider {
				return testNamed{newWire(t, provider, http.HandlerFunc(server.ServeHTTP))}
			}
			h := open(t, o)
			h.submit(t, "begin", agent.ReasonCompleted)
			h.submit(t, "go on", agent.ReasonCompleted)
			if h.warned() != "" || len(server.Requests()) != 3 {
				t.Errorf("%d requests, warnings %q", len(server.Requests()), h.warned())
			}
			ran := 0
			for _, end := range callEnds(h.events) {
				if end.Name == "echo" && !end.IsError {
					ran++
				}
			}
			if ran != 2 {
				t.Errorf("echo ran %d times, want twice, by two other names", ran)
			}
			if kept := h.History()[1].Message.Parts.ToolCalls(); kept[0].Name != "multi_tool_use.parallel" ||
				kept[1].Name != "functions.echo" {
				t.Errorf("the history has %+v", kept)
			}
			checkReplay(t, log, h.events)
		})
	}
}
