package fakellm

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

var chatName = pattern(`^[a-zA-Z0-9_-]{1,64}$`)

// check refuses what real servers refuse, in the words of one of them where they are known.
func (w *chatRequest) check() *refusal {
	switch {
	case w.Model == "":
		return invalid("you must provide a model parameter")
	case len(w.Messages) == 0:
		return invalid("[] is too short - 'messages'")
	case w.MaxTokens != nil && w.MaxCompletionTokens != nil:
		return invalid("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case w.MaxTokens != nil && *w.MaxTokens <= 0, w.MaxCompletionTokens != nil && *w.MaxCompletionTokens <= 0:
		return invalid("max_tokens must be at least 1")
	case w.Temperature != nil && (*w.Temperature < 0 || *w.Temperature > 2):
		return invalid("'temperature' must be between 0 and 2")
	case w.StreamOptions != nil && !w.Stream:
		return invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case w.Parallel != nil && len(w.Tools) == 0:
		return invalid("'parallel_tool_calls' is only allowed when 'tools' are specified.")
	}
	for _, check := range []func() *refusal{w.checkFormat, w.checkTools, w.checkChoice, w.checkMessages} {
		if why := check(); why != nil {
			return why
		}
	}
	return nil
}

func (w *chatRequest) checkFormat() *refusal {
	f := w.Format
	switch {
	case f == nil || f.Type == "text" || f.Type == "json_object":
		return nil
	case f.Type != "json_schema":
		return invalid("Invalid value: '%s'. Supported values are: 'json_object', 'json_schema', and 'text'.", f.Type)
	case f.Schema == nil || !isObject(f.Schema.Schema):
		return invalid("Missing required parameter: 'response_format.json_schema.schema'.")
	case !chatName().MatchString(f.Schema.Name):
		return invalid("Invalid 'response_format.json_schema.name': string does not match pattern '%s'.", chatName())
	}
	return nil
}

func isObject(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(raw, &members) == nil && members != nil
}

func (w *chatRequest) checkTools() *refusal {
	for i, t := range w.Tools {
		var schema struct{ Type string }
		switch p := t.Function.Parameters; {
		case t.Type != "function":
			return invalid("Invalid value: '%s'. Supported values are: 'function'.", t.Type)
		case !chatName().MatchString(t.Function.Name):
			return invalid("Invalid 'tools[%d].function.name': string does not match pattern '%s'.", i, chatName())
		case len(p) > 0 && (json.Unmarshal(p, &schema) != nil || schema.Type != "object"):
			return invalid("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"'.", t.Function.Name)
		}
	}
	return nil
}

func (w *chatRequest) checkChoice() *refusal {
	if len(w.ToolChoice) == 0 {
		return nil
	}
	if len(w.Tools) == 0 {
		return invalid("'tool_choice' is only allowed when 'tools' are specified.")
	}
	var mode string
	if json.Unmarshal(w.ToolChoice, &mode) == nil {
		if !slices.Contains([]string{"none", "auto", "required"}, mode) {
			return invalid("Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", mode)
		}
		return nil
	}
	var named chatTool
	if strict(w.ToolChoice, &named) != nil || named.Type != "function" ||
		!slices.ContainsFunc(w.Tools, func(t chatTool) bool { return t.Function.Name == named.Function.Name }) {
		return invalid("Tool choice '%s' not found in 'tools' parameter.", named.Function.Name)
	}
	return nil
}

// checkMessages pairs calls with results: an assistant message's results must follow it directly.
func (w *chatRequest) checkMessages() *refusal {
	var open []string
	for i, m := range w.Messages {
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return invalid("messages[%d]: messages with role 'tool' must be a response to a preceding message with 'tool_calls'; "+
					"there is none for '%s'.", i, m.ToolCallID)
			}
			open = slices.Delete(open, at, at+1)
		} else if len(open) > 0 {
			return unanswered(open)
		}
		if why := m.check(i); why != nil {
			return why
		}
		for j, c := range m.ToolCalls {
			if why := c.check(); why != nil {
				why.message = "messages[" + itoa(i) + "].tool_calls[" + itoa(j) + "]" + why.message
				return why
			}
			if slices.Contains(open, c.ID) {
				return invalid("messages[%d].tool_calls[%d]: duplicate id '%s'", i, j, c.ID)
			}
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	return nil
}

func unanswered(ids []string) *refusal {
	return invalid("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
		"The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", "))
}

func (m *chatMessage) check(i int) *refusal {
	switch m.Role {
	case "system", "developer", "user", "tool":
		if m.Content == nil || len(*m.Content) == 0 {
			return invalid("messages[%d]: content is required", i)
		}
		if len(m.ToolCalls) > 0 || m.ReasoningContent != "" || m.Reasoning != "" || len(m.ReasoningDetails) > 0 {
			return invalid("messages[%d]: only the assistant reasons and calls", i)
		}
	case "assistant":
		if len(m.ToolCalls) == 0 && (m.Content == nil || strings.TrimSpace(m.message("").Parts.Text()) == "") {
			return invalid("messages[%d]: Assistant message must have either content or tool_calls, but not none.", i)
		}
	default:
		return invalid("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'developer' and 'tool'.", m.Role)
	}
	if m.Content == nil {
		return nil
	}
	for _, p := range *m.Content {
		if why := p.check(m.Role); why != nil {
			why.message = "messages[" + itoa(i) + "].content: " + why.message
			return why
		}
	}
	return nil
}

func (p chatPart) check(role string) *refusal {
	allowed := map[string][]string{"user": {"text", "image_url", "input_audio", "file"}, "assistant": {"text", "thinking"}}[role]
	if p.Type != "text" && !slices.Contains(allowed, p.Type) {
		return invalid("a part of type '%s' is not allowed in a message of role '%s'", p.Type, role)
	}
	switch p.Type {
	case "image_url":
		if p.Image == nil || p.Image.URL == "" {
			return invalid("image_url.url is required")
		}
		if _, _, ok := dataURL(p.Image.URL); strings.HasPrefix(p.Image.URL, "data:") && !ok {
			return invalid("Invalid base64 image_url.")
		}
	case "input_audio":
		if p.Audio == nil || p.Audio.Format == "" {
			return invalid("input_audio.format is required")
		}
		if _, err := base64.StdEncoding.DecodeString(p.Audio.Data); err != nil || p.Audio.Data == "" {
			return invalid("input_audio.data is no base64")
		}
	case "file":
		if p.File == nil {
			return invalid("file is required")
		}
	}
	return nil
}

func (c *chatCall) check() *refusal {
	switch {
	case c.ID == "":
		return invalid(".id is required")
	case c.Type != "function":
		return invalid(".type: invalid value '%s'", c.Type)
	case !chatName().MatchString(c.Function.Name):
		return invalid(".function.name: string does not match pattern '%s'", chatName())
	case c.Function.Arguments == nil || !isObject(json.RawMessage(*c.Function.Arguments)):
		return invalid(".function.arguments: must be a JSON object") // vLLM and Ollama parse them
	}
	return nil
}
