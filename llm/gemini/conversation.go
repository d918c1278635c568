package gemini

import (
	"encoding/json"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// conversation is the encoded form of a conversation. It only grows: bytes that an earlier request
// used never change.
type conversation struct {
	provider string
	model    family // of the models that it is encoded for
	searches bool   // the request has the web search
	system   []byte // the parts of the leading system messages

	// contents holds the wire's contents without the end of the last one: if the next message has
	// the same role, its parts join it. role is the last one's role, empty before the first. calls
	// counts its calls, and responses reports whether it has function responses.
	contents  []byte
	role      string
	calls     int
	responses bool

	// names has the functions of calls by their ids, because a response must repeat the name.
	names map[string]string
}

const (
	wireUser  = "user"
	wireModel = "model"
)

// noSignature is the dummy that Google documents for calls that no Gemini model made. Models from
// Gemini 3 on require a signature on the first call of a step ("Function call is missing a
// thought_signature in functionCall parts"). Earlier models do not know the dummy and get none.
const noSignature = "skip_thought_signature_validator"

// add encodes more messages. All between two responses become one user content with the function
// responses first: "the number of function response parts" must be "equal to the number of function
// call parts of the function call turn" before it.
func (c *conversation) add(messages []llm.Message) error {
	return api.Turns(messages, c.begun, c.addSystem, c.addModel, c.addUser)
}

func (c *conversation) begun() bool { return c.role != "" }

func (c *conversation) addSystem(m llm.Message) error {
	texts, err := api.OnlyTexts(m.Parts)
	for _, text := range texts {
		if len(c.system) > 0 {
			c.system = append(c.system, ',')
		}
		c.system = append(appendText(c.system, text), '}')
	}
	return err
}

// part begins a part of a role, in a new content if the role changes.
func (c *conversation) part(role string) {
	if c.role == role {
		c.contents = append(c.contents, ',')
		return
	}
	c.content(role)
}

// content begins a content and its first part.
func (c *conversation) content(role string) {
	if c.role != "" {
		c.contents = append(c.contents, `]},`...)
	}
	c.role, c.calls, c.responses = role, 0, false
	c.contents = append(append(append(c.contents, `{"role":"`...), role...), `","parts":[`...)
}

// addModel encodes a response. Parts keep the signatures of this provider that the present model
// understands. Other signatures are removed.
func (c *conversation) addModel(m llm.Message) error {
	own := m.Provider == c.provider
	signed := own && mayShare(familyOf(m.Model), c.model)
	signature := func(s string) string {
		if signed {
			return s
		}
		return ""
	}
	var whole map[string]bool
	if signed && c.searches {
		whole = wholeInvocations(m.Parts)
	}
	for _, part := range m.Parts {
		switch part := part.(type) {
		case llm.Text:
			c.addText(wireModel, part.Text, signature(part.Signature))
		case llm.Thinking:
			if signed { // the API accepts only its own thoughts
				c.addThought(part)
			}
		case llm.ToolCall:
			c.addCall(part, signature(part.Signature))
		case llm.Opaque:
			if id, _, ok := invocation(part.Data); ok && !whole[id] {
				continue
			}
			if err := c.addOpaque(wireModel, part); err != nil {
				return err
			}
		default:
			return llm.Errorf(llm.ErrInvalidRequest, "an assistant message cannot hold a part of type %T", part)
		}
	}
	return nil
}

// addText skips what has neither text nor a signature, because a part must have content.
func (c *conversation) addText(role, text, signature string) {
	if text == "" && signature == "" {
		return
	}
	c.part(role)
	c.contents = c.end(appendText(c.contents, text), signature)
}

func (c *conversation) addThought(t llm.Thinking) {
	if t.Text == "" && t.Signature == "" {
		return
	}
	c.part(wireModel)
	c.contents = c.end(append(appendText(c.contents, t.Text), `,"thought":true`...), t.Signature)
}

func (c *conversation) addCall(call llm.ToolCall, signature string) {
	c.part(wireModel)
	name := callName(call.Name)
	if name != call.Name {
		signature = "" // it is one of the call as it was
	}
	if signature == "" && c.calls == 0 && c.model == gemini3 {
		signature = noSignature
	}
	c.calls++
	c.names[call.ID] = name
	b := append(c.contents, `{"functionCall":{`...)
	b = appendID(b, call.ID)
	b = api.AppendMember(b, `"name":`, name)
	b = append(b, `,"args":`...)
	c.contents = c.end(append(api.AppendArgs(b, call.Args), '}'), signature)
}

// callName returns the name of a call as the API takes it: it "must start with a letter or an
// underscore".
func callName(name string) string {
	name = api.CallName(name)
	if first := name[0]; first == '-' || first >= '0' && first <= '9' {
		return "_" + name
	}
	return name
}

// end ends a part, with its signature.
func (c *conversation) end(b []byte, signature string) []byte {
	if signature != "" {
		b = api.AppendMember(b, `,"thoughtSignature":`, signature)
	}
	return append(b, '}')
}

func (c *conversation) addOpaque(role string, o llm.Opaque) error {
	if o.Provider != c.provider || o.Data == "" {
		return nil
	}
	if !json.Valid([]byte(o.Data)) {
		return llm.Errorf(llm.ErrInvalidRequest, "an opaque part is not valid JSON")
	}
	c.part(role)
	c.contents = append(c.contents, o.Data...)
	return nil
}

// appendText begins a part with text; the caller ends it.
func appendText(b []byte, text string) []byte {
	return api.AppendMember(b, `{"text":`, text)
}

// appendID writes the id that pairs a call with its response. Older models send no ids, but accept
// ours.
func appendID(b []byte, id string) []byte {
	if id == "" {
		return b
	}
	return append(api.AppendMember(b, `"id":`, id), ',')
}
