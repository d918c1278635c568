package openaichat

import (
	"slices"

	"github.com/attractor-go/attractor/llm"
)

// What stands between two messages of one role, of which the first was sent before. It says nothing
// that a model would take for an answer.
const (
	noAnswer   = "(no answer)"
	noQuestion = "(go on)"
)

// turn makes that a message of a role may follow, for servers where the user and the assistant take
// turns. A message that was sent stays as it was, so another one comes between.
func (c *conversation) turn(role string) {
	if c.o.alternates && c.plain == role {
		other, text := string(llm.RoleUser), noQuestion
		if role == other {
			other, text = string(llm.RoleAssistant), noAnswer
		}
		c.open(other)
		c.messages = append(append(append(c.messages, '"'), text...), `"}`...)
	}
	c.plain = role
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
