package conversation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/picture"
	"github.com/attractor-go/attractor/llm"
)

// Problem returns what is wrong with messages that cannot begin a conversation, empty if they
// can. It names the first wrong message and what to do.
func Problem(messages []llm.Message) string {
	for i := range messages {
		problem := checkMessage(&messages[i])
		if problem == "" {
			problem = checkPlace(messages, i)
		}
		if problem != "" {
			return fmt.Sprintf("History[%d]: %s", i, problem)
		}
	}
	if len(messages) == 0 {
		return "History: there are no messages"
	}
	last := len(messages) - 1
	if calls := messages[last].Parts.ToolCalls(); len(calls) > 0 {
		return fmt.Sprintf("History[%d]: the call %q has no result: add a message of the role tool with the results "+
			"of its calls, or leave the calls out", last, calls[0].ID)
	}
	return ""
}

// checkMessage returns what is wrong with a message by itself, empty if nothing is.
func checkMessage(m *llm.Message) string {
	switch m.Role {
	case llm.RoleUser, llm.RoleAssistant, llm.RoleTool:
	case llm.RoleSystem, llm.RoleDeveloper:
		return fmt.Sprintf("it has the role %s: put it into Options.System or Options.Instructions", m.Role)
	default:
		return fmt.Sprintf("it has the unknown role %q: the roles of a history are user, assistant and tool", m.Role)
	}
	if !slices.ContainsFunc(m.Parts, says) {
		return "it is empty: leave it out"
	}
	ids := map[string]bool{}
	for i, part := range m.Parts {
		if !belongs(m.Role, part) {
			return fmt.Sprintf("part %d is a %T, which a message of the role %s cannot have", i, part, m.Role)
		}
		if call, ok := part.(llm.ToolCall); ok {
			if call.ID == "" || ids[call.ID] {
				return fmt.Sprintf("its call of %s has the id %q: give each call of a message an id of its own",
					call.Name, call.ID)
			}
			ids[call.ID] = true
		}
	}
	return ""
}

// says reports whether a part is more than blank text.
func says(part llm.Part) bool {
	text, ok := part.(llm.Text)
	return !ok || strings.TrimSpace(text.Text) != ""
}

// belongs reports whether a message of a role may have a part.
func belongs(role llm.Role, part llm.Part) bool {
	switch p := part.(type) {
	case llm.Text:
		return role != llm.RoleTool
	case llm.Media:
		return role == llm.RoleUser
	case llm.Thinking, llm.ToolCall, llm.Opaque:
		return role == llm.RoleAssistant
	case llm.ToolResult:
		return role == llm.RoleTool && !slices.ContainsFunc(p.Content,
			func(c llm.Part) bool { return !belongsInResult(c) })
	}
	return false
}

// belongsInResult reports whether a result may have a part.
func belongsInResult(part llm.Part) bool {
	_, reference := part.(llm.ToolReference)
	return reference || belongs(llm.RoleUser, part)
}

// checkPlace returns an error for a message that cannot follow those before it.
func checkPlace(messages []llm.Message, i int) string {
	m := &messages[i]
	if i == 0 {
		if m.Role != llm.RoleUser {
			return fmt.Sprintf("a history begins with a message of the role user, not %s: put the message before it "+
				"that it answers", m.Role)
		}
		return ""
	}
	before := &messages[i-1]
	calls := before.Parts.ToolCalls()
	switch {
	case m.Role == llm.RoleTool:
		return checkResults(calls, m, i-1)
	case len(calls) > 0:
		return fmt.Sprintf("the call %q of History[%d] has no result: put a message of the role tool with the "+
			"results of its calls before this one", calls[0].ID, i-1)
	case m.Role == llm.RoleAssistant && before.Role == llm.RoleAssistant:
		return fmt.Sprintf("it has the role assistant, as History[%d] does: join the parts of both into one message",
			i-1)
	}
	return ""
}

// checkResults returns an error if a message does not have exactly the results of the calls before
// it.
func checkResults(calls []llm.ToolCall, m *llm.Message, before int) string {
	for _, part := range m.Parts {
		result, ok := part.(llm.ToolResult)
		if !ok {
			continue // belongs has reported it
		}
		at := slices.IndexFunc(calls, func(c llm.ToolCall) bool { return c.ID == result.CallID })
		if at < 0 {
			return fmt.Sprintf("the result of %q answers no open call of History[%d]: leave it out", result.CallID,
				before)
		}
		calls = slices.Delete(calls, at, at+1)
	}
	if len(calls) > 0 {
		return fmt.Sprintf("the call %q of History[%d] has no result in it: put the results of all its calls into "+
			"this message", calls[0].ID, before)
	}
	return ""
}

// WithPictures returns messages with images as every vendor takes them.
func WithPictures(messages []llm.Message) []llm.Message {
	messages = slices.Clone(messages)
	for i := range messages {
		parts := picture.Parts(messages[i].Parts)
		for k, part := range parts {
			if r, ok := part.(llm.ToolResult); ok {
				r.Content = picture.Parts(r.Content)
				parts[k] = r
			}
		}
		messages[i].Parts = parts
	}
	return messages
}

// WithoutData returns parts whose media have no data.
func WithoutData(parts llm.Parts) llm.Parts {
	parts = slices.Clone(parts)
	for i, part := range parts {
		switch p := part.(type) {
		case llm.Media:
			p.Data = nil
			parts[i] = p
		case llm.ToolResult:
			p.Content = WithoutData(p.Content)
			parts[i] = p
		}
	}
	return parts
}
