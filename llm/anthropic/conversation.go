package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// conversation is the encoded form of a conversation. It only grows: bytes that an earlier request
// used never change.
type conversation struct {
	provider string
	system   []byte // the blocks of the leading system messages
	tools    *toolset

	// references holds the tools to which results refer, and whether the references were sent: the
	// tool was among the deferred ones.
	references map[string]bool

	// messages holds the wire messages without the end of the last one: if the next message has the
	// same role, its blocks join it. role is the last one's role, empty before the first.
	messages []byte
	role     string

	// last and previous are the positions for cache marks: the closing brace of the last block that
	// can have one, and of the last one before the last assistant message, where the previous
	// request ended. 0 means none.
	last, previous int

	searches searchPairs // of the messages that were added last
}

func newConversation(provider string) *conversation {
	return &conversation{provider: provider, references: map[string]bool{}}
}

const (
	wireUser      = "user"
	wireAssistant = "assistant"
)

// add encodes more messages. All between two responses become one user message, in which the API
// requires the results first.
func (c *conversation) add(messages []llm.Message) error {
	return api.Turns(messages, c.begun, c.addSystem, c.addAssistant, c.addUser)
}

func (c *conversation) begun() bool { return c.role != "" }

func (c *conversation) addSystem(m llm.Message) error {
	texts, err := api.OnlyTexts(m.Parts)
	for _, text := range texts {
		if blank(text) {
			continue
		}
		if len(c.system) > 0 {
			c.system = append(c.system, ',')
		}
		c.system = appendText(c.system, text)
	}
	return err
}

// block begins a block of a role, in a new message if the role changes.
func (c *conversation) block(role string) {
	if c.role == role {
		c.messages = append(c.messages, ',')
		return
	}
	if c.role != "" {
		c.messages = append(c.messages, `]},`...)
	}
	if role == wireAssistant {
		c.previous = c.last
	}
	c.role = role
	c.messages = append(append(append(c.messages, `{"role":"`...), role...), `","content":[`...)
}

// markable marks the block just written as able to carry a cache mark. Thinking cannot, and opaque
// blocks must not change.
func (c *conversation) markable() { c.last = len(c.messages) - 1 }

func (c *conversation) addAssistant(m llm.Message) error {
	own := m.Provider == c.provider
	for _, part := range c.searches.sendable(m) {
		switch part := part.(type) {
		case llm.Text:
			if own && part.Signature != "" && c.addCited(part) {
				continue
			}
			c.addText(wireAssistant, part)
		case llm.Thinking:
			if own && part.Signature != "" { // the API refuses thinking that is unsigned or signed by others
				c.block(wireAssistant)
				c.messages = appendThinking(c.messages, part)
			}
		case llm.ToolCall:
			c.block(wireAssistant)
			c.messages = appendCall(c.messages, part)
			c.markable()
		case llm.Opaque:
			if err := c.addOpaque(wireAssistant, part); err != nil {
				return err
			}
		default:
			return llm.Errorf(llm.ErrInvalidRequest, "an assistant message cannot hold a part of type %T", part)
		}
	}
	return nil
}

