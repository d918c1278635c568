package openaichat

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// conversation is the encoded form of a conversation. It only grows: bytes that an earlier request
// used never change.
type conversation struct {
	o encoding

	// messages holds the wire messages, separated by commas. inSystem reports that the last one is
	// the leading system message, which is still open for more.
	messages []byte
	inSystem bool
	begun    bool
	lastRole string // the role of the last message that is the user's, or the assistant's without calls

	held []byte            // parts of the user message that follows the results
	ids  map[string]string // of other providers' calls, as servers take them, by their own
}

// add encodes more messages.
func (c *conversation) add(messages []llm.Message) error {
	if c.o.alternates {
		messages = joined(messages)
	}
	for _, m := range messages {
		if err := c.message(m); err != nil {
			return err
		}
	}
	c.release() // all results are in, or the request would be invalid
	return nil
}

func (c *conversation) message(m llm.Message) error {
	switch m.Role {
	case llm.RoleSystem, llm.RoleDeveloper:
		return c.system(m)
	case llm.RoleAssistant:
		c.release()
		return c.assistant(m)
	}
	return c.user(m)
}

// open begins a message.
func (c *conversation) open(role string) {
	switch {
	case c.inSystem:
		c.messages = append(c.messages, `"},`...)
	case c.begun:
		c.messages = append(c.messages, ',')
	}
	c.inSystem, c.begun = false, true
	c.messages = append(append(append(c.messages, `{"role":"`...), role...), `","content":`...)
}

func (c *conversation) system(m llm.Message) error {
	text, err := textOnly(m.Parts)
	if err != nil || blank(text) {
		return err
	}
	role := string(llm.RoleSystem)
	if m.Role == llm.RoleDeveloper && c.o.developerRole {
		role = string(llm.RoleDeveloper)
	}
	leading := role == string(llm.RoleSystem) && (!c.begun || c.inSystem)
	if leading && c.inSystem {
		at := len(c.messages)
		c.messages = api.AppendString(c.messages, "\n\n"+text)
		c.messages = append(c.messages[:at], c.messages[at+1:len(c.messages)-1]...) // without the quotes
		return nil
	}
	c.release()
	c.open(role)
	c.messages = api.AppendString(c.messages, text)
	if c.inSystem = leading; leading {
		c.messages = c.messages[:len(c.messages)-1]
	} else {
		c.messages = append(c.messages, '}')
	}
	return nil
}

// textOnly returns the joined texts, or an error if there are other parts.
func textOnly(parts llm.Parts) (string, error) {
	texts, err := api.OnlyTexts(parts)
	return strings.Join(texts, "\n\n"), err
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// user encodes a message that is neither the system's nor the model's: results first, each as a
// message, then the rest.
func (c *conversation) user(m llm.Message) error {
	var rest llm.Parts
	for _, part := range m.Parts {
		switch part := part.(type) {
		case llm.ToolResult:
			if err := c.result(part); err != nil {
				return err
			}
		case llm.Opaque:
			if part.Provider == c.o.provider {
				rest = append(rest, part)
			}
		default:
			rest = append(rest, part)
		}
	}
	if len(rest) > 0 {
		c.release()
	}
	if text, err := textOnly(rest); err == nil { // a string, which every server accepts
		if !blank(text) {
			c.alternate(string(llm.RoleUser))
			c.open(string(llm.RoleUser))
			c.messages = append(api.AppendString(c.messages, text), '}')
		}
		return nil
	}
	var content []byte
	for _, part := range rest {
		var err error
		if content, err = c.appendPart(content, part); err != nil {
			return err
		}
	}
	c.userParts(content)
	return nil
}

// userParts writes a user message of parts, unless there are none.
func (c *conversation) userParts(content []byte) {
	if len(content) == 0 {
		return
	}
	c.alternate(string(llm.RoleUser))
	c.open(string(llm.RoleUser))
	c.messages = append(append(append(c.messages, '['), content...), `]}`...)
}

func (c *conversation) appendPart(b []byte, part llm.Part) ([]byte, error) {
	switch part := part.(type) {
	case llm.Text:
		if blank(part.Text) {
			return b, nil
		}
		return appendText(separate(b), part.Text), nil
	case llm.Media:
		return appendMedia(b, part)
	case llm.Opaque:
		if !json.Valid([]byte(part.Data)) {
			return nil, llm.Errorf(llm.ErrInvalidRequest, "an opaque part is not valid JSON")
		}
		return append(separate(b), part.Data...), nil
	}
	return nil, llm.Errorf(llm.ErrInvalidRequest, "a user message cannot hold a part of type %T", part)
}

// result writes a tool's result. Its media go into the message after all results.
func (c *conversation) result(r llm.ToolResult) error {
	var texts []string
	var media []byte
	for _, part := range r.Content {
		switch part := part.(type) {
		case llm.Text:
			if part.Text != "" {
				texts = append(texts, part.Text)
			}
		case llm.Media:
			var err error
			if media, err = appendMedia(media, part); err != nil {
				return err
			}
		case llm.ToolReference:
		default:
			return llm.Errorf(llm.ErrInvalidRequest, "a tool result cannot hold a part of type %T", part)
		}
	}
	text := strings.Join(texts, "\n\n")
	if media != nil {
		c.held = appendText(separate(c.held), "From the result of the call "+r.CallID+":")
		c.held = append(append(c.held, ','), media...)
		if blank(text) {
			text = "See the next user message."
		}
	}
	c.open(string(llm.RoleTool))
	c.messages = api.AppendString(c.messages, text)
	c.messages = append(api.AppendMember(c.messages, `,"tool_call_id":`, cmp.Or(c.ids[r.CallID], r.CallID)), '}')
	return nil
}

// release writes the media of the results.
func (c *conversation) release() {
	c.userParts(c.held)
	c.held = nil
}
