package openai

import (
	"cmp"
	"encoding/json"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// maxCallID is the longest call_id, in bytes.
const maxCallID = 64

// conversation is the encoded form of a conversation. It only grows: bytes that an earlier request
// used never change.
type conversation struct {
	provider string
	// instructions holds the leading system messages: a JSON string without its end, empty if there
	// are none.
	instructions []byte
	items        []byte
	begun        bool // there are no more instructions: other messages came, or all are messages
	// outputs holds the item types of results by the ids of their calls, as far as they are not
	// function_call_output.
	outputs map[string]string

	search string               // the tool that finds deferred ones, if the API is to know that
	known  []llm.ToolDefinition // the request's tools
}

// add encodes more messages.
func (c *conversation) add(messages []llm.Message) error {
	for _, m := range messages {
		leading := !c.begun && m.Role == llm.RoleSystem
		c.begun = c.begun || !leading
		var err error
		switch {
		case leading:
			err = c.addInstructions(m)
		case m.Role == llm.RoleAssistant:
			err = c.addAssistant(m)
		case m.Role == llm.RoleSystem, m.Role == llm.RoleDeveloper:
			err = c.addMessage(string(m.Role), m.Parts)
		default:
			err = c.addUser(m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *conversation) addInstructions(m llm.Message) error {
	texts, err := api.OnlyTexts(m.Parts)
	for _, text := range texts {
		separator := `\n\n`
		if len(c.instructions) == 0 {
			separator = `"`
		}
		c.instructions = appendInner(append(c.instructions, separator...), text)
	}
	return err
}

// appendInner writes a string's JSON without the quotes.
func appendInner(b []byte, s string) []byte {
	at := len(b)
	b = api.AppendString(b, s)
	copy(b[at:], b[at+1:])
	return b[:len(b)-2]
}

// item begins an item; the caller ends it.
func (c *conversation) item(start string) {
	if len(c.items) > 0 {
		c.items = append(c.items, ',')
	}
	c.items = append(c.items, start...)
}

// addUser adds a message's results, each as an item, and then everything else in it as one message.
func (c *conversation) addUser(m llm.Message) error {
	var rest llm.Parts
	for _, part := range m.Parts {
		var text llm.Parts
		var err error
		switch r, ok := part.(llm.ToolResult); {
		case !ok:
			text = llm.Parts{part}
		case c.outputs[r.CallID] == searchOutput:
			text, err = c.addFound(r)
		default:
			err = c.addResult(r)
		}
		if err != nil {
			return err
		}
		rest = append(rest, text...)
	}
	return c.addMessage("user", rest)
}

// addMessage adds a message that is not the model's, and then its opaque parts. It adds no message
// without content.
func (c *conversation) addMessage(role string, parts llm.Parts) error {
	content, opaque := make(llm.Parts, 0, len(parts)), []llm.Opaque(nil)
	for _, part := range parts {
		if o, ok := part.(llm.Opaque); ok {
			opaque = append(opaque, o)
			continue
		}
		content = append(content, part)
	}
	list, err := appendContent(nil, content)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		c.item(`{"type":"message","role":"` + role + `","content":`)
		c.items = append(append(c.items, list...), '}')
	}
	for _, o := range opaque {
		if err := c.addOpaque(o); err != nil {
			return err
		}
	}
	return nil
}

func (c *conversation) addResult(r llm.ToolResult) error {
	kind := cmp.Or(c.outputs[r.CallID], "function_call_output")
	c.item(`{"type":"` + kind + `","call_id":`)
	b := append(api.AppendString(c.items, api.PlainID(r.CallID, maxCallID)), `,"output":`...)
	var err error
	if t, ok := onlyText(r.Content); ok {
		b = api.AppendString(b, t)
	} else if b, err = appendContent(b, r.Content); err != nil {
		return err
	}
	c.items = append(b, '}')
	return nil
}

// onlyText returns the text of a content that is at most one text. Other servers with this format
// often accept only a string.
func onlyText(content llm.Parts) (string, bool) {
	text, n := "", 0
	for _, part := range content {
		switch part := part.(type) {
		case llm.ToolReference:
		case llm.Text:
			if part.Text != "" {
				text = part.Text
				n++
			}
		default:
			return "", false
		}
	}
	return text, n <= 1
}

func (c *conversation) addOpaque(o llm.Opaque) error {
	if o.Provider != c.provider || o.Data == "" {
		return nil
	}
	if !json.Valid([]byte(o.Data)) {
		return llm.Errorf(llm.ErrInvalidRequest, "an opaque part is not valid JSON")
	}
	c.item(o.Data)
	return nil
}

// addAssistant adds a response, each part as an item. It omits the items' ids, except for
// reasoning, because the server keeps nothing that they could refer to.
func (c *conversation) addAssistant(m llm.Message) error {
	own := m.Provider == c.provider
	last := c.lastItem(m.Parts)
	for i := 0; i < len(m.Parts); i++ {
		switch part := m.Parts[i].(type) {
		case llm.Text:
			c.addText(part, own)
		case llm.Thinking:
			end := reasoningEnd(m.Parts, i)
			// "Item of type 'reasoning' was provided without its required following item": the
			// response was cut off in its reasoning.
			if own && i < last {
				c.addReasoning(m.Parts[i:end])
			}
			i = end - 1
		case llm.ToolCall:
			c.addCall(part)
		case llm.Opaque:
			if err := c.addOpaque(part); err != nil {
				return err
			}
		default:
			return llm.Errorf(llm.ErrInvalidRequest, "an assistant message cannot hold a part of type %T", part)
		}
	}
	return nil
}

// lastItem returns the index of the last part that becomes an item other than reasoning, or -1 if
// none does.
func (c *conversation) lastItem(parts llm.Parts) int {
	for i := len(parts) - 1; i >= 0; i-- {
		switch part := parts[i].(type) {
		case llm.Text:
			if part.Text != "" {
				return i
			}
		case llm.ToolCall:
			return i
		case llm.Opaque:
			if part.Provider == c.provider && part.Data != "" {
				return i
			}
		}
	}
	return -1
}

// reasoningEnd returns the end of the reasoning item that starts at from. Each piece of its summary
// is a part with the item's id.
func reasoningEnd(parts llm.Parts, from int) int {
	first := parts[from].(llm.Thinking)
	end := from + 1
	for first.ID != "" && end < len(parts) {
		if t, ok := parts[end].(llm.Thinking); !ok || t.ID != first.ID {
			break
		}
		end++
	}
	return end
}
