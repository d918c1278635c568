package fakellm

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// anthropic implements the Messages API.
type anthropic struct{ words int }

// anthropicRequest is the body of POST /v1/messages. Members that are only checked for being known
// are raw.
type anthropicRequest struct {
	Model         string             `json:"model"`
	System        anthropicContent   `json:"system"`
	Messages      []anthropicMessage `json:"messages"`
	Tools         []anthropicTool    `json:"tools"`
	ToolChoice    *anthropicChoice   `json:"tool_choice"`
	MaxTokens     int                `json:"max_tokens"`
	Thinking      *anthropicThinking `json:"thinking"`
	OutputConfig  *anthropicOutput   `json:"output_config"`
	Temperature   *float64           `json:"temperature"`
	TopP          *float64           `json:"top_p"`
	TopK          *int               `json:"top_k"`
	StopSequences []string           `json:"stop_sequences"`
	Stream        bool               `json:"stream"`
	Metadata      json.RawMessage    `json:"metadata"`
	ServiceTier   json.RawMessage    `json:"service_tier"`
	Context       json.RawMessage    `json:"context_management"`
	Container     json.RawMessage    `json:"container"`
	MCPServers    json.RawMessage    `json:"mcp_servers"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content anthropicContent `json:"content"`
}

type anthropicTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"input_schema"`
	Deferred    bool            `json:"defer_loading"`
	raw         json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *anthropicTool) UnmarshalJSON(b []byte) error {
	type plain anthropicTool
	t.raw = append(t.raw[:0], b...)
	return json.Unmarshal(b, (*plain)(t))
}

type anthropicChoice struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	Parallel bool   `json:"disable_parallel_tool_use"`
}

type anthropicThinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens"`
	Display string `json:"display"`
}

type anthropicOutput struct {
	Effort string          `json:"effort"`
	Format json.RawMessage `json:"format"`
}

// anthropicContent is a list of blocks. A string stands for one block of text.
type anthropicContent []anthropicBlock

// UnmarshalJSON implements json.Unmarshaler.
func (c *anthropicContent) UnmarshalJSON(b []byte) (err error) {
	*c, err = listOf(b, func(text string) anthropicBlock {
		return anthropicBlock{Type: "text", Text: text, raw: []byte(encode(object{"type": "text", "text": text}))}
	})
	return err
}

type anthropicBlock struct {
	Type      string           `json:"type"`
	Text      string           `json:"text"`
	Thinking  string           `json:"thinking"`
	Signature string           `json:"signature"`
	Data      string           `json:"data"`
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Input     json.RawMessage  `json:"input"`
	ToolUseID string           `json:"tool_use_id"`
	ToolName  string           `json:"tool_name"` // tool_reference
	Content   json.RawMessage  `json:"content"`
	IsError   bool             `json:"is_error"`
	Source    *anthropicSource `json:"source"`
	Citations json.RawMessage  `json:"citations"`
	raw       json.RawMessage
	inside    anthropicContent // of a result
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *anthropicBlock) UnmarshalJSON(data []byte) error {
	type plain anthropicBlock
	b.raw = append(b.raw[:0], data...)
	err := json.Unmarshal(data, (*plain)(b))
	if b.Type == "tool_result" && json.Unmarshal(b.Content, &b.inside) != nil {
		b.inside = nil // check refuses it
	}
	return err
}

type anthropicSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
}

// bytes returns the data: decoded base64, or the text of a document.
func (s *anthropicSource) bytes() []byte {
	if s.Type == "base64" {
		return decoded(s.Data)
	}
	return []byte(s.Data)
}

// decode implements format.
func (anthropic) decode(r *Request) *refusal {
	if r.Header.Get("X-Api-Key") == "" && r.Header.Get("Authorization") == "" {
		return &refusal{401, "authentication_error", "x-api-key header is required"}
	}
	if r.Header.Get("Anthropic-Version") == "" {
		return invalid("anthropic-version: header is required")
	}
	var w anthropicRequest
	if why := r.into(&w, "%s: Extra inputs are not permitted", "The request body is not valid JSON: %v"); why != nil {
		return why
	}
	w.read(r)
	return w.check(r)
}

// read converts the wire's request.
func (w *anthropicRequest) read(r *Request) {
	r.Model, r.MaxTokens, r.Stream = w.Model, w.MaxTokens, w.Stream
	var system []string
	for _, b := range w.System {
		system = append(system, b.Text)
	}
	r.System = strings.Join(system, "\n\n")
	for _, t := range w.Tools {
		r.Tools = append(r.Tools, t.Name)
		if t.Deferred {
			r.unread += len(t.raw)
		}
	}
	switch {
	case w.OutputConfig != nil && w.OutputConfig.Effort != "":
		r.Effort = w.OutputConfig.Effort
	case w.Thinking != nil && w.Thinking.Type == "enabled":
		r.Effort = fmt.Sprintf("budget:%d", w.Thinking.Budget)
	}
	for _, m := range w.Messages {
		r.Messages = append(r.Messages, m.messages(w.Model)...)
	}
	r.prefixes = w.prefixes()
	for _, p := range r.prefixes {
		if p.life > 0 {
			r.CacheMarks++
		}
	}
}

// messages returns one or two messages: results get a message of their own.
func (m anthropicMessage) messages(model string) []llm.Message {
	msg := llm.Message{Role: llm.Role(m.Role)}
	if msg.Role == llm.RoleAssistant {
		msg.Provider, msg.Model = "anthropic", model
	}
	for _, b := range m.Content {
		msg.Parts = append(msg.Parts, b.part())
	}
	return split(msg)
}

func (b anthropicBlock) part() llm.Part {
	switch b.Type {
	case "text":
		return llm.Text{Text: b.Text}
	case "thinking":
		return llm.Thinking{Text: b.Thinking, Signature: b.Signature}
	case "redacted_thinking":
		return llm.Thinking{Signature: b.Data, Redacted: true}
	case "tool_use":
		return llm.ToolCall{ID: b.ID, Name: b.Name, Args: string(b.Input)}
	case "tool_result":
		r := llm.ToolResult{CallID: b.ToolUseID, IsError: b.IsError}
		for _, c := range b.inside {
			r.Content = append(r.Content, c.part())
		}
		return r
	case "tool_reference":
		return llm.ToolReference{Name: b.ToolName}
	case "image", "document":
		if b.Source != nil {
			return llm.Media{MIME: b.Source.MediaType, Data: b.Source.bytes(), URL: b.Source.URL}
		}
	}
	return llm.Opaque{Provider: "anthropic", Data: string(b.raw)}
}

// invalid refuses a request, with the vendor's code for that.
func invalid(format string, args ...any) *refusal {
	return &refusal{400, "", fmt.Sprintf(format, args...)}
}
