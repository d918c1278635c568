package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Part is one piece of a message's content: [Text], [Media], [Thinking], [ToolCall], [ToolResult],
// [ToolReference] or [Opaque], always as a value, never as a pointer. Other packages cannot define
// more.
type Part interface{ isPart() }

// Text holds plain text.
type Text struct {
	Text string `json:"text"`
	// Signature holds data that the provider wants back with the text: Gemini's thought signature,
	// OpenAI's phase, or Anthropic's citations.
	Signature string `json:"signature,omitempty"`
	// Sources are the pages on the web that the text cites, as its provider says. They are not
	// sent.
	Sources []Source `json:"sources,omitempty"`
}

// Media holds an image, an audio clip or a document. Exactly one of Data and URL is set.
type Media struct {
	// MIME is the media type, such as image/png or application/pdf. It decides how a provider sends
	// the part.
	MIME string `json:"mime"`
	Data []byte `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
	// Name is a document's file name, if it has one.
	Name string `json:"name,omitempty"`
	// Detail is OpenAI's resolution hint for images: low, high, auto or empty.
	Detail string `json:"detail,omitempty"`
}

// Thinking holds a block of the model's reasoning, which must be sent back verbatim.
type Thinking struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	// Redacted reports that Signature is an encrypted block without readable text.
	Redacted bool `json:"redacted,omitempty"`
	// ID is the provider's id of the block, if it has one (an OpenAI reasoning item).
	ID string `json:"id,omitempty"`
}

// ToolCall holds the model's request to run a tool.
type ToolCall struct {
	// ID pairs the call with its result. Providers whose API has no ids make them up.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Args is the model's exact text: a JSON object, or free text if Free is set. It is a string
	// because it must go back to the model unchanged and need not be valid JSON.
	Args string `json:"args"`
	// Free marks the call of a free-form tool, whose Args are not JSON.
	Free      bool   `json:"free,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// ToolResult holds the result of the [ToolCall] with the same id.
type ToolResult struct {
	CallID string `json:"call_id"`
	Name   string `json:"name,omitempty"`
	// Content has only text, media and references to tools.
	Content Parts `json:"content,omitempty"`
	IsError bool  `json:"is_error,omitempty"`
	// Free marks the result of a free-form tool's call.
	Free bool `json:"free,omitempty"`
}

// ToolReference names a deferred tool that a result has found. It stands in a [ToolResult], beside
// text that describes the tools. If the model's vendor loads tools, the references are sent in
// place of the result's other content. Other models get only the other content.
type ToolReference struct {
	Name string `json:"name"`
}

// Opaque holds a provider's block that this package has no type for. It is sent back verbatim, and
// only to that provider.
type Opaque struct {
	Provider string `json:"provider"`
	// Data is the block as the provider sent it: one JSON value. Empty means that there is nothing
	// to send back.
	Data string `json:"data"`
	// Search is set if the block ends a web search. It is not sent.
	Search *WebSearch `json:"search,omitempty"`
}

func (Text) isPart()          {}
func (Media) isPart()         {}
func (Thinking) isPart()      {}
func (ToolCall) isPart()      {}
func (ToolResult) isPart()    {}
func (ToolReference) isPart() {}
func (Opaque) isPart()        {}

// Parts is the content of a message. Its JSON is an array of objects, each with the part's kind as
// its only key: [{"text":{"text":"hi"}}]. It is lossless for valid UTF-8.
type Parts []Part

// TextParts returns content that consists of one text.
func TextParts(text string) Parts { return Parts{Text{Text: text}} }

// of returns the parts of a type, in order.
func of[T Part](parts Parts) (list []T) {
	for _, part := range parts {
		if t, ok := part.(T); ok {
			list = append(list, t)
		}
	}
	return list
}

// Text returns the text parts, concatenated.
func (p Parts) Text() string {
	var texts []string
	for _, t := range of[Text](p) {
		texts = append(texts, t.Text)
	}
	return strings.Join(texts, "") // shares the memory of a single text
}

// WithLine returns the parts with a text at their end, which begins on a line of its own.
func (p Parts) WithLine(text string) Parts {
	n := len(p)
	if n == 0 {
		return TextParts(text)
	}
	last, ok := p[n-1].(Text)
	if !ok {
		return append(slices.Clone(p), Text{Text: text})
	}
	if last.Text != "" && !strings.HasSuffix(last.Text, "\n") {
		last.Text += "\n"
	}
	last.Text += text
	return append(slices.Clone(p[:n-1]), last)
}

// ToolCalls returns the calls, in order.
func (p Parts) ToolCalls() []ToolCall { return of[ToolCall](p) }

// ToolReferences returns the names of the tools that the parts refer to, in order.
func (p Parts) ToolReferences() []string {
	var names []string
	for _, r := range of[ToolReference](p) {
		names = append(names, r.Name)
	}
	return names
}

// Reasoning returns the readable text of the thinking blocks, concatenated.
func (p Parts) Reasoning() string {
	var b strings.Builder
	for _, t := range of[Thinking](p) {
		b.WriteString(t.Text)
	}
	return b.String()
}

// MarshalJSON implements json.Marshaler. A nil part or a pointer is an error.
func (p Parts) MarshalJSON() ([]byte, error) {
	if p == nil {
		return []byte("null"), nil
	}
	list := make([]anyPart, len(p))
	for i, part := range p {
		var err error
		if list[i], err = wrap(part); err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(list)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// UnmarshalJSON implements json.Unmarshaler. An unknown kind is an error, because dropping it would
// lose content.
func (p *Parts) UnmarshalJSON(data []byte) error {
	var list []anyPart
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("llm: parts: %w", err)
	}
	if list == nil {
		*p = nil
		return nil
	}
	parts := make(Parts, 0, len(list))
	for i, one := range list {
		part := one.part()
		if part == nil {
			return unknownPart(data, i)
		}
		parts = append(parts, part)
	}
	*p = parts
	return nil
}

// anyPart is the JSON of a part of any kind.
type anyPart struct {
	Text          *Text          `json:"text,omitempty"`
	Media         *Media         `json:"media,omitempty"`
	Thinking      *Thinking      `json:"thinking,omitempty"`
	ToolCall      *ToolCall      `json:"tool_call,omitempty"`
	ToolResult    *ToolResult    `json:"tool_result,omitempty"`
	ToolReference *ToolReference `json:"tool_reference,omitempty"`
	Opaque        *Opaque        `json:"opaque,omitempty"`
}

// wrap returns the JSON of a part.
func wrap(p Part) (a anyPart, err error) {
	switch p := p.(type) {
	case Text:
		a.Text = &p
	case Media:
		a.Media = &p
	case Thinking:
		a.Thinking = &p
	case ToolCall:
		a.ToolCall = &p
	case ToolResult:
		a.ToolResult = &p
	case ToolReference:
		a.ToolReference = &p
	case Opaque:
		a.Opaque = &p
	case nil:
		err = errors.New("llm: nil part")
	default:
		err = fmt.Errorf("llm: part of type %T: parts are values of this package's types, not pointers", p)
	}
	return a, err
}

// part returns the only part that is set, or nil.
func (a *anyPart) part() Part {
	parts := slices.Concat(set(a.Text), set(a.Media), set(a.Thinking), set(a.ToolCall), set(a.ToolResult),
		set(a.ToolReference), set(a.Opaque))
	if len(parts) != 1 {
		return nil
	}
	return parts[0]
}

// set returns the part that p points to, or none for nil.
func set[T Part](p *T) Parts {
	if p == nil {
		return nil
	}
	return Parts{*p}
}

// unknownPart returns what is wrong with a part of a list.
func unknownPart(data []byte, i int) error {
	var raw []map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("llm: parts: %w", err)
	}
	if len(raw[i]) != 1 {
		return fmt.Errorf("llm: part %d has %d kinds, want one", i, len(raw[i]))
	}
	for kind, body := range raw[i] {
		if string(body) == "null" {
			return fmt.Errorf("llm: part %d has no %s", i, kind)
		}
		return fmt.Errorf("llm: part %d: unknown kind %q", i, kind)
	}
	return nil
}
