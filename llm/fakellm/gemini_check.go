package fakellm

import (
	"encoding/json"
	"fmt"
	"slices"
)

var (
	geminiName = pattern(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)
	// without thinking levels, and lenient about signatures
	geminiOld   = pattern(`^gemini-[012](\.|-|$)`)
	geminiNew   = pattern(`^gemini-([3-9]|[1-9][0-9]|[a-z-]*latest$)`) // strict about signatures
	geminiNoSig = []string{"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}
)

// geminiChecker checks a request to a model of a generation.
type geminiChecker struct {
	checker
	old, new bool
	part     string // its place, as messages name it
}

// check refuses what the real API refuses, in its own words where they are known.
func (w *geminiRequest) check(model string) *refusal {
	c := &geminiChecker{old: geminiOld().MatchString(model), new: geminiNew().MatchString(model)}
	c.refuse(len(w.Contents) == 0, "* GenerateContentRequest.contents: contents is not specified")
	c.refuse(len(w.Contents) > 0 && w.Contents[0].Role != "user",
		"Please ensure that multiturn requests begin with a user turn.")
	c.refuse(w.CachedContent != "" && (w.SystemInstruction != nil || len(w.Tools) > 0 || w.ToolConfig != nil),
		"CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config. "+
			"Proposed fix: move those values to CachedContent from GenerateContent request.")
	w.checkTools(c)
	w.Config.check(c)
	for i, content := range w.Contents {
		content.check(c, i)
	}
	w.checkCalls(c)
	if c.new {
		w.checkSignatures(c)
	}
	return c.why
}

func (w *geminiRequest) checkTools(c *geminiChecker) {
	var names []string
	for i, t := range w.Tools {
		for j, fn := range t.Functions {
			at := fmt.Sprintf("* GenerateContentRequest.tools[%d].function_declarations[%d]", i, j)
			c.refuse(!geminiName().MatchString(fn.Name),
				"%s.name: Invalid function name. Must start with a letter or an underscore.", at)
			c.refuse(slices.Contains(names, fn.Name), "Duplicate function declaration found: %s", fn.Name)
			c.refuse(len(fn.Schema) > 0 && !isSchema(fn.Schema),
				"%s.parameters_json_schema: schema should be of type object", at)
			names = append(names, fn.Name)
		}
	}
	hosted := slices.ContainsFunc(w.Tools, func(t geminiTool) bool { return len(t.GoogleSearch) > 0 })
	c.refuse(hosted && len(names) > 0 && (c.old || w.ToolConfig == nil || !w.ToolConfig.Invocations),
		"Built-in tools ({google_search}) and Function Calling cannot be combined in the same request.")
	if w.ToolConfig == nil {
		return
	}
	calling := w.ToolConfig.Calling
	if calling.Mode == "" && w.ToolConfig.Invocations {
		return
	}
	c.refuse(!slices.Contains([]string{"AUTO", "ANY", "NONE", "VALIDATED"}, calling.Mode),
		`Invalid value at 'tool_config.function_calling_config.mode', "%s"`, calling.Mode)
	for _, name := range calling.Allowed {
		c.refuse(calling.Mode != "ANY" && calling.Mode != "VALIDATED" || !slices.Contains(names, name),
			"Please provide a valid function name in allowed_function_names: %s", name)
	}
}

func (g *geminiConfig) check(c *geminiChecker) {
	c.refuse(g.MaxOutputTokens < 0,
		"Unable to submit request because it has a maxOutputTokens value of %d.", g.MaxOutputTokens)
	c.refuse(len(g.ResponseJSONSchema) > 0 && g.ResponseMIME != "application/json",
		"response_json_schema requires a response_mime_type of application/json")
	t := g.Thinking
	if t == nil {
		return
	}
	leveled := t.Level != ""
	c.refuse(leveled && t.Budget != nil, "You can only set only one of thinking budget and thinking level.")
	c.refuse(leveled && c.old, "Thinking level is not supported for this model.")
	c.refuse(leveled && !slices.Contains([]string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}, t.Level),
		`Invalid value at 'generation_config.thinking_config.thinking_level', "%s"`, t.Level)
	if t.Budget != nil {
		c.refuse(*t.Budget < -1 || *t.Budget > 32768,
			"The thinking budget %d is invalid. Please choose a value between 128 and 32768.", *t.Budget)
	}
}

