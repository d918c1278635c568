package fakellm

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// check refuses what the real API refuses, in its own words where they are known.
func (w *anthropicRequest) check(r *Request) *refusal {
	switch {
	case w.Model == "":
		return invalid("model: Field required")
	case w.MaxTokens <= 0:
		return invalid("max_tokens: Field required")
	case len(w.Messages) == 0:
		return invalid("messages: at least one message is required")
	case w.Messages[0].Role != "user":
		return invalid(`messages: first message must use the "user" role`)
	case r.CacheMarks > 4:
		return invalid("A maximum of 4 blocks with cache_control may be provided. Found %d.", r.CacheMarks)
	}
	for i, b := range w.System {
		if why := b.checkText(); why != nil {
			why.message = "system." + itoa(i) + ": " + why.message
			return why
		}
	}
	for i, t := range w.Tools {
		var schema struct{ Type string }
		if t.Type != "" && t.Type != "custom" { // a server tool
			continue
		}
		if !anthropicName().MatchString(t.Name) {
			return invalid("tools.%d.custom.name: String should match pattern '%s'", i, anthropicName())
		}
		if json.Unmarshal(t.InputSchema, &schema) != nil || schema.Type != "object" {
			return invalid("tools.%d.custom.input_schema.type: Field required", i)
		}
	}
	if why := w.checkDeferred(); why != nil {
		return why
	}
	if why := w.checkThinking(); why != nil {
		return why
	}
	if c := w.ToolChoice; c != nil && !slices.Contains([]string{"auto", "any", "tool", "none"}, c.Type) {
		return invalid("tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags", c.Type)
	}
	return w.checkMessages()
}

var (
	anthropicName = pattern(`^[a-zA-Z0-9_-]{1,128}$`)
	anthropicID   = pattern(`^[a-zA-Z0-9_-]+$`)
)

// checkDeferred refuses deferred tools that are marked or alone, and references to tools that the request does not have.
func (w *anthropicRequest) checkDeferred() *refusal {
	names := map[string]bool{}
	deferred := 0
	for _, t := range w.Tools {
		names[t.Name] = true
		if t.Deferred && marked(t.raw) {
			return invalid("Tool '%s' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.", t.Name)
		}
		if t.Deferred {
			deferred++
		}
	}
	if deferred > 0 && deferred == len(w.Tools) {
		return invalid("At least one tool must have defer_loading=false.")
	}
	for _, m := range w.Messages {
		for _, b := range m.Content {
			var content anthropicContent
			if b.Type != "tool_result" || json.Unmarshal(b.Content, &content) != nil {
				continue
			}
			references := 0
			for _, c := range content {
				if c.Type != "tool_reference" {
					continue
				}
				if references++; !names[c.ToolName] {
					return invalid("Tool reference '%s' not found in available tools", c.ToolName)
				}
			}
			if references > 0 && references < len(content) {
				return invalid("Tool definitions/code execution functions cannot be mixed with other content")
			}
		}
	}
	return nil
}

func (w *anthropicRequest) checkThinking() *refusal {
	t := w.Thinking
	if t == nil || t.Type == "disabled" {
		return nil
	}
	switch {
	case t.Type != "enabled" && t.Type != "adaptive":
		return invalid("thinking: Input tag '%s' found using 'type' does not match any of the expected tags", t.Type)
	case t.Type == "enabled" && t.Budget < 1024:
		return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case t.Type == "enabled" && t.Budget >= w.MaxTokens:
		return invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")
	case w.Temperature != nil && *w.Temperature != 1:
		return invalid("`temperature` may only be set to 1 when thinking is enabled.")
	case w.ToolChoice != nil && (w.ToolChoice.Type == "any" || w.ToolChoice.Type == "tool"):
		return invalid("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

// checkMessages pairs calls with results: each call's result must be in the next message, before anything else in it.
func (w *anthropicRequest) checkMessages() *refusal {
	var open []string // calls of the previous message
	for i, m := range w.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return invalid(`messages: Unexpected role "%s". Allowed roles are "user" or "assistant"`, m.Role)
		}
		if len(m.Content) == 0 {
			return invalid("messages.%d: %s messages must have non-empty content", i, m.Role)
		}
		var results, calls []string
		for j, b := range m.Content {
			if why := b.check(m.Role); why != nil {
				why.message = "messages." + itoa(i) + ".content." + itoa(j) + "." + why.message
				return why
			}
			switch b.Type {
			case "tool_use":
				if slices.Contains(calls, b.ID) {
					return invalid("messages.%d.content.%d: `tool_use` ids must be unique", i, j)
				}
				calls = append(calls, b.ID)
			case "tool_result":
				if j != len(results) {
					return invalid("messages.%d: `tool_result` blocks must come first in their message", i)
				}
				if !slices.Contains(open, b.ToolUseID) {
					return invalid("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each "+
						"`tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, b.ToolUseID)
				}
				results = append(results, b.ToolUseID)
			}
		}
		var missing []string
		for _, id := range open {
			if !slices.Contains(results, id) {
				missing = append(missing, id)
			}
		}
		if len(missing) > 0 || len(results) > len(open) {
			return unpaired(i-1, missing)
		}
		open = calls
	}
	if len(open) > 0 {
		return unpaired(len(w.Messages)-1, open)
	}
	return nil
}

func unpaired(message int, ids []string) *refusal {
	return invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` "+
		"block must have a corresponding `tool_result` block in the next message.", message, strings.Join(ids, ", "))
}

func (b anthropicBlock) checkText() *refusal {
	if b.Type == "text" && strings.TrimSpace(b.Text) == "" {
		return invalid("text: text content blocks must contain non-whitespace text")
	}
	return nil
}

func (b anthropicBlock) check(role string) *refusal {
	if role == "user" && slices.Contains([]string{"tool_use", "thinking", "redacted_thinking"}, b.Type) ||
		role == "assistant" && slices.Contains([]string{"tool_result", "image", "document"}, b.Type) {
		return invalid("%s: `%s` blocks are not allowed in a message of role `%s`", b.Type, b.Type, role)
	}
	switch b.Type {
	case "text":
		return b.checkText()
	case "thinking":
		if b.Signature != sign(b.Thinking) {
			return invalid("thinking: Invalid `signature` in `thinking` block")
		}
		if b.marked() {
			return invalid("thinking.cache_control: Extra inputs are not permitted")
		}
	case "tool_use":
		var input map[string]json.RawMessage
		switch {
		case !anthropicID().MatchString(b.ID):
			return invalid("tool_use.id: String should match pattern '%s'", anthropicID())
		case !anthropicName().MatchString(b.Name):
			return invalid("tool_use.name: String should match pattern '%s'", anthropicName())
		case json.Unmarshal(b.Input, &input) != nil || input == nil:
			return invalid("tool_use.input: Input should be a valid dictionary")
		}
	case "tool_result":
		var content anthropicContent
		if len(b.Content) > 0 && json.Unmarshal(b.Content, &content) != nil {
			return invalid("tool_result.content: Input should be a valid list")
		}
		for _, c := range content {
			if why := c.checkText(); why != nil {
				return why
			}
		}
	case "image", "document":
		if b.Source == nil || len(b.Source.Data) == 0 && b.Source.URL == "" {
			return invalid("%s.source: Field required", b.Type)
		}
		if _, err := base64.StdEncoding.DecodeString(b.Source.Data); err != nil && b.Source.Type == "base64" {
			return invalid("%s.source.base64: invalid base64 data", b.Type)
		}
	case "":
		return invalid("type: Field required")
	}
	return nil
}
