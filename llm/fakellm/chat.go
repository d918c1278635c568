package fakellm

import (
	"encoding/json"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// chat implements Chat Completions as strictly as any of vLLM, Groq, Mistral and OpenAI: it refuses
// what one of them refuses.
type chat struct {
	words int
	usage bool // the stream must report usage
}

// chatRequest is the body of POST /v1/chat/completions. Members that are only checked for being
// known are raw.
type chatRequest struct {
	Model               string             `json:"model"`
	Messages            []chatMessage      `json:"messages"`
	Tools               []chatTool         `json:"tools"`
	ToolChoice          json.RawMessage    `json:"tool_choice"`
	Parallel            *bool              `json:"parallel_tool_calls"`
	MaxTokens           *int               `json:"max_tokens"`
	MaxCompletionTokens *int               `json:"max_completion_tokens"`
	Temperature         *float64           `json:"temperature"`
	TopP                *float64           `json:"top_p"`
	Stop                json.RawMessage    `json:"stop"`
	Effort              string             `json:"reasoning_effort"`
	Format              *chatFormat        `json:"response_format"`
	Stream              bool               `json:"stream"`
	StreamOptions       *chatStreamOptions `json:"stream_options"`
	N                   json.RawMessage    `json:"n"`
	TopK                json.RawMessage    `json:"top_k"`
	Seed                json.RawMessage    `json:"seed"`
	User                json.RawMessage    `json:"user"`
	CacheKey            json.RawMessage    `json:"prompt_cache_key"`
	TemplateArgs        json.RawMessage    `json:"chat_template_kwargs"`
}

type chatStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatFormat struct {
	Type   string `json:"type"`
	Schema *struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
		Strict json.RawMessage `json:"strict"`
	} `json:"json_schema"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      json.RawMessage `json:"strict"`
	} `json:"function"`
}

type chatMessage struct {
	Role             string          `json:"role"`
	Content          *chatContent    `json:"content"`
	ToolCalls        []chatCall      `json:"tool_calls"`
	ToolCallID       string          `json:"tool_call_id"`
	ReasoningContent string          `json:"reasoning_content"`
	Reasoning        string          `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	Name             string          `json:"name"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"`
}

// chatContent is a list of parts. A string stands for one part of text.
type chatContent []chatPart

// UnmarshalJSON implements json.Unmarshaler.
func (c *chatContent) UnmarshalJSON(b []byte) (err error) {
	*c, err = listOf(b, func(text string) chatPart { return chatPart{Type: "text", Text: text} })
	return err
}

type chatPart struct {
	Type     string     `json:"type"`
	Text     string     `json:"text"`
	Thinking []chatPart `json:"thinking"`
	Image    *chatImage `json:"image_url"`
	Audio    *chatAudio `json:"input_audio"`
	File     *chatFile  `json:"file"`
}

type chatImage struct {
	URL    string `json:"url"`
	Detail string `json:"detail"`
}

type chatAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type chatFile struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

// decode implements format.
func (f *chat) decode(r *Request) *refusal {
	// Local servers need no key, so a missing one is accepted. An empty one is a mistake
	// everywhere.
	if auth, ok := r.Header["Authorization"]; ok && strings.TrimSpace(strings.TrimPrefix(auth[0], "Bearer")) == "" {
		return &refusal{401, "invalid_api_key", "You didn't provide an API key."}
	}
	var w chatRequest
	if why := r.into(&w, "property '%s' is unsupported",
		"We could not parse the JSON body of your request: %v"); why != nil {
		return why
	}
	w.read(r)
	f.usage = w.StreamOptions != nil && w.StreamOptions.IncludeUsage
	return w.check()
}

// read converts the wire's request.
func (w *chatRequest) read(r *Request) {
	r.Model, r.Stream, r.Effort = w.Model, w.Stream, w.Effort
	for _, n := range []*int{w.MaxTokens, w.MaxCompletionTokens} {
		if n != nil {
			r.MaxTokens = *n
		}
	}
	for _, t := range w.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	var system []string
	for _, m := range w.Messages {
		msg := m.message(w.Model)
		last := len(r.Messages) - 1
		switch {
		case last < 0 && (msg.Role == llm.RoleSystem || msg.Role == llm.RoleDeveloper):
			system = append(system, msg.Parts.Text())
		case msg.Role == llm.RoleTool && last >= 0 && r.Messages[last].Role == llm.RoleTool:
			r.Messages[last].Parts = append(r.Messages[last].Parts, msg.Parts...)
		default:
			r.Messages = append(r.Messages, msg)
		}
	}
	r.System = strings.Join(system, "\n\n")
	r.prefixes = automatic(w.Model, r.Body, 0, 16) // in blocks of 16 tokens
}

func (m *chatMessage) message(model string) llm.Message {
	msg := llm.Message{Role: llm.Role(m.Role)}
	var content llm.Parts
	if m.Content != nil {
		for _, p := range *m.Content {
			content = append(content, p.part())
		}
	}
	switch msg.Role {
	case llm.RoleTool:
		msg.Parts = llm.Parts{llm.ToolResult{CallID: m.ToolCallID, Content: content}}
		return msg
	case llm.RoleAssistant:
		msg.Provider, msg.Model = "openai-compatible", model
		if thinking := m.ReasoningContent + m.Reasoning; thinking != "" {
			msg.Parts = append(msg.Parts, llm.Thinking{Text: thinking})
		}
	}
	msg.Parts = append(msg.Parts, content...)
	for _, c := range m.ToolCalls {
		call := llm.ToolCall{ID: c.ID, Name: c.Function.Name, Args: deref(c.Function.Arguments)}
		msg.Parts = append(msg.Parts, call)
	}
	return msg
}

func (p chatPart) part() llm.Part {
	switch {
	case p.Type == "thinking":
		var text string
		for _, inner := range p.Thinking {
			text += inner.Text
		}
		return llm.Thinking{Text: text}
	case p.Image != nil:
		kind, data, ok := dataURL(p.Image.URL)
		if !ok {
			return llm.Media{MIME: "image/*", URL: p.Image.URL, Detail: p.Image.Detail}
		}
		return llm.Media{MIME: kind, Data: data, Detail: p.Image.Detail}
	case p.Audio != nil:
		return llm.Media{MIME: "audio/" + p.Audio.Format, Data: decoded(p.Audio.Data)}
	case p.File != nil:
		kind, data, _ := dataURL(p.File.Data)
		return llm.Media{MIME: kind, Data: data, Name: p.File.Name}
	}
	return llm.Text{Text: p.Text}
}

// dataURL splits a data URL into its type and data.
func dataURL(url string) (kind string, data []byte, ok bool) {
	rest, isData := strings.CutPrefix(url, "data:")
	kind, text, found := strings.Cut(rest, ";base64,")
	if !found || !isData {
		return "", nil, false
	}
	return kind, decoded(text), isBase64(text)
}
