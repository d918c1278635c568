package providers_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providers"
)

// marks are texts that stand in one part of rejectedConversation each, with the message and the
// part.
var marks = []struct {
	mark          string
	message, part int
}{
	{
		"mark-of-the-first-image",
		1,
		1,
	}, {"mark-of-the-second-image", 1, 2}, {"mark-of-the-first-call", 2, 1}, {"mark-of-the-second-call", 2, 2},
	{
		"mark-of-a-result",
		3,
		0,
	}, {"mark-of-an-image-in-a-result", 3, 1}, {"mark-of-steering", 4, 0}, {"mark-of-an-answer", 5, 0},
}

func picture(mark string) llm.Media { return llm.Media{MIME: "image/png", Data: []byte(mark)} }

// rejectedConversation has each of the marks in the part that marks says.
func rejectedConversation() *llm.Request {
	return &llm.Request{Model: "m", MaxTokens: 9,
		Tools: []llm.ToolDefinition{
			{Name: "shell", Parameters: json.RawMessage(`{"type":"object"}`)},
			{Name: "mcp__a__b", Parameters: json.RawMessage(`{"type":"object"}`)},
		},
		Messages: []llm.Message{
			llm.System("be brief"),
			llm.User("look", picture("mark-of-the-first-image"), picture("mark-of-the-second-image")),
			{
				Role: llm.RoleAssistant,
				Parts: llm.Parts{
					llm.Text{Text: "I do"},
					llm.ToolCall{ID: "call_number_1", Name: "shell", Args: `{"command":"mark-of-the-first-call"}`},
					llm.ToolCall{ID: "call_number_2", Name: "odd.name", Args: `{"command":"mark-of-the-second-call"}`},
				},
			},
			llm.ToolResults(
				llm.ToolResult{CallID: "call_number_1", Name: "shell", Content: llm.TextParts("mark-of-a-result")},
				llm.ToolResult{
					CallID:  "call_number_2",
					Name:    "odd.name",
					Content: llm.Parts{llm.Text{Text: "see"}, picture("mark-of-an-image-in-a-result")},
				},
			),
			llm.User("mark-of-steering"),
			llm.Assistant("mark-of-an-answer"),
			llm.User("and now?"),
		}}
}

// pathTo returns the path to a string that contains a text, with dots or brackets around indexes.
func pathTo(value any, text string, brackets bool) (string, bool) {
	switch v := value.(type) {
	case string:
		return "", strings.Contains(v, text)
	case map[string]any:
		for name, member := range v {
			if rest, ok := pathTo(member, text, brackets); ok {
				return "." + name + rest, true
			}
		}
	case []any:
		for i, entry := range v {
			if rest, ok := pathTo(entry, text, brackets); ok && brackets {
				return fmt.Sprintf("[%d]%s", i, rest), true
			} else if ok {
				return fmt.Sprintf(".%d%s", i, rest), true
			}
		}
	}
	return "", false
}

