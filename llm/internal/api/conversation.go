package api

import (
	"encoding/json"
	"slices"

	"github.com/attractor-go/attractor/llm"
)

// Tools encodes a list of tools, with commas between them. Encode appends one.
func Tools(tools []llm.ToolDefinition, encode func(b []byte, def *llm.ToolDefinition) ([]byte, error)) ([]byte, error) {
	var b []byte
	for i := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = encode(b, &tools[i]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// AppendTool appends before, which is JSON up to the name of a tool, the name, and the description
// if there is one.
func AppendTool(b []byte, before string, def *llm.ToolDefinition) []byte {
	b = AppendMember(b, before, def.Name)
	if def.Description != "" {
		b = AppendMember(b, `,"description":`, def.Description)
	}
	return b
}

// Parameters returns the schema of a tool's parameters, or none if it has no parameters. A schema
// that is not JSON is an [llm.ErrInvalidRequest].
func Parameters(def *llm.ToolDefinition, none string) (string, error) {
	if len(def.Parameters) == 0 {
		return none, nil
	}
	if !json.Valid(def.Parameters) {
		return "", llm.Errorf(llm.ErrInvalidRequest, "tool %q: its parameters are not valid JSON", def.Name)
	}
	return string(def.Parameters), nil
}

// OnlyTexts returns the texts of a content without the empty ones. Any other part is an
// [llm.ErrUnsupported], which is worded for a system message.
func OnlyTexts(parts llm.Parts) (texts []string, err error) {
	for _, part := range parts {
		t, ok := part.(llm.Text)
		if !ok {
			return nil, llm.Errorf(llm.ErrUnsupported, "a system message can only contain text, not a part of type %T",
				part)
		}
		if t.Text != "" {
			texts = append(texts, t.Text)
		}
	}
	return texts, nil
}

// Encoded returns the encoded conversation of a request. It continues the one in the request's
// memo, if that was encoded with the same key, or one that begin returns; add encodes more
// messages. The key names everything besides the messages that the encoding depends on. Later calls
// append to the slices of what was returned, but do not change their bytes.
func Encoded[C any](req *llm.Request, key string, begin func() *C, add func(*C, []llm.Message) error) (c C, err error) {
	err = req.Memo.Encode(key, req.Messages, func(state any, from int) (any, error) {
		kept, ok := state.(*C)
		if !ok {
			kept, from = begin(), 0
		}
		if err := add(kept, req.Messages[from:]); err != nil {
			return nil, err
		}
		c = *kept
		return kept, nil
	})
	return c, err
}

// Offered returns the tools that are not deferred.
func Offered(tools []llm.ToolDefinition) []llm.ToolDefinition {
	return slices.DeleteFunc(slices.Clone(tools), func(t llm.ToolDefinition) bool { return t.Deferred })
}

// DropHosted returns a request without the tools that its vendor would have to run and does not
// have. hosts reports whether the vendor has a web search. It returns req itself if there are none.
func DropHosted(req *llm.Request, hosts bool) *llm.Request {
	hosts = hosts && (req.Facts == nil || req.Facts.WebSearch > 0)
	left := func(t llm.ToolDefinition) bool { return t.Hosted != "" && (!hosts || t.Hosted != llm.HostedWebSearch) }
	if !slices.ContainsFunc(req.Tools, left) {
		return req
	}
	without := *req
	without.Tools = slices.DeleteFunc(slices.Clone(req.Tools), left)
	return &without
}

// SearchesWeb reports whether a request has a web search that the vendor runs.
func SearchesWeb(req *llm.Request) bool {
	return slices.ContainsFunc(req.Tools, func(t llm.ToolDefinition) bool { return t.Hosted == llm.HostedWebSearch })
}

// Turns calls an encoder's functions with the messages of a conversation: with each system message
// at the start of a new conversation, with each response, and with all messages between two
// responses together.
func Turns(messages []llm.Message, begun func() bool, system, assistant func(llm.Message) error,
	user func([]llm.Message) error) error {
	isResponse := func(m llm.Message) bool { return m.Role == llm.RoleAssistant }
	for len(messages) > 0 {
		m := messages[0]
		n := 1
		var err error
		switch {
		case !begun() && (m.Role == llm.RoleSystem || m.Role == llm.RoleDeveloper):
			err = system(m)
		case isResponse(m):
			err = assistant(m)
		default:
			if n = slices.IndexFunc(messages, isResponse); n < 0 {
				n = len(messages)
			}
			err = user(messages[:n])
		}
		if err != nil {
			return err
		}
		messages = messages[n:]
	}
	return nil
}

// Loads reports whether the model of a request is known to load tools.
func Loads(req *llm.Request) bool { return req.Facts != nil && req.Facts.LoadsTools }