func (c *conversation) addUser(messages []llm.Message) error {
	for _, m := range messages {
		for _, part := range m.Parts {
			if r, ok := part.(llm.ToolResult); ok {
				if err := c.addResult(r); err != nil {
					return err
				}
			}
		}
	}
	for _, m := range messages {
		for _, part := range m.Parts {
			if err := c.addUserPart(part); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *conversation) addUserPart(part llm.Part) error {
	switch part := part.(type) {
	case llm.ToolResult: // encoded before
	case llm.Text:
		c.addText(wireUser, part)
	case llm.Media:
		source, err := appendMedia(nil, part)
		if err != nil {
			return err
		}
		c.block(wireUser)
		c.messages = append(c.messages, source...)
		c.markable()
	case llm.Opaque:
		return c.addOpaque(wireUser, part)
	default:
		return llm.Errorf(llm.ErrInvalidRequest, "a user message cannot hold a part of type %T", part)
	}
	return nil
}

// addText skips blank texts, because the API refuses them: "text content blocks must contain
// non-whitespace text".
func (c *conversation) addText(role string, t llm.Text) {
	if blank(t.Text) {
		return
	}
	c.block(role)
	c.messages = appendText(c.messages, t.Text)
	c.markable()
}

func (c *conversation) addOpaque(role string, o llm.Opaque) error {
	if o.Provider != c.provider || o.Data == "" {
		return nil
	}
	var block struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal([]byte(o.Data), &block); err != nil {
		return llm.Errorf(llm.ErrInvalidRequest, "an opaque part is not a JSON object")
	}
	if block.Type == "" {
		return nil // it came in another format that the provider speaks, too
	}
	c.block(role)
	c.messages = append(c.messages, o.Data...)
	return nil
}

func (c *conversation) addResult(r llm.ToolResult) error {
	c.block(wireUser)
	b := api.AppendMember(c.messages, `{"type":"tool_result","tool_use_id":`, api.PlainID(r.CallID, math.MaxInt))
	b, err := c.appendResult(b, r.Content)
	if err != nil {
		return err
	}
	if r.IsError {
		b = append(b, `,"is_error":true`...)
	}
	c.messages = append(b, '}')
	c.markable()
	return nil
}

// appendResult writes a result's content. References to deferred tools replace everything else:
// "Tool definitions/code execution functions cannot be mixed with other content".
func (c *conversation) appendResult(b []byte, content llm.Parts) ([]byte, error) {
	separator := `,"content":[`
	for _, name := range content.ToolReferences() {
		c.references[name] = c.tools.deferred[name]
		if !c.tools.deferred[name] {
			continue
		}
		b = append(append(b, separator...), `{"type":"tool_reference","tool_name":`...)
		b = append(api.AppendString(b, name), '}')
		separator = ","
	}
	if separator == "," {
		return append(b, ']'), nil
	}
	return appendContent(b, content)
}

// appendContent writes text and media, or nothing if there are none.
func appendContent(b []byte, content llm.Parts) ([]byte, error) {
	separator := `,"content":[`
	separate := func() []byte {
		b = append(b, separator...)
		separator = ","
		return b
	}
	for _, part := range content {
		var err error
		switch part := part.(type) {
		case llm.ToolReference:
		case llm.Text:
			if !blank(part.Text) {
				b = appendText(separate(), part.Text)
			}
		case llm.Media:
			b, err = appendMedia(separate(), part)
		default:
			err = llm.Errorf(llm.ErrInvalidRequest, "a tool result cannot hold a part of type %T", part)
		}
		if err != nil {
			return nil, err
		}
	}
	if separator == "," {
		b = append(b, ']')
	}
	return b, nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func appendText(b []byte, text string) []byte {
	return append(api.AppendMember(b, `{"type":"text","text":`, text), '}')
}

func appendThinking(b []byte, t llm.Thinking) []byte {
	if t.Redacted {
		return append(api.AppendMember(b, `{"type":"redacted_thinking","data":`, t.Signature), '}')
	}
	b = api.AppendMember(b, `{"type":"thinking","thinking":`, t.Text)
	return append(api.AppendMember(b, `,"signature":`, t.Signature), '}')
}

func appendCall(b []byte, call llm.ToolCall) []byte {
	b = api.AppendMember(b, `{"type":"tool_use","id":`, api.PlainID(call.ID, math.MaxInt))
	b = api.AppendMember(b, `,"name":`, api.CallName(call.Name))
	b = append(b, `,"input":`...)
	return append(api.AppendArgs(b, call.Args), '}')
}

// appendMedia writes an image or a document, also within a tool result.
func appendMedia(b []byte, m llm.Media) ([]byte, error) {
	image := slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, m.MIME)
	switch {
	case m.URL != "" && strings.HasPrefix(m.MIME, "image/"), image:
		b = append(b, `{"type":"image"`...)
	case m.MIME == "application/pdf", m.MIME == "text/plain" && m.URL == "":
		b = append(b, `{"type":"document"`...)
		if m.Name != "" {
			b = api.AppendMember(b, `,"title":`, m.Name)
		}
	default:
		return nil, llm.Errorf(llm.ErrUnsupported,
			"media of type %q: the Messages API takes jpeg, png, gif and webp images, pdf documents and plain text",
			m.MIME)
	}
	b = append(b, `,"source":{"type":`...)
	switch {
	case m.URL != "":
		b = api.AppendMember(b, `"url","url":`, m.URL)
	case m.MIME == "text/plain":
		b = api.AppendMember(b, `"text","media_type":"text/plain","data":`, string(m.Data))
	default:
		b = api.AppendMember(b, `"base64","media_type":`, m.MIME)
		b = append(b, `,"data":"`...)
		b = append(base64.StdEncoding.AppendEncode(b, m.Data), '"')
	}
	return append(b, `}}`...), nil
}
