package fakellm

import (
	"encoding/base64"
	"encoding/json"
	"slices"
)

var (
	geminiName  = pattern(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)
	geminiOld   = pattern(`^gemini-[012](\.|-|$)`)                     // without thinking levels, and lenient about signatures
	geminiNew   = pattern(`^gemini-([3-9]|[1-9][0-9]|[a-z-]*latest$)`) // strict about signatures
	geminiNoSig = []string{"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}
)

// check refuses what the real API refuses, in its own words where they are known.
func (w *geminiRequest) check(model string) *refusal {
	switch {
	case len(w.Contents) == 0:
		return badArgument("* GenerateContentRequest.contents: contents is not specified")
	case w.Contents[0].Role != "user":
		return badArgument("Please ensure that multiturn requests begin with a user turn.")
	case w.CachedContent != "" && (w.SystemInstruction != nil || len(w.Tools) > 0 || w.ToolConfig != nil):
		return badArgument("CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config. " +
			"Proposed fix: move those values to CachedContent from GenerateContent request.")
	}
	if why := w.checkTools(); why != nil {
		return why
	}
	if why := w.Config.check(model); why != nil {
		return why
	}
	for i, c := range w.Contents {
		if why := c.check(i, model); why != nil {
			return why
		}
	}
	if why := w.checkCalls(); why != nil {
		return why
	}
	if geminiNew().MatchString(model) {
		return w.checkSignatures()
	}
	return nil
}

func (w *geminiRequest) checkTools() *refusal {
	var names []string
	for i, t := range w.Tools {
		for j, fn := range t.Functions {
			if !geminiName().MatchString(fn.Name) {
				return badArgument("* GenerateContentRequest.tools[%d].function_declarations[%d].name: Invalid function name. Must start with "+
					"a letter or an underscore.", i, j)
			}
			if slices.Contains(names, fn.Name) {
				return badArgument("Duplicate function declaration found: %s", fn.Name)
			}
			var schema struct{ Type string }
			if len(fn.Schema) > 0 && (json.Unmarshal(fn.Schema, &schema) != nil || schema.Type != "object") {
				return badArgument("* GenerateContentRequest.tools[%d].function_declarations[%d].parameters_json_schema: schema should be of type "+
					"object", i, j)
			}
			names = append(names, fn.Name)
		}
	}
	if w.ToolConfig == nil {
		return nil
	}
	c := w.ToolConfig.Calling
	if !slices.Contains([]string{"AUTO", "ANY", "NONE", "VALIDATED"}, c.Mode) {
		return badArgument(`Invalid value at 'tool_config.function_calling_config.mode', "%s"`, c.Mode)
	}
	for _, name := range c.Allowed {
		if c.Mode != "ANY" && c.Mode != "VALIDATED" || !slices.Contains(names, name) {
			return badArgument("Please provide a valid function name in allowed_function_names: %s", name)
		}
	}
	return nil
}

func (c *geminiConfig) check(model string) *refusal {
	if c.MaxOutputTokens < 0 {
		return badArgument("Unable to submit request because it has a maxOutputTokens value of %d.", c.MaxOutputTokens)
	}
	if len(c.ResponseJSONSchema) > 0 && c.ResponseMIME != "application/json" {
		return badArgument("response_json_schema requires a response_mime_type of application/json")
	}
	t := c.Thinking
	switch {
	case t == nil:
	case t.Level != "" && t.Budget != nil:
		return badArgument("You can only set only one of thinking budget and thinking level.")
	case t.Level != "" && geminiOld().MatchString(model):
		return badArgument("Thinking level is not supported for this model.")
	case t.Level != "" && !slices.Contains([]string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}, t.Level):
		return badArgument(`Invalid value at 'generation_config.thinking_config.thinking_level', "%s"`, t.Level)
	case t.Budget != nil && (*t.Budget < -1 || *t.Budget > 32768):
		return badArgument("The thinking budget %d is invalid. Please choose a value between 128 and 32768.", *t.Budget)
	}
	return nil
}

