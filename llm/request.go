package llm

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Request holds what a model is asked. The zero value of every field but Model and Messages means
// the provider's default.
type Request struct {
	// Provider names the provider; empty means the client's default.
	Provider string `json:"provider,omitempty"`
	// Model is the provider's id of the model. Unknown ids are passed through.
	Model string `json:"model"`
	// Messages is the conversation. System and developer messages at its start become the system
	// prompt.
	Messages []Message `json:"messages"`

	Tools      []ToolDefinition `json:"tools,omitempty"`
	ToolChoice ToolChoice       `json:"tool_choice,omitzero"`
	// Sequential asks the model for at most one tool call in a response.
	Sequential bool `json:"sequential,omitempty"`

	// Effort is the reasoning effort, such as low, medium, high or max. Empty sends none.
	Effort      string   `json:"effort,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"` // of output
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"top_p,omitempty"`
	Stop        []string `json:"stop,omitempty"`
	// Format, if set, asks for a response that is JSON of this schema.
	Format *Format `json:"format,omitempty"`

	// Quirks are demands of the model's server on the form of the request, beyond those of its API.
	// Unknown ones are ignored.
	Quirks []Quirk `json:"quirks,omitempty"`

	// CacheKey groups requests that share a prefix, for providers that route by it.
	CacheKey string `json:"cache_key,omitempty"`
	// CacheLong asks for the longer lifetime of the provider's prompt cache, for what is not in it
	// yet: an hour instead of five minutes at Anthropic, where it costs more. Others ignore it.
	CacheLong bool `json:"cache_long,omitempty"`
	// NoCache disables automatic prompt caching.
	NoCache bool `json:"no_cache,omitempty"`

	// Options holds options by provider name: a JSON object for each, in the provider's documented
	// form.
	Options map[string]json.RawMessage `json:"options,omitempty"`

	// Facts holds what is known of the model. A [Client] with Models sets it before the handlers
	// run; nil means unknown.
	Facts *Model `json:"-"`
	// Memo, if set, keeps the encoded conversation between requests. A middleware that edits
	// messages sets it to nil.
	Memo *Memo `json:"-"`
	// Caller tells middleware who makes the request and why. It is never sent.
	Caller Caller `json:"-"`
}

// A Quirk names a demand of a server on the form of a request.
type Quirk string

// The quirks of servers of Chat Completions.
const (
	// QuirkAlternates means that messages of the user and of the assistant without calls take
	// turns, as the templates of some models want it.
	QuirkAlternates Quirk = "alternates"
	// QuirkReasoning means that each message of the assistant with calls has its reasoning, if only
	// an empty one.
	QuirkReasoning Quirk = "reasoning"
	// QuirkCompletionTokens means that the output is limited by max_completion_tokens instead of
	// max_tokens, which most servers know.
	QuirkCompletionTokens Quirk = "max_completion_tokens"
)

// QuirkWithout returns the quirk of a server that refuses requests with a parameter:
// stream_options, parallel_tool_calls, reasoning_effort or prompt_cache_key, and reasoning.summary
// of the Responses API. Without stream_options many servers report no usage.
func QuirkWithout(parameter string) Quirk { return Quirk("without_" + parameter) }

// Caller tells who makes a request and why. Package agent sets it; every field may be empty.
type Caller struct {
	Session string // the session's id
	Agent   string // a subagent's id, as its parent knows it; empty for a session that no agent started
	// Step is the number of the session's model call, from 1, as in STEP_START. A side call has the
	// number of the next one.
	Step    int
	Attempt int     // of this model call, from 1
	Purpose Purpose // what the response is for
}

// Purpose names what a response is for. It is an open string; package agent documents its values.
type Purpose string

// ToolDefinition describes a tool to the model.
type ToolDefinition struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters is a JSON Schema of type object. Free-form tools have none.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Grammar makes the tool a free-form one for providers that support them; others use
	// Parameters.
	Grammar *Grammar `json:"grammar,omitempty"`
	// Deferred keeps the definition from the model until a tool result names the tool by a
	// [ToolReference]. Then a model whose vendor loads tools ([Model.LoadsTools]) can call it.
	// Other models never get the definition, so its tool needs another way to be called.
	Deferred bool `json:"deferred,omitempty"`
	// Hosted names a tool that the vendor runs, such as [HostedWebSearch]. The rest of the
	// definition is for people. It is not sent to vendors and models that do not have the tool.
	Hosted string `json:"hosted,omitempty"`
	// Finds reports that the tool's results refer to deferred tools. Some vendors have a form of
	// their own for such a tool.
	Finds bool `json:"finds,omitempty"`
}

// Size returns how many bytes the definition adds to the beginning of a prompt. A deferred one adds
// nothing.
func (d *ToolDefinition) Size() int {
	if d.Deferred {
		return 0
	}
	return len(d.Name) + len(d.Description) + len(d.Parameters)
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

// ToolChoice tells the model whether it may, must or must not call tools. The zero value means
// auto.
type ToolChoice struct {
	Mode ToolMode `json:"mode,omitempty"`
	Name string   `json:"name,omitempty"` // with ToolNamed
}

// ToolMode is a mode of [ToolChoice].
type ToolMode string

// The modes of a [ToolChoice]. An empty mode means auto.
const (
	ToolAuto     ToolMode = "auto"
	ToolNone     ToolMode = "none"
	ToolRequired ToolMode = "required"
	ToolNamed    ToolMode = "named"
)

// Validate returns an error for a request that no provider could accept: one without a model,
// without messages, or with an invalid tool choice.
func (r *Request) Validate() error {
	switch {
	case r.Model == "":
		return Errorf(ErrInvalidRequest, "the request has no model: set Model to the id of a model")
	case len(r.Messages) == 0:
		return Errorf(ErrInvalidRequest, "the request has no messages: add at least one")
	}
	for i := r.Memo.validated(r.Messages); i < len(r.Messages); i++ {
		if err := r.Messages[i].validate(); err != nil {
			return Errorf(ErrInvalidRequest, "message %d: %v", i, err)
		}
	}
	r.Memo.accept(r.Messages)
	switch r.ToolChoice.Mode {
	case "", ToolAuto, ToolNone:
	case ToolRequired:
		if !r.offers(func(*ToolDefinition) bool { return true }) {
			return Errorf(ErrInvalidRequest,
				"the tool choice is required, but the request has no tools that are not deferred")
		}
	case ToolNamed:
		if !r.offers(func(t *ToolDefinition) bool { return t.Name == r.ToolChoice.Name }) {
			return Errorf(ErrInvalidRequest,
				"the tool choice names %q, which is not among the request's tools that are not deferred",
				r.ToolChoice.Name)
		}
	default:
		return Errorf(ErrInvalidRequest, "unknown tool choice %q; use auto, none, required or named", r.ToolChoice.Mode)
	}
	return nil
}

// offers reports whether a tool that is not deferred satisfies a condition.
func (r *Request) offers(is func(*ToolDefinition) bool) bool {
	for i := range r.Tools {
		if t := &r.Tools[i]; !t.Deferred && is(t) {
			return true
		}
	}
	return false
}

func (m Message) validate() error {
	switch m.Role {
	case RoleSystem, RoleDeveloper, RoleUser, RoleAssistant, RoleTool:
	default:
		return fmt.Errorf("unknown role %q; use system, developer, user, assistant or tool", m.Role)
	}
	for j, p := range m.Parts {
		if _, err := wrap(p); err != nil {
			return fmt.Errorf("part %d: %w", j, err)
		}
	}
	return nil
}

// unknownOutput is the number of tokens that an unknown model may write without a limit.
// llm/anthropic sends the same number.
const unknownOutput = 4096

// MostOutput returns the largest number of tokens that the response can have.
func (r *Request) MostOutput() int {
	switch {
	case r.MaxTokens > 0:
		return r.MaxTokens
	case r.Facts != nil && r.Facts.MaxOutput > 0:
		return r.Facts.MaxOutput
	}
	return unknownOutput
}

// MostSearchesUSD returns the highest price in US dollars of the web searches that the vendor may
// run for the request.
func (r *Request) MostSearchesUSD() float64 {
	offered := slices.ContainsFunc(r.Tools, func(t ToolDefinition) bool { return t.Hosted == HostedWebSearch })
	if r.Facts == nil || !offered || r.ToolChoice.Mode == ToolNone {
		return 0
	}
	return MaxSearches * r.Facts.WebSearch
}
