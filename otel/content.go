package otel

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
)

// defaultContent is the limit of an attribute with content, in bytes.
const defaultContent = 64 << 10

// content makes attributes of texts.
type content struct {
	masker *secret.Masker
	limit  int
}

// cut marks what a limit has taken away.
const cut = "[...]"

// text returns a text without secrets, cut to a number of bytes. It masks first, because the cut
// would leave the beginning of a secret unmasked.
func (c *content) text(text string, limit int) string {
	whole, masked := len(text), 4*limit+1<<20 // masking costs time
	text = strings.ToValidUTF8(c.masker.String(text[:min(whole, masked)]), "\uFFFD")
	if len(text) <= limit && whole <= masked {
		return text
	}
	if len(text) <= limit { // nearly all of it was secret, and its end may be half of one
		return cut
	}
	limit = max(limit-len(cut), 0)
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + cut
}

// attribute returns an attribute with a text.
func (c *content) attribute(key attribute.Key, text string) attribute.KeyValue {
	return key.String(c.text(text, c.limit))
}

// message has the form of the conventions' schema, as part has.
type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

type part struct {
	Type      string `json:"type"`
	Content   string `json:"content,omitempty"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments any    `json:"arguments,omitempty"`
	Response  any    `json:"response,omitempty"`
	MIME      string `json:"mime_type,omitempty"`
}

// prompt returns the attributes of a request: the system prompt, and the newest messages that fit.
func (c *content) prompt(req *llm.Request) []attribute.KeyValue {
	var system []part
	var messages []message
	room := c.limit
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == llm.RoleSystem || m.Role == llm.RoleDeveloper {
			system = append(c.parts(m.Parts, c.limit), system...)
			continue
		}
		if room <= 0 {
			continue
		}
		said := message{Role: string(m.Role), Parts: c.parts(m.Parts, room)}
		messages = append(messages, said)
		room -= len(encode(said))
	}
	slices.Reverse(messages)
	attrs := []attribute.KeyValue{keyInputMessages.String(encode(messages))}
	if len(system) > 0 {
		attrs = append(attrs, keySystem.String(encode(system)))
	}
	return attrs
}

// answer returns the attribute of a response.
func (c *content) answer(r *llm.Response) attribute.KeyValue {
	finish := string(r.Finish.Reason)
	if r.Finish.Reason == llm.FinishToolCalls {
		finish = "tool_call"
	}
	answer := message{Role: "assistant", Parts: c.parts(r.Message.Parts, c.limit), Finish: finish}
	return keyOutputMessages.String(encode([]message{answer}))
}

// parts returns the parts of a message, whose texts have at most room bytes together. Of media only
// the type is returned, and of encrypted thoughts nothing.
func (c *content) parts(list llm.Parts, room int) []part {
	parts := []part{}
	take := func(text string) string {
		text = c.text(text, max(room, 0))
		room -= len(text)
		return text
	}
	for _, p := range list {
		switch p := p.(type) {
		case llm.Text:
			parts = append(parts, part{Type: "text", Content: take(p.Text)})
		case llm.Thinking:
			if p.Text != "" {
				parts = append(parts, part{Type: "reasoning", Content: take(p.Text)})
			}
		case llm.ToolCall:
			parts = append(parts, part{Type: "tool_call", ID: c.text(p.ID, maxName), Name: c.text(p.Name, maxName),
				Arguments: value(take(p.Args))})
		case llm.ToolResult:
			parts = append(parts, part{Type: "tool_call_response", ID: c.text(p.CallID, maxName),
				Response: take(p.Content.Text())})
		case llm.Media:
			parts = append(parts, part{Type: "blob", MIME: c.text(p.MIME, maxName)})
		}
	}
	return parts
}

// value returns the JSON of a text, or the text if it is not JSON.
func value(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// encode returns the JSON of messages.
func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "" // cannot happen: the values are strings and valid JSON
	}
	return string(data)
}
