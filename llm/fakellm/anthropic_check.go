package fakellm

import (
	"fmt"
	"slices"
	"strings"
)

var (
	anthropicName = pattern(`^[a-zA-Z0-9_-]{1,128}$`)
	anthropicID   = pattern(`^[a-zA-Z0-9_-]+$`)
)

// check refuses what the real API refuses, in its own words where they are known.
func (w *anthropicRequest) check(r *Request) *refusal {
	c := new(checker)
	c.refuse(w.Model == "", "model: Field required")
	c.refuse(w.MaxTokens <= 0, "max_tokens: Field required")
	c.refuse(len(w.Messages) == 0, "messages: at least one message is required")
	c.refuse(len(w.Messages) > 0 && w.Messages[0].Role != "user", `messages: first message must use the "user" role`)
	c.refuse(r.CacheMarks > 4, "A maximum of 4 blocks with cache_control may be provided. Found %d.", r.CacheMarks)
	for i, b := range w.System {
		c.at = fmt.Sprintf("system.%d: ", i)
		b.checkText(c)
	}
	c.at = ""
	for i, t := range w.Tools {
		if t.Type != "" && t.Type != "custom" { // a server tool
			continue
		}
		c.refuse(!anthropicName().MatchString(t.Name),
			"tools.%d.custom.name: String should match pattern '%s'", i, anthropicName())
		c.refuse(!isSchema(t.InputSchema), "tools.%d.custom.input_schema.type: Field required", i)
	}
	w.checkDeferred(c)
	w.checkThinking(c)
	if choice := w.ToolChoice; choice != nil {
		c.refuse(!slices.Contains([]string{"auto", "any", "tool", "none"}, choice.Type),
			"tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags", choice.Type)
	}
	w.checkMessages(c)
	w.checkSearches(c, r)
	return c.why
}

// checkDeferred refuses deferred tools that are marked or alone, and references to tools that the
// request does not have.
func (w *anthropicRequest) checkDeferred(c *checker) {
	names := map[string]bool{}
	deferred := 0
	for _, t := range w.Tools {
		names[t.Name] = true
		if !t.Deferred {
			continue
		}
		deferred++
		c.refuse(marked(t.raw),
			"Tool '%s' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use "+
				"prompt caching.", t.Name)
	}
	c.refuse(deferred > 0 && deferred == len(w.Tools), "At least one tool must have defer_loading=false.")
	for _, m := range w.Messages {
		for _, b := range m.Content {
			references := 0
			for _, inner := range b.inside {
				if inner.Type == "tool_reference" {
					references++
					c.refuse(!names[inner.ToolName], "Tool reference '%s' not found in available tools", inner.ToolName)
				}
			}
			c.refuse(references > 0 && references < len(b.inside),
				"Tool definitions/code execution functions cannot be mixed with other content")
		}
	}
}

func (w *anthropicRequest) checkThinking(c *checker) {
	t := w.Thinking
	if t == nil || t.Type == "disabled" {
		return
	}
	enabled := t.Type == "enabled"
	forced := w.ToolChoice != nil && (w.ToolChoice.Type == "any" || w.ToolChoice.Type == "tool")
	c.refuse(!enabled && t.Type != "adaptive",
		"thinking: Input tag '%s' found using 'type' does not match any of the expected tags", t.Type)
	c.refuse(enabled && t.Budget < 1024,
		"thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	c.refuse(enabled && t.Budget >= w.MaxTokens, "`max_tokens` must be greater than `thinking.budget_tokens`.")
	c.refuse(w.Temperature != nil && *w.Temperature != 1,
		"`temperature` may only be set to 1 when thinking is enabled.")
	c.refuse(forced, "Thinking may not be enabled when tool_choice forces tool use.")
}

// checkMessages pairs calls with results: each call's result must be in the next message, before
// anything else in it.
func (w *anthropicRequest) checkMessages(c *checker) {
	var open []string // calls of the previous message
	for i, m := range w.Messages {
		c.refuse(m.Role != "user" && m.Role != "assistant",
			`messages: Unexpected role "%s". Allowed roles are "user" or "assistant"`, m.Role)
		c.refuse(len(m.Content) == 0, "messages.%d: %s messages must have non-empty content", i, m.Role)
		var results, calls []string
		for j, b := range m.Content {
			c.at = fmt.Sprintf("messages.%d.content.%d.", i, j)
			b.check(c, m.Role)
			c.at = ""
			switch b.Type {
			case "tool_use":
				c.refuse(slices.Contains(calls, b.ID), "messages.%d.content.%d: `tool_use` ids must be unique", i, j)
				calls = append(calls, b.ID)
			case "tool_result":
				c.refuse(j != len(results), "messages.%d: `tool_result` blocks must come first in their message", i)
				c.refuse(!slices.Contains(open, b.ToolUseID),
					"messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each "+
						"`tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j,
					b.ToolUseID)
				results = append(results, b.ToolUseID)
			}
		}
		missing := slices.DeleteFunc(slices.Clone(open), func(id string) bool { return slices.Contains(results, id) })
		c.unpaired(len(missing) > 0 || len(results) > len(open), i-1, missing)
		open = calls
	}
	c.unpaired(len(open) > 0, len(w.Messages)-1, open)
}

func (c *checker) unpaired(fault bool, message int, ids []string) {
	c.refuse(fault,
		"messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` "+
			"block must have a corresponding `tool_result` block in the next message.", message,
		strings.Join(ids, ", "))
}

func (b anthropicBlock) checkText(c *checker) {
	c.refuse(b.Type == "text" && strings.TrimSpace(b.Text) == "",
		"text: text content blocks must contain non-whitespace text")
}

func (b anthropicBlock) check(c *checker, role string) {
	c.refuse(role == "user" && slices.Contains([]string{"tool_use", "thinking", "redacted_thinking"}, b.Type) ||
		role == "assistant" && slices.Contains([]string{"tool_result", "image", "document"}, b.Type),
		"%s: `%s` blocks are not allowed in a message of role `%s`", b.Type, b.Type, role)
	switch b.Type {
	case "text":
		b.checkText(c)
		b.checkCitations(c)
	case "web_search_tool_result":
		b.checkHits(c)
	case "thinking":
		c.refuse(b.Signature != sign(b.Thinking), "thinking: Invalid `signature` in `thinking` block")
		c.refuse(marked(b.raw), "thinking.cache_control: Extra inputs are not permitted")
	case "tool_use":
		c.refuse(!anthropicID().MatchString(b.ID), "tool_use.id: String should match pattern '%s'", anthropicID())
		c.refuse(!anthropicName().MatchString(b.Name),
			"tool_use.name: String should match pattern '%s'", anthropicName())
		c.refuse(!isObject(b.Input), "tool_use.input: Input should be a valid dictionary")
	case "tool_result":
		c.refuse(len(b.Content) > 0 && b.inside == nil, "tool_result.content: Input should be a valid list")
		for _, inner := range b.inside {
			inner.checkText(c)
		}
	case "image", "document":
		c.refuse(b.Source == nil || len(b.Source.Data) == 0 && b.Source.URL == "", "%s.source: Field required", b.Type)
		c.refuse(b.Source != nil && b.Source.Type == "base64" && !isBase64(b.Source.Data),
			"%s.source.base64: invalid base64 data", b.Type)
	case "":
		c.refuse(true, "type: Field required")
	}
}