func (g geminiContent) check(c *geminiChecker, i int) {
	c.refuse(g.Role != "user" && g.Role != "model", "Please use a valid role: user, model.")
	c.refuse(len(g.Parts) == 0, "* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)
	responses, media := false, false
	for j, p := range g.Parts {
		c.part = fmt.Sprintf("contents[%d].parts[%d]", i, j)
		p.check(c, g.Role)
		responses = responses || p.FunctionResponse != nil
		media = media || p.InlineData != nil || p.FileData != nil
	}
	c.refuse(responses && media, "Request contains an invalid argument.") // the whole text of the real API
}

func (p geminiPart) check(c *geminiChecker, role string) {
	kinds := 0
	for _, set := range []bool{p.Text != nil, p.FunctionCall != nil, p.FunctionResponse != nil, p.InlineData != nil,
		p.FileData != nil, len(p.Executable) > 0, len(p.Executed) > 0, len(p.ToolCall) > 0, len(p.ToolResponse) > 0} {
		if set {
			kinds++
		}
	}
	c.refuse(kinds != 1,
		"* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field", c.part)
	c.refuse(p.Text != nil && *p.Text == "" && p.Signature == "",
		"Unable to submit request because it must have a text parameter.")
	c.refuse((p.FunctionCall != nil || p.Thought) && role != "model" || p.FunctionResponse != nil && role != "user",
		"Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
	if p.Signature != "" {
		want := sign(p.signed())
		if len(p.ToolCall)+len(p.ToolResponse) > 0 {
			want = signInvocation(p.unsigned())
		}
		unsigned := slices.Contains(geminiNoSig, p.Signature)
		c.refuse(unsigned && !c.new || !unsigned && p.Signature != want, "Invalid thought signature.")
	}
	if p.InlineData != nil {
		p.InlineData.check(c)
	}
	if p.FunctionResponse != nil {
		p.FunctionResponse.check(c)
	}
	if call := p.FunctionCall; call != nil {
		var args map[string]json.RawMessage
		c.refuse(!geminiName().MatchString(call.Name) || len(call.Args) > 0 && json.Unmarshal(call.Args, &args) != nil,
			"Invalid value at '%s.function_call'", c.part)
	}
}

func (b *geminiBlob) check(c *geminiChecker) {
	c.refuse(b.Data == "" || !isBase64(b.Data) || b.MIME == "",
		"Invalid value at '%s.inline_data.data' (TYPE_BYTES), Base64 decoding failed", c.part)
}

func (r *geminiResponse) check(c *geminiChecker) {
	c.refuse(r.Name == "", "* GenerateContentRequest.%s.function_response.name: Name cannot be empty.", c.part)
	c.refuse(!isObject(r.Response),
		"Invalid value at '%s.function_response.response' (type.googleapis.com/google.protobuf.Struct)", c.part)
	c.refuse(len(r.Parts) > 0 && c.old, "Multimodal function response is not supported for this model.")
	for _, p := range r.Parts {
		c.refuse(p.InlineData == nil, "Invalid value at '%s.function_response.parts'", c.part)
		if p.InlineData != nil {
			p.InlineData.check(c)
		}
	}
}

// checkCalls pairs calls with responses: each call's response must be in the next content.
func (w *geminiRequest) checkCalls(c *geminiChecker) {
	var open []*geminiCall // calls of the previous content
	for _, content := range w.Contents {
		var calls []*geminiCall
		var responses []*geminiResponse
		for _, p := range content.Parts {
			if p.FunctionCall != nil {
				calls = append(calls, p.FunctionCall)
			}
			if p.FunctionResponse != nil {
				responses = append(responses, p.FunctionResponse)
			}
		}
		c.refuse(len(responses) > 0 && len(open) == 0,
			"Please ensure that function response turn comes immediately after a function call turn.")
		c.unequal(len(responses) != len(open))
		for at, r := range responses {
			if r.ID != "" { // ids pair them, if there are any; otherwise the order does
				at = slices.IndexFunc(open, func(call *geminiCall) bool { return call.ID == r.ID })
			}
			c.unequal(at < 0 || at >= len(open) || open[at].Name != r.Name)
		}
		open = calls
	}
	c.unequal(len(open) > 0)
}

func (c *geminiChecker) unequal(fault bool) {
	c.refuse(fault,
		"Please ensure that the number of function response parts is equal to the number of function call "+
			"parts of the function call turn.")
}

// checkSignatures requires a signature on the first call of each content of the current turn. The
// turn begins with the last user content that has more than responses.
func (w *geminiRequest) checkSignatures(c *geminiChecker) {
	begin := 0
	for i, content := range w.Contents {
		said := slices.ContainsFunc(content.Parts, func(p geminiPart) bool { return p.FunctionResponse == nil })
		if content.Role == "user" && said {
			begin = i
		}
	}
	for _, content := range w.Contents[min(begin, len(w.Contents)):] {
		at := slices.IndexFunc(content.Parts, func(p geminiPart) bool { return p.FunctionCall != nil })
		if at < 0 {
			continue
		}
		p := content.Parts[at]
		c.refuse(p.Signature == "",
			"Function call is missing a thought_signature in functionCall parts. This is required for tools to work "+
				"correctly, and missing thought_signature may lead to degraded model performance. Additional data, "+
				"function call `default_api:%s` , position %d.", p.FunctionCall.Name, at+1)
	}
}
