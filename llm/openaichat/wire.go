package openaichat

import (
	"encoding/json"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// wireChunk is an event of a stream, a whole response, or an error in place of either. Members are
// raw if only some of their forms are understood, or if they must not make a response fail.
type wireChunk struct {
	ID      string          `json:"id"`
	Object  string          `json:"object"`
	Model   string          `json:"model"`
	Choices []wireChoice    `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Timings json.RawMessage `json:"timings"` // llama.cpp
	Groq    struct {
		Usage json.RawMessage `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"x_groq"` // Groq's own envelope
	Error   json.RawMessage `json:"error"`
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
}

type wireChoice struct {
	Index   int             `json:"index"`
	Delta   *wireMessage    `json:"delta"`
	Message *wireMessage    `json:"message"` // of a whole response
	Finish  string          `json:"finish_reason"`
	Error   json.RawMessage `json:"error"` // OpenRouter
}

// wireMessage is a piece of a response, or all of it.
type wireMessage struct {
	Content          json.RawMessage   `json:"content"` // a string, null, or a list of parts (Mistral)
	ReasoningContent string            `json:"reasoning_content"`
	Reasoning        json.RawMessage   `json:"reasoning"` // a string, if it is reasoning
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	Refusal          string            `json:"refusal"`
	ToolCalls        []wireCall        `json:"tool_calls"`
	FunctionCall     *wireFunction     `json:"function_call"` // the form that preceded tool_calls
}

type wireCall struct {
	Index    *int            `json:"index"`
	ID       string          `json:"id"`
	Function wireFunction    `json:"function"`
	Extra    json.RawMessage `json:"extra_content"` // Gemini's signature
}

type wireFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a string, or the object itself
}

// arguments returns a piece of a call's arguments as text.
func (f *wireFunction) arguments() (string, error) {
	if api.IsNull(f.Arguments) {
		return "", nil
	}
	if f.Arguments[0] != '"' {
		return string(f.Arguments), nil
	}
	var text string
	err := json.Unmarshal(f.Arguments, &text)
	return text, err
}

// wirePart is a part of a content that is a list.
type wirePart struct {
	Type     string     `json:"type"`
	Text     string     `json:"text"`
	Refusal  string     `json:"refusal"`
	Thinking []wirePart `json:"thinking"`
}

// brokenOff returns the error of a finish reason that means that the server failed, or nil.
func brokenOff(reason string) error {
	var kind error
	switch strings.ToLower(reason) {
	case "insufficient_system_resource": // DeepSeek
		kind = llm.ErrOverloaded
	case "error", "network_error", "abort": // OpenRouter; Z.AI; vLLM
		kind = llm.ErrServer
	default:
		return nil
	}
	return llm.Errorf(kind, "the server broke off: finish_reason %s", reason)
}
