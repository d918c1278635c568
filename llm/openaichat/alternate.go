package openaichat

import (
	"slices"

	"github.com/attractor-go/attractor/llm"
)

// The texts that are put between two messages of one role, of which the first was sent before. A
// model would take neither for an answer.
const (
	noAnswer   = "(no answer)"
	noQuestion = "(go on)"
)

// alternate prepares for a message of a role, for servers where the user and the assistant take
// turns. If the last message has the same role, a message of the other role is put between: a
// message that was sent must not change.
func (c *conversation) alternate(role string) {
	if c.o.alternates && c.lastRole == role {
		other, text := string(llm.RoleUser), noQuestion
		if role == other {
			other, text = string(llm.RoleAssistant), noAnswer
		}
		c.open(other)
		c.messages = append(append(append(c.messages, '"'), text...), `"}`...)
	}
	c.lastRole = role
}

// joined returns new messages in which texts of the user that follow each other are one message,
// and texts that follow results stand in the last result. The messages themselves do not change.
func joined(messages []llm.Message) []llm.Message {
	var all []llm.Message
	for _, m := range messages {
		last := len(all) - 1
		switch {
		case m.Role != llm.RoleUser || last < 0:
			all = append(all, m)
		case all[last].Role == llm.RoleUser:
			all[last].Parts = slices.Concat(all[last].Parts, m.Parts)
		case all[last].Role == llm.RoleTool && len(all[last].Parts) > 0:
			if _, err := textOnly(m.Parts); err != nil {
				all = append(all, m) // it has media
				continue
			}
			parts := slices.Clone(all[last].Parts)
			if r, ok := parts[len(parts)-1].(llm.ToolResult); ok {
				r.Content = slices.Concat(r.Content, m.Parts)
				parts[len(parts)-1] = r
			}
			all[last].Parts = parts
		default:
			all = append(all, m)
		}
	}
	return all
}