// rejected returns the rejection of a provider whose server answers a request with an error. Say
// returns its text, given the request's body.
func rejected(t *testing.T, provider string, req *llm.Request, say func(body any) string) *llm.Error {
	t.Helper()
	kind, err := providers.Find(provider)
	if err != nil {
		t.Fatal(err)
	}
	client := llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		text, _ := json.Marshal(say(body))
		answer := `{"error":{"message":` + string(text) + `,"type":"invalid_request_error","code":null}}`
		switch provider {
		case "anthropic":
			answer = `{"type":"error","error":{"type":"invalid_request_error","message":` + string(text) + `}}`
		case "gemini":
			answer = `{"error":{"code":400,"message":` + string(text) + `,"status":"INVALID_ARGUMENT"}}`
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, answer)
	}))
	p, err := kind.New(providers.Config{APIKey: "k", BaseURL: "http://x.test/v1", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range p.Stream(t.Context(), req) {
		var e *llm.Error
		if errors.As(err, &e) {
			return e
		}
	}
	t.Fatalf("%s: the request has not failed", provider)
	return nil
}

var wireFormats = []string{"anthropic", "openai", "openai-compatible", "gemini"}

// The place that an error names on the wire is found in the request, for each part and in each
// format.
func TestU1_PlacesOnTheWire(t *testing.T) {
	for _, provider := range wireFormats {
		for _, m := range marks {
			e := rejected(t, provider, rejectedConversation(), func(body any) string {
				path, ok := pathTo(body, m.mark, provider != "anthropic")
				if !ok {
					path, ok = pathTo(body, base64.StdEncoding.EncodeToString([]byte(m.mark)), provider != "anthropic")
				}
				if !ok {
					t.Fatalf("%s: %s is not in %v", provider, m.mark, body)
				}
				return fmt.Sprintf("Invalid value: '%s' cannot be used", strings.TrimPrefix(path, "."))
			})
			answer := m.message == 2 // it is left out whole
			if e.Rejected == nil || e.Rejected.Message != m.message || e.Rejected.Part != m.part && !answer {
				t.Errorf(
					"%s: %s: %+v, want message %d, part %d (%s)",
					provider,
					m.mark,
					e.Rejected,
					m.message,
					m.part,
					e.Message,
				)
			}
		}
	}
}

// Without a place, an error may name an id, a tool or a kind of part; or it is not about the
// conversation.
func TestU1_WhatErrorsName(t *testing.T) {
	for text, want := range map[string]*llm.Rejection{
		"No tool output found for function call call_number_2.": {Message: 2, Part: 2},
		"Invalid schema for function 'mcp__a__b': None is not of type 'object'.": {Message: -1, Part: -1,
			Tool: "mcp__a__b"},
		"Unknown tool 'odd.name' in the history":                                                {Message: 2, Part: 2},
		"Could not process image":                                                               {Message: -1, Part: -1, Media: true},
		"Image input is not supported by this model":                                            {Message: -1, Part: -1, Media: true},
		"Request contains an invalid argument.":                                                 {Message: -1, Part: -1},
		"Unsupported parameter: 'temperature' is not supported with this model.":                nil,
		"Unrecognized request argument supplied: reasoning_effort":                              nil,
		"The requested model 'm' does not exist.":                                               nil,
		"This model's maximum context length is 8192 tokens, however you requested 9000 tokens": nil,
		"Your credit balance is too low to access the API":                                      nil,
	} {
		for _, provider := range wireFormats {
			e := rejected(t, provider, rejectedConversation(), func(any) string { return text })
			if (e.Rejected == nil) != (want == nil) || want != nil && *e.Rejected != *want {
				t.Errorf("%s: %q: %+v, want %+v", provider, text, e.Rejected, want)
			}
		}
	}
	definitions := map[string]string{
		"anthropic":         "tools.1.custom.name: String should match pattern",
		"openai":            "Invalid 'tools[1].name': string does not match",
		"openai-compatible": "Invalid 'tools[1].function.name': string does not match",
		"gemini":            "* GenerateContentRequest.tools[0].function_declarations[1].name: Invalid function name.",
	}
	for provider, text := range definitions {
		if e := rejected(t, provider, rejectedConversation(), func(any) string { return text }); e.Rejected == nil ||
			e.Rejected.Tool != "mcp__a__b" {
			t.Errorf("%s: %q: %+v", provider, text, e.Rejected)
		}
	}
}

// What cannot be encoded for an API is rejected with its place before anything is sent.
func TestU1_WhatCannotBeEncoded(t *testing.T) {
	// OpenAI's Responses take files of any type
	for _, provider := range []string{"anthropic", "openai-compatible", "gemini"} {
		req := rejectedConversation()
		req.Messages[3].Parts[1] = llm.ToolResult{
			CallID:  "call_number_2",
			Content: llm.Parts{llm.Media{MIME: "application/x-unheard-of", Data: []byte("x")}},
		}
		kind, err := providers.Find(provider)
		if err != nil {
			t.Fatal(err)
		}
		p, err := kind.New(providers.Config{APIKey: "k", BaseURL: "http://x.test/v1"})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range p.Stream(t.Context(), req) {
			var e *llm.Error
			if !errors.As(err, &e) || e.Rejected == nil || e.Rejected.Message != 3 || e.Rejected.Part != 1 ||
				e.Provider == "" {
				t.Errorf("%s: %v: %+v", provider, err, e.Rejected)
			}
			break
		}
	}
}
