package fakellm

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// openai implements the Responses API. It serves one request.
type openai struct {
	words int
	why   *refusal
	param string        // the parameter that was refused
	asked openaiRequest // the request; the response repeats parts of it
}

// openaiRequest is the body of POST /v1/responses. Members that are only checked for being known,
// or only repeated in the response, are raw.
type openaiRequest struct {
	Model           string           `json:"model"`
	Instructions    string           `json:"instructions"`
	Input           openaiInput      `json:"input"`
	Tools           []openaiTool     `json:"tools"`
	ToolChoice      json.RawMessage  `json:"tool_choice"`
	Parallel        *bool            `json:"parallel_tool_calls"`
	MaxOutputTokens *int             `json:"max_output_tokens"`
	MaxToolCalls    *int             `json:"max_tool_calls"`
	Reasoning       *openaiReasoning `json:"reasoning"`
	Text            *openaiText      `json:"text"`
	Temperature     *float64         `json:"temperature"`
	TopP            *float64         `json:"top_p"`
	TopLogprobs     *int             `json:"top_logprobs"`
	Include         []string         `json:"include"`
	Store           *bool            `json:"store"`
	Stream          bool             `json:"stream"`
	StreamOptions   json.RawMessage  `json:"stream_options"`
	PreviousID      string           `json:"previous_response_id"`
	Conversation    json.RawMessage  `json:"conversation"`
	Background      *bool            `json:"background"`
	Prompt          json.RawMessage  `json:"prompt"`
	CacheKey        string           `json:"prompt_cache_key"`
	CacheRetention  json.RawMessage  `json:"prompt_cache_retention"`
	CacheOptions    json.RawMessage  `json:"prompt_cache_options"`
	SafetyID        json.RawMessage  `json:"safety_identifier"`
	ServiceTier     json.RawMessage  `json:"service_tier"`
	Truncation      json.RawMessage  `json:"truncation"`
	Metadata        json.RawMessage  `json:"metadata"`
	ClientMetadata  json.RawMessage  `json:"client_metadata"` // codex sends it
	User            json.RawMessage  `json:"user"`
}

type openaiReasoning struct {
	Effort          string          `json:"effort"`
	Summary         string          `json:"summary"`
	GenerateSummary json.RawMessage `json:"generate_summary"`
	Context         json.RawMessage `json:"context"`
}

type openaiText struct {
	Format *struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"schema"`
		Strict      *bool           `json:"strict"`
	} `json:"format"`
	Verbosity json.RawMessage `json:"verbosity"`
}

type openaiTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
	Format      *struct {
		Type       string `json:"type"`
		Syntax     string `json:"syntax"`
		Definition string `json:"definition"`
	} `json:"format"`
}

// UnmarshalJSON implements json.Unmarshaler. Server tools may have any form.
func (t *openaiTool) UnmarshalJSON(b []byte) error {
	type plain openaiTool
	if err := json.Unmarshal(b, (*plain)(t)); err != nil && (t.Type == "function" || t.Type == "custom") {
		return err
	}
	return nil
}

// openaiInput is a list of items. A string stands for one user message.
type openaiInput []openaiItem

// UnmarshalJSON implements json.Unmarshaler.
func (in *openaiInput) UnmarshalJSON(b []byte) (err error) {
	*in, err = listOf(b, func(string) openaiItem {
		return openaiItem{Type: "message", Role: "user", Content: slices.Clone(b)}
	})
	return err
}

type openaiItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Role      string          `json:"role"`
	Phase     string          `json:"phase"`
	Content   json.RawMessage `json:"content"` // a string or a list of parts
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a string, or the object of a search for tools
	Execution string          `json:"execution"` // of a search for tools: whether the client runs it
	Tools     []openaiTool    `json:"tools"`     // that it has found
	Input     *string         `json:"input"`
	Output    json.RawMessage `json:"output"` // a string or a list of parts
	Summary   []openaiPart    `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
	raw       json.RawMessage
	unknown   string // an unknown member
}

// searchName is the name by which scripts call the tool that finds others, because the API gives it
// none.
const searchName = "tool_search"

// UnmarshalJSON implements json.Unmarshaler. It is strict about known items and ignores others.
func (it *openaiItem) UnmarshalJSON(b []byte) error {
	var head struct{ Type string }
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	it.raw, it.Type = append(it.raw[:0], b...), head.Type
	if it.opaque() {
		return nil
	}
	type plain openaiItem
	if err := strict(b, (*plain)(it)); err != nil {
		if it.unknown = unknown(err); it.unknown == "" {
			return err
		}
		return nil
	}
	if it.Type == "" && it.Role != "" {
		it.Type = "message"
	}
	return nil
}

func (it *openaiItem) opaque() bool {
	switch it.Type {
	case "", "message", "reasoning", "function_call", "function_call_output", "custom_tool_call",
		"custom_tool_call_output", "tool_search_call", "tool_search_output":
		return false
	}
	return true
}

