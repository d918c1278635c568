package openaichat

import (
	"encoding/json"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// assistantParts holds an assistant message by kind of part, because the API has a member for each.
type assistantParts struct {
	text     string
	calls    []llm.ToolCall
	thinking map[string]string // by member
	details  json.RawMessage
}

func (c *conversation) parts(m llm.Message) (assistantParts, error) {
	s := assistantParts{text: m.Parts.Text(), thinking: map[string]string{}}
	own := m.Provider == c.o.provider && !c.o.noReasoning
	for _, part := range m.Parts {
		switch part := part.(type) {
		case llm.Text: // in s.text
		case llm.ToolCall:
			s.calls = append(s.calls, part)
		case llm.Thinking:
			if own && part.ID != "" {
				s.thinking[part.ID] += part.Text
			}
		case llm.Opaque:
			var o opaqueDetails
			if !own || part.Provider != c.o.provider || part.Data == "" {
				continue
			}
			if err := json.Unmarshal([]byte(part.Data), &o); err != nil {
				return s, llm.Errorf(llm.ErrInvalidRequest, "an opaque part is not from this provider: %v", err)
			}
			s.details = o.Details
		default:
			return s, llm.Errorf(llm.ErrInvalidRequest, "an assistant message cannot hold a part of type %T", part)
		}
	}
	return s, nil
}

// assistant encodes an assistant message. It skips a message with neither text nor calls, because
// servers refuse it.
func (c *conversation) assistant(m llm.Message) error {
	s, err := c.parts(m)
	if err != nil {
		return err
	}
	if blank(s.text) && len(s.calls) == 0 {
		return nil
	}
	if len(s.calls) == 0 {
		c.alternate(string(llm.RoleAssistant))
	}
	c.open(string(llm.RoleAssistant))
	if len(s.calls) == 0 {
		c.messages = append(api.AppendString(c.messages, s.text), '}')
		return nil
	}
	b := s.appendContent(c.messages)
	begin := len(b)
	if b = s.appendReasoning(b); len(b) == begin && c.o.reasons {
		b = append(b, `,"`+memberReasoningContent+`":""`...)
	}
	for i, call := range s.calls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		if b, err = appendCall(b, c.withPlainID(call, m.Provider), m.Provider == c.o.provider); err != nil {
			return err
		}
	}
	c.messages = append(b, `]}`...)
	return nil
}

// longestID is the longest id of a call that servers take, in bytes.
const longestID = 64

// withPlainID returns a call with an id that the server accepts. Its own ids stay, because some of
// them have a meaning for it.
func (c *conversation) withPlainID(call llm.ToolCall, author string) llm.ToolCall {
	if author == c.o.provider {
		return call
	}
	id := api.PlainID(call.ID, longestID)
	if c.o.callIDLength > 0 {
		id = api.ShortID(call.ID, c.o.callIDLength)
	}
	if id != call.ID {
		c.ids[call.ID], call.ID = id, id
	}
	return call
}

// appendContent writes the text, and Mistral's thinking, which is part of the content.
func (s *assistantParts) appendContent(b []byte) []byte {
	thinking := s.thinking[memberContent]
	switch {
	case thinking != "":
		b = append(b, `[{"type":"thinking","thinking":[`...)
		b = append(appendText(b, thinking), `]}`...)
		if s.text != "" {
			b = appendText(append(b, ','), s.text)
		}
		return append(b, ']')
	case s.text == "":
		return append(b, `null`...)
	}
	return api.AppendString(b, s.text)
}

// appendReasoning writes the other members with reasoning. Signed details include the text.
func (s *assistantParts) appendReasoning(b []byte) []byte {
	if len(s.details) > 0 {
		b = append(b, `,"reasoning_details":`...)
		return append(b, s.details...)
	}
	for _, member := range []string{memberReasoningContent, memberReasoning} {
		if text := s.thinking[member]; text != "" {
			b = append(append(append(b, `,"`...), member...), `":`...)
			b = api.AppendString(b, text)
		}
	}
	if text := s.thinking[memberDetails]; text != "" {
		b = append(b, `,"reasoning_details":[`...)
		b = append(appendDetail(b, wireDetail{Type: "reasoning.text"}, text), ']')
	}
	return b
}

func appendCall(b []byte, call llm.ToolCall, own bool) ([]byte, error) {
	b = api.AppendMember(b, `{"id":`, call.ID)
	b = api.AppendMember(b, `,"type":"function","function":{"name":`, api.CallName(call.Name))
	args := call.Args
	if call.Free {
		args = wrap(args)
	}
	// The format has a string here, but vLLM, Ollama and others parse it for the chat template, so
	// it must contain an object.
	b = append(api.AppendMember(b, `,"arguments":`, string(api.AppendArgs(nil, args))), '}')
	if own && call.Signature != "" {
		if !json.Valid([]byte(call.Signature)) {
			return nil, llm.Errorf(llm.ErrInvalidRequest, "the signature of call %s is not from this provider", call.ID)
		}
		b = append(b, `,"extra_content":`...)
		b = append(b, call.Signature...)
	}
	return append(b, '}'), nil
}
