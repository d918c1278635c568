package api

import (
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

// Offered returns the tools that are not deferred.
func Offered(tools []llm.ToolDefinition) []llm.ToolDefinition {
	return slices.DeleteFunc(slices.Clone(tools), func(t llm.ToolDefinition) bool { return t.Deferred })
}

// Hosting returns a request without the tools that the vendor is to run, unless it hosts them for the
// model: the request itself if there are none.
func Hosting(req *llm.Request, hosts bool) *llm.Request {
	hosts = hosts && (req.Facts == nil || req.Facts.WebSearch > 0)
	left := func(t llm.ToolDefinition) bool { return t.Hosted != "" && (!hosts || t.Hosted != llm.HostedWebSearch) }
	if !slices.ContainsFunc(req.Tools, left) {
		return req
	}
	without := *req
	without.Tools = slices.DeleteFunc(slices.Clone(req.Tools), left)
	return &without
}

// SearchesWeb reports whether a request has a search of the web that the vendor runs.
func SearchesWeb(req *llm.Request) bool {
	return slices.ContainsFunc(req.Tools, func(t llm.ToolDefinition) bool { return t.Hosted == llm.HostedWebSearch })
}

// Turns hands the messages of a conversation to the functions of an encoder: the system messages
// that a new conversation begins with, responses, and all messages between two responses together.
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
