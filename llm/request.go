package llm

import (
	"encoding/json"
	"fmt"
)

// Request is one call of a model. The zero value of every field but Model and Messages means the provider's default.
type Request struct {
	// Provider routes the request; empty means the client's default.
	Provider string `json:"provider,omitempty"`
	// Model is the provider's own id. Unknown ids pass through.
	Model string `json:"model"`
	// Messages is the conversation. System and developer messages at its start become the system prompt.
	Messages []Message `json:"messages"`

	Tools      []ToolDefinition `json:"tools,omitempty"`
	ToolChoice ToolChoice       `json:"tool_choice,omitzero"`
	// Sequential asks the model for at most one tool call in an answer.
	Sequential bool `json:"sequential,omitempty"`

	// Effort is the reasoning effort: an open string such as low, medium, high or max. Empty sends nothing.
	Effort      string   `json:"effort,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"` // of output
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	Stop        []string `json:"stop,omitempty"`
	// Format, when set, asks for an answer that is JSON of this schema.
	Format *Format `json:"format,omitempty"`

	// CacheKey groups requests that share a prefix, for providers that route by it.
	CacheKey string `json:"cache_key,omitempty"`
	// NoCache switches automatic prompt caching off.
	NoCache bool `json:"no_cache,omitempty"`

	// Options holds provider options by provider name: one JSON object each, in the provider's documented form.
	Options map[string]json.RawMessage `json:"options,omitempty"`

	// Facts is what is known of the model. A [Client] with Models fills it before the handlers run; nil means unknown.
	Facts *Model `json:"-"`
	// Memo, when set, keeps the encoded conversation between calls. A middleware that edits messages sets it to nil.
	Memo *Memo `json:"-"`
	// Caller says who makes the request and why, for middleware. It is never sent.
	Caller Caller `json:"-"`
}

// Caller is who makes a request and why. Package agent fills it in; every field may be empty.
type Caller struct {
	Session string  // the session's id
	Agent   string  // a subagent's id, as the session that started it knows it; empty for a session that no agent started
	Step    int     // the number of the session's model call, from 1, as in STEP_START; of a side call, that of the one after it
	Attempt int     // at this request, from 1
	Purpose Purpose // what the answer is for
}

// Purpose is what an answer is for: an open string, of which package agent documents its own.
type Purpose string

// ToolDefinition is what a model is told of a tool.
type ToolDefinition struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters is a JSON Schema of type object. Free-form tools have none.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Grammar makes the tool a free-form one for providers that have such tools; others use Parameters.
	Grammar *Grammar `json:"grammar,omitempty"`
}

// Grammar constrains the text of a free-form tool call.
type Grammar struct {
	Syntax     string `json:"syntax"` // lark or regex
	Definition string `json:"definition"`
}

// Format asks for structured output.
type Format struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// ToolChoice says whether the model may, must or must not call tools. The zero value is auto.
type ToolChoice struct {
	Mode ToolMode `json:"mode,omitempty"`
	Name string   `json:"name,omitempty"` // with ToolNamed
}

// ToolMode is a kind of [ToolChoice].
type ToolMode string

// The tool modes. Auto is the empty string's meaning too.
const (
	ToolAuto     ToolMode = "auto"
	ToolNone     ToolMode = "none"
	ToolRequired ToolMode = "required"
	ToolNamed    ToolMode = "named"
)

// Validate reports what no provider could accept: a missing model, no messages, a tool choice that names nothing.
func (r *Request) Validate() error {
	switch {
	case r.Model == "":
		return Errorf(ErrInvalidRequest, "request has no model")
	case len(r.Messages) == 0:
		return Errorf(ErrInvalidRequest, "request has no messages")
	}
	for i, m := range r.Messages {
		if err := m.validate(); err != nil {
			return Errorf(ErrInvalidRequest, "message %d: %v", i, err)
		}
	}
	switch r.ToolChoice.Mode {
	case "", ToolAuto, ToolNone:
	case ToolRequired:
		if len(r.Tools) == 0 {
			return Errorf(ErrInvalidRequest, "tool choice required, but the request has no tools")
		}
	case ToolNamed:
		if !r.hasTool(r.ToolChoice.Name) {
			return Errorf(ErrInvalidRequest, "tool choice names %q, which is not among the request's tools", r.ToolChoice.Name)
		}
	default:
		return Errorf(ErrInvalidRequest, "unknown tool choice %q", r.ToolChoice.Mode)
	}
	return nil
}

func (r *Request) hasTool(name string) bool {
	for _, t := range r.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

func (m Message) validate() error {
	switch m.Role {
	case RoleSystem, RoleDeveloper, RoleUser, RoleAssistant, RoleTool:
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	for j, p := range m.Parts {
		if _, err := kindOf(p); err != nil {
			return fmt.Errorf("part %d: %w", j, err)
		}
	}
	return nil
}