func (c geminiContent) check(i int, model string) *refusal {
	if c.Role != "user" && c.Role != "model" {
		return badArgument("Please use a valid role: user, model.")
	}
	if len(c.Parts) == 0 {
		return badArgument("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)
	}
	responses, media := false, false
	for j, p := range c.Parts {
		if why := p.check(i, j, c.Role, model); why != nil {
			return why
		}
		responses = responses || p.FunctionResponse != nil
		media = media || p.InlineData != nil || p.FileData != nil
	}
	if responses && media {
		return badArgument("Request contains an invalid argument.") // the whole text of the real API
	}
	return nil
}

func (p geminiPart) check(i, j int, role, model string) *refusal {
	kinds := 0
	for _, there := range []bool{p.Text != nil, p.FunctionCall != nil, p.FunctionResponse != nil, p.InlineData != nil, p.FileData != nil,
		len(p.Executable) > 0, len(p.Executed) > 0} {
		if there {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return badArgument("* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field", i, j)
	case p.Text != nil && *p.Text == "" && p.Signature == "":
		return badArgument("Unable to submit request because it must have a text parameter.")
	case p.FunctionCall != nil && role != "model", p.FunctionResponse != nil && role != "user", p.Thought && role != "model":
		return badArgument("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
	case p.Signature != "" && !slices.Contains(geminiNoSig, p.Signature) && p.Signature != sign(p.signed()),
		slices.Contains(geminiNoSig, p.Signature) && !geminiNew().MatchString(model):
		return badArgument("Invalid thought signature.")
	}
	if b := p.InlineData; b != nil {
		return b.check(i, j)
	}
	if r := p.FunctionResponse; r != nil {
		return r.check(i, j, model)
	}
	if c := p.FunctionCall; c != nil {
		var args map[string]json.RawMessage
		if !geminiName().MatchString(c.Name) || len(c.Args) > 0 && json.Unmarshal(c.Args, &args) != nil {
			return badArgument("Invalid value at 'contents[%d].parts[%d].function_call'", i, j)
		}
	}
	return nil
}

func (b *geminiBlob) check(i, j int) *refusal {
	if data, err := base64.StdEncoding.DecodeString(b.Data); err != nil || len(data) == 0 || b.MIME == "" {
		return badArgument("Invalid value at 'contents[%d].parts[%d].inline_data.data' (TYPE_BYTES), Base64 decoding failed", i, j)
	}
	return nil
}

func (r *geminiResponse) check(i, j int, model string) *refusal {
	var response map[string]json.RawMessage
	switch {
	case r.Name == "":
		return badArgument("* GenerateContentRequest.contents[%d].parts[%d].function_response.name: Name cannot be empty.", i, j)
	case json.Unmarshal(r.Response, &response) != nil || response == nil:
		return badArgument("Invalid value at 'contents[%d].parts[%d].function_response.response' (type.googleapis.com/google.protobuf.Struct)", i, j)
	case len(r.Parts) > 0 && geminiOld().MatchString(model):
		return badArgument("Multimodal function response is not supported for this model.")
	}
	for _, p := range r.Parts {
		if p.InlineData == nil {
			return badArgument("Invalid value at 'contents[%d].parts[%d].function_response.parts'", i, j)
		}
		if why := p.InlineData.check(i, j); why != nil {
			return why
		}
	}
	return nil
}

// checkCalls pairs calls with responses: each call's response must be in the next content.
func (w *geminiRequest) checkCalls() *refusal {
	var open []*geminiCall // calls of the previous content
	for _, c := range w.Contents {
		var calls []*geminiCall
		var responses []*geminiResponse
		for _, p := range c.Parts {
			if p.FunctionCall != nil {
				calls = append(calls, p.FunctionCall)
			}
			if p.FunctionResponse != nil {
				responses = append(responses, p.FunctionResponse)
			}
		}
		if len(responses) > 0 && len(open) == 0 {
			return badArgument("Please ensure that function response turn comes immediately after a function call turn.")
		}
		if len(responses) != len(open) {
			return unequal()
		}
		for i, r := range responses {
			call := open[i]
			if r.ID != "" { // ids pair them, if there are any; otherwise the order does
				at := slices.IndexFunc(open, func(c *geminiCall) bool { return c.ID == r.ID })
				if at < 0 {
					return unequal()
				}
				call = open[at]
			}
			if call.Name != r.Name {
				return unequal()
			}
		}
		open = calls
	}
	if len(open) > 0 {
		return unequal()
	}
	return nil
}

func unequal() *refusal {
	return badArgument("Please ensure that the number of function response parts is equal to the number of function call parts of the " +
		"function call turn.")
}

// checkSignatures requires a signature on the first call of each content of the current turn. The turn begins with the last user
// content that has more than responses.
func (w *geminiRequest) checkSignatures() *refusal {
	begin := 0
	for i, c := range w.Contents {
		if c.Role == "user" && slices.ContainsFunc(c.Parts, func(p geminiPart) bool { return p.FunctionResponse == nil }) {
			begin = i
		}
	}
	for _, c := range w.Contents[begin:] {
		at := slices.IndexFunc(c.Parts, func(p geminiPart) bool { return p.FunctionCall != nil })
		if at >= 0 && c.Parts[at].Signature == "" {
			return badArgument("Function call is missing a thought_signature in functionCall parts. This is required for tools to work "+
				"correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call "+
				"`default_api:%s` , position %d.", c.Parts[at].FunctionCall.Name, at+1)
		}
	}
	return nil
}
