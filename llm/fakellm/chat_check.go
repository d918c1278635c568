package fakellm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

var chatName = pattern(`^[a-zA-Z0-9_-]{1,64}$`)

// check refuses what real servers refuse, in the words of one of them where they are known.
func (w *chatRequest) check() *refusal {
	c := new(checker)
	c.refuse(w.Model == "", "you must provide a model parameter")
	c.refuse(len(w.Messages) == 0, "[] is too short - 'messages'")
	c.refuse(w.MaxTokens != nil && w.MaxCompletionTokens != nil,
		"Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	c.refuse(w.MaxTokens != nil && *w.MaxTokens <= 0 || w.MaxCompletionTokens != nil && *w.MaxCompletionTokens <= 0,
		"max_tokens must be at least 1")
	c.refuse(w.Temperature != nil && (*w.Temperature < 0 || *w.Temperature > 2),
		"'temperature' must be between 0 and 2")
	c.refuse(w.StreamOptions != nil && !w.Stream,
		"The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	c.refuse(w.Parallel != nil && len(w.Tools) == 0,
		"'parallel_tool_calls' is only allowed when 'tools' are specified.")
	if w.Format != nil {
		w.Format.check(c)
	}
	for i, t := range w.Tools {
		p := t.Function.Parameters
		c.refuse(t.Type != "function", "Invalid value: '%s'. Supported values are: 'function'.", t.Type)
		c.refuse(!chatName().MatchString(t.Function.Name),
			"Invalid 'tools[%d].function.name': string does not match pattern '%s'.", i, chatName())
		c.refuse(len(p) > 0 && !isSchema(p),
			"Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"'.", t.Function.Name)
	}
	if len(w.ToolChoice) > 0 {
		w.checkChoice(c)
	}
	w.checkMessages(c)
	return c.why
}

func (f *chatFormat) check(c *checker) {
	schema := f.Type == "json_schema"
	c.refuse(!schema && f.Type != "text" && f.Type != "json_object",
		"Invalid value: '%s'. Supported values are: 'json_object', 'json_schema', and 'text'.", f.Type)
	c.refuse(schema && (f.Schema == nil || !isObject(f.Schema.Schema)),
		"Missing required parameter: 'response_format.json_schema.schema'.")
	c.refuse(schema && f.Schema != nil && !chatName().MatchString(f.Schema.Name),
		"Invalid 'response_format.json_schema.name': string does not match pattern '%s'.", chatName())
}

func (w *chatRequest) checkChoice(c *checker) {
	c.refuse(len(w.Tools) == 0, "'tool_choice' is only allowed when 'tools' are specified.")
	var mode string
	if json.Unmarshal(w.ToolChoice, &mode) == nil {
		c.refuse(!slices.Contains([]string{"none", "auto", "required"}, mode),
			"Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", mode)
		return
	}
	var named chatTool
	c.refuse(strict(w.ToolChoice, &named) != nil || named.Type != "function" ||
		!slices.ContainsFunc(w.Tools, func(t chatTool) bool { return t.Function.Name == named.Function.Name }),
		"Tool choice '%s' not found in 'tools' parameter.", named.Function.Name)
}

// checkMessages pairs calls with results: an assistant message's results must follow it directly.
func (w *chatRequest) checkMessages(c *checker) {
	var open []string
	for i, m := range w.Messages {
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			c.refuse(at < 0,
				"messages[%d]: messages with role 'tool' must be a response to a preceding message with 'tool_calls'; "+
					"there is none for '%s'.", i, m.ToolCallID)
			if at >= 0 {
				open = slices.Delete(open, at, at+1)
			}
		} else {
			c.unanswered(open)
		}
		c.at = fmt.Sprintf("messages[%d]", i)
		m.check(c)
		for j, call := range m.ToolCalls {
			c.at = fmt.Sprintf("messages[%d].tool_calls[%d]", i, j)
			call.check(c)
			c.refuse(slices.Contains(open, call.ID), ": duplicate id '%s'", call.ID)
			open = append(open, call.ID)
		}
		c.at = ""
	}
	c.unanswered(open)
}

// unanswered refuses calls without results.
func (c *checker) unanswered(ids []string) {
	c.refuse(len(ids) > 0,
		"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
			"The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", "))
}

func (m *chatMessage) check(c *checker) {
	switch m.Role {
	case "system", "developer", "user", "tool":
		c.refuse(m.Content == nil || len(*m.Content) == 0, ": content is required")
		c.refuse(len(m.ToolCalls) > 0 || m.ReasoningContent != "" || m.Reasoning != "" || len(m.ReasoningDetails) > 0,
			": only the assistant reasons and calls")
	case "assistant":
		c.refuse(len(m.ToolCalls) == 0 && (m.Content == nil || strings.TrimSpace(m.message("").Parts.Text()) == ""),
			": Assistant message must have either content or tool_calls, but not none.")
	default:
		c.refuse(true,
			": Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'developer' and 'tool'.",
			m.Role)
	}
	if m.Content == nil {
		return
	}
	for _, p := range *m.Content {
		p.check(c, m.Role)
	}
}

func (p chatPart) check(c *checker, role string) {
	allowed := map[string][]string{"user": {"text", "image_url", "input_audio", "file"},
		"assistant": {"text", "thinking"}}[role]
	c.refuse(p.Type != "text" && !slices.Contains(allowed, p.Type),
		".content: a part of type '%s' is not allowed in a message of role '%s'", p.Type, role)
	switch p.Type {
	case "image_url":
		c.refuse(p.Image == nil || p.Image.URL == "", ".content: image_url.url is required")
		if p.Image != nil && strings.HasPrefix(p.Image.URL, "data:") {
			_, _, ok := dataURL(p.Image.URL)
			c.refuse(!ok, ".content: Invalid base64 image_url.")
		}
	case "input_audio":
		c.refuse(p.Audio == nil || p.Audio.Format == "", ".content: input_audio.format is required")
		c.refuse(p.Audio != nil && (!isBase64(p.Audio.Data) || p.Audio.Data == ""),
			".content: input_audio.data is no base64")
	case "file":
		c.refuse(p.File == nil, ".content: file is required")
	}
}

func (call *chatCall) check(c *checker) {
	c.refuse(call.ID == "", ".id is required")
	c.refuse(call.Type != "function", ".type: invalid value '%s'", call.Type)
	c.refuse(!chatName().MatchString(call.Function.Name),
		".function.name: string does not match pattern '%s'", chatName())
	c.refuse(call.Function.Arguments == nil || !isObject(json.RawMessage(*call.Function.Arguments)),
		".function.arguments: must be a JSON object") // vLLM and Ollama parse them
}