type openaiPart struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	Refusal     string          `json:"refusal"`
	ImageURL    string          `json:"image_url"`
	Detail      string          `json:"detail"`
	Filename    string          `json:"filename"`
	FileData    string          `json:"file_data"`
	FileURL     string          `json:"file_url"`
	FileID      string          `json:"file_id"`
	Annotations json.RawMessage `json:"annotations"`
	Logprobs    json.RawMessage `json:"logprobs"`
}

// openaiParts decodes a content. A string stands for one part of text.
func openaiParts(raw json.RawMessage, text string) ([]openaiPart, error) {
	return listOf(raw, func(s string) openaiPart { return openaiPart{Type: text, Text: s} })
}

// decode implements format.
func (f *openai) decode(r *Request) *refusal {
	if key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); !ok || strings.TrimSpace(key) == "" {
		return &refusal{401, "",
			"You didn't provide an API key. You need to provide your API key in an Authorization header using " +
				"Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."}
	}
	if err := strict(r.Body, &f.asked); err != nil {
		name := unknown(err)
		f.refuse(name != "", name, "unknown_parameter", "Unknown parameter: '%s'.", name)
		f.refuse(true, "", "", "We could not parse the JSON body of your request: %v", err)
		return f.why
	}
	f.read(r)
	return f.check()
}

// read converts the wire's request.
func (f *openai) read(r *Request) {
	w := &f.asked
	r.Model, r.System, r.Stream = w.Model, w.Instructions, w.Stream
	r.prefixes = automatic(w.Model, r.Body, 1024, 128)
	if w.MaxOutputTokens != nil {
		r.MaxTokens = *w.MaxOutputTokens
	}
	if w.Reasoning != nil {
		r.Effort = w.Reasoning.Effort
	}
	for _, t := range w.Tools {
		r.Tools = append(r.Tools, cmp.Or(t.Name, t.Type)) // the API gives its own tools no names
	}
	for _, it := range w.Input {
		role, parts := it.read()
		joins := role == llm.RoleAssistant || role == llm.RoleTool
		if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == role && joins {
			r.Messages[n-1].Parts = append(r.Messages[n-1].Parts, parts...)
			continue
		}
		m := llm.Message{Role: role, Parts: parts}
		if role == llm.RoleAssistant {
			m.Provider, m.Model = "openai", w.Model
		}
		r.Messages = append(r.Messages, m)
	}
}

func (it *openaiItem) read() (llm.Role, llm.Parts) {
	switch it.Type {
	case "message":
		kind := "input_text"
		if it.Role == "assistant" {
			kind = "output_text"
		}
		content, _ := openaiParts(it.Content, kind) // check refuses invalid content
		return llm.Role(it.Role), openaiRead(content, it.Phase)
	case "reasoning":
		return llm.RoleAssistant, llm.Parts{llm.Thinking{ID: it.ID, Text: it.summary(), Signature: it.Encrypted}}
	case "function_call":
		return llm.RoleAssistant, llm.Parts{llm.ToolCall{ID: it.CallID, Name: it.Name, Args: it.arguments()}}
	case "custom_tool_call":
		return llm.RoleAssistant, llm.Parts{llm.ToolCall{ID: it.CallID, Name: it.Name, Args: deref(it.Input),
			Free: true}}
	case "tool_search_call":
		return llm.RoleAssistant, llm.Parts{llm.ToolCall{ID: it.CallID, Name: searchName, Args: string(it.Arguments)}}
	case "tool_search_output":
		result := llm.ToolResult{CallID: it.CallID}
		for _, t := range it.Tools {
			result.Content = append(result.Content, llm.ToolReference{Name: t.Name})
		}
		return llm.RoleTool, llm.Parts{result}
	case "function_call_output", "custom_tool_call_output":
		content, _ := openaiParts(it.Output, "input_text")
		return llm.RoleTool, llm.Parts{llm.ToolResult{CallID: it.CallID, Content: openaiRead(content, ""),
			Free: it.Type[0] == 'c'}}
	}
	return llm.RoleAssistant, llm.Parts{llm.Opaque{Provider: "openai", Data: string(it.raw)}}
}

// arguments returns the text of a function's arguments.
func (it *openaiItem) arguments() (text string) {
	_ = json.Unmarshal(it.Arguments, &text) // check refuses anything else
	return text
}

func (it *openaiItem) summary() string {
	var texts []string
	for _, p := range it.Summary {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n")
}

func openaiRead(content []openaiPart, phase string) llm.Parts {
	var parts llm.Parts
	for _, p := range content {
		switch p.Type {
		case "input_image":
			parts = append(parts, openaiMedia("image/*", p.ImageURL, p))
		case "input_file":
			parts = append(parts, openaiMedia("application/octet-stream", p.FileURL+p.FileData, p))
		default:
			parts = append(parts, llm.Text{Text: p.Text + p.Refusal, Signature: phase})
		}
	}
	return parts
}
