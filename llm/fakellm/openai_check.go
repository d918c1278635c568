package fakellm

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

var openaiName = pattern(`^[a-zA-Z0-9_-]+$`)

// The limits of the API.
const (
	openaiMaxName   = 64 // bytes of a tool's name, a call's id, a cache key
	openaiMinOutput = 16 // tokens
)

// check refuses what the real API refuses, in its own words where they are known.
func (f *openai) check() *refusal {
	w := &f.asked
	switch {
	case w.Model == "":
		return f.invalid("model", "missing_required_parameter", "Missing required parameter: 'model'.")
	case len(w.Input) == 0:
		return f.invalid("input", "missing_required_parameter", "Missing required parameter: 'input'.")
	case w.PreviousID != "":
		return f.invalid("previous_response_id", "previous_response_not_found", "Previous response with id '%s' not found.", w.PreviousID)
	case w.MaxOutputTokens != nil && *w.MaxOutputTokens < openaiMinOutput:
		return f.invalid("max_output_tokens", "integer_below_min_value", "Invalid 'max_output_tokens': integer below minimum value. "+
			"Expected a value >= %d, but got %d instead.", openaiMinOutput, *w.MaxOutputTokens)
	case w.Temperature != nil && (*w.Temperature < 0 || *w.Temperature > 2):
		return f.invalid("temperature", "decimal_above_max_value", "Invalid 'temperature': decimal out of range. Expected 0 to 2.")
	case len(w.CacheKey) > openaiMaxName:
		return f.tooLong("prompt_cache_key", w.CacheKey)
	}
	for _, include := range w.Include {
		if !slices.Contains([]string{"reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url",
			"web_search_call.action.sources", "file_search_call.results", "code_interpreter_call.outputs"}, include) {
			return f.invalid("include", "invalid_value", "Invalid value: '%s'. Supported values are: ...", include)
		}
	}
	if why := f.checkTools(); why != nil {
		return why
	}
	if t := w.Text; t != nil && t.Format != nil && t.Format.Type == "json_schema" && (t.Format.Name == "" || len(t.Format.Schema) == 0) {
		return f.invalid("text.format.name", "missing_required_parameter", "Missing required parameter: 'text.format.name'.")
	}
	for i := range w.Input {
		if why := f.checkItem("input["+itoa(i)+"]", &w.Input[i]); why != nil {
			return why
		}
	}
	return f.checkOrder()
}

func (f *openai) tooLong(param, value string) *refusal {
	return f.invalid(param, "string_above_max_length", "Invalid '%s': string too long. Expected a string with maximum length %d, but got a "+
		"string with length %d instead.", param, openaiMaxName, len(value))
}

func (f *openai) checkTools() *refusal {
	var names []string
	for i, t := range f.asked.Tools {
		at := "tools[" + itoa(i) + "]"
		if t.Type != "function" && t.Type != "custom" { // a server tool
			continue
		}
		switch {
		case !openaiName().MatchString(t.Name) || len(t.Name) > openaiMaxName:
			return f.invalid(at+".name", "invalid_value", "Invalid '%s.name': string does not match pattern. Expected a string that matches "+
				"the pattern '%s'.", at, openaiName())
		case slices.Contains(names, t.Name):
			return f.invalid(at, "", "Duplicate tool name: '%s'.", t.Name)
		case t.Type == "custom" && t.Format != nil && t.Format.Type == "grammar" &&
			(t.Format.Syntax != "lark" && t.Format.Syntax != "regex" || t.Format.Definition == ""):
			return f.invalid(at+".format.syntax", "invalid_value", "Invalid value: '%s'. Supported values are: 'lark' and 'regex'.", t.Format.Syntax)
		case t.Type == "function":
			if why := f.checkSchema(at, t); why != nil {
				return why
			}
		}
		names = append(names, t.Name)
	}
	return f.checkChoice(names)
}

func (f *openai) checkSchema(at string, t openaiTool) *refusal {
	var schema struct {
		Type       string
		Properties map[string]json.RawMessage
	}
	if json.Unmarshal(t.Parameters, &schema) != nil || schema.Type != "object" {
		return f.invalid(at+".parameters", "invalid_function_parameters", `Invalid schema for function '%s': schema must be a JSON Schema `+
			`of 'type: "object"', got 'type: "%s"'.`, t.Name, schema.Type)
	}
	if schema.Properties == nil {
		return f.invalid(at+".parameters", "invalid_function_parameters",
			"Invalid schema for function '%s': In context=(), object schema missing properties.", t.Name)
	}
	return nil
}

func (f *openai) checkChoice(names []string) *refusal {
	raw := f.asked.ToolChoice
	if raw == nil {
		return nil
	}
	var mode string
	if json.Unmarshal(raw, &mode) == nil {
		if !slices.Contains([]string{"auto", "none", "required"}, mode) {
			return f.invalid("tool_choice", "invalid_value", "Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", mode)
		}
		return nil
	}
	var named struct{ Type, Name string }
	if json.Unmarshal(raw, &named) == nil && (named.Type == "function" || named.Type == "custom") && !slices.Contains(names, named.Name) {
		return f.invalid("tool_choice", "", "Tool choice '%s' not found in 'tools' parameter.", named.Name)
	}
	return nil
}

func (f *openai) checkItem(at string, it *openaiItem) *refusal {
	missing := func(name string) *refusal {
		return f.invalid(at+"."+name, "missing_required_parameter", "Missing required parameter: '%s.%s'.", at, name)
	}
	if it.unknown != "" {
		return f.invalid(at+"."+it.unknown, "unknown_parameter", "Unknown parameter: '%s.%s'.", at, it.unknown)
	}
	if len(it.CallID) > openaiMaxName {
		return f.tooLong(at+".call_id", it.CallID)
	}
	switch it.Type {
	case "message":
		return f.checkMessage(at, it)
	case "reasoning":
		return f.checkReasoning(at, it)
	case "function_call":
		if it.CallID == "" || it.Arguments == nil {
			return missing("arguments")
		}
		return f.checkCallName(at, it.Name)
	case "custom_tool_call":
		if it.CallID == "" || it.Input == nil {
			return missing("input")
		}
		return f.checkCallName(at, it.Name)
	case "function_call_output", "custom_tool_call_output":
		if it.CallID == "" || it.Output == nil {
			return missing("output")
		}
		return f.checkContent(at+".output", it.Output, "input_text", "input_image", "input_file")
	case "tool_search_call":
		if it.search.Execution == "client" && (it.CallID == "" || it.search.Arguments == nil) {
			return missing("arguments")
		}
	case "tool_search_output":
		if it.search.Execution == "client" && (it.CallID == "" || it.search.Tools == nil) {
			return missing("tools")
		}
		for i, t := range it.search.Tools {
			if why := f.checkSchema(at+".tools["+itoa(i)+"]", t); why != nil {
				return why
			}
		}
	case "":
		return missing("type")
	case "item_reference":
		return f.notKept(it.ID)
	}
	return nil
}

func (f *openai) checkCallName(at, name string) *refusal {
	switch {
	case len(name) > openaiMaxName:
		return f.tooLong(at+".name", name)
	case !openaiName().MatchString(name):
		return f.invalid(at+".name", "invalid_value", "Invalid '%s.name': string does not match pattern. Expected a string that matches "+
			"the pattern '%s'.", at, openaiName())
	}
	return nil
}

func (f *openai) notKept(id string) *refusal {
	f.param = "input"
	return &refusal{404, "", "Item with id '" + id + "' not found. Items are not persisted when `store` is set to false. Try again with " +
		"`store` set to true, or remove this item from your input."}
}

func (f *openai) checkMessage(at string, it *openaiItem) *refusal {
	switch it.Role {
	case "user", "system", "developer":
		return f.checkContent(at+".content", it.Content, "input_text", "input_image", "input_file")
	case "assistant":
		if it.Phase != "" && it.Phase != "commentary" && it.Phase != "final_answer" {
			return f.invalid(at+".phase", "invalid_value", "Invalid value: '%s'. Supported values are: 'commentary' and 'final_answer'.", it.Phase)
		}
		return f.checkContent(at+".content", it.Content, "output_text", "refusal")
	}
	return f.invalid(at+".role", "invalid_value",
		"Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", it.Role)
}

func (f *openai) checkContent(at string, raw json.RawMessage, kinds ...string) *refusal {
	parts, err := openaiParts(raw, kinds[0])
	if err != nil {
		return f.invalid(at, "invalid_type", "Invalid type for '%s': %v", at, err)
	}
	for i, p := range parts {
		at := at + "[" + itoa(i) + "]"
		if !slices.Contains(kinds, p.Type) {
			return f.invalid(at, "invalid_value", "Invalid value: '%s'. Supported values are: '%s'.", p.Type, strings.Join(kinds, "', '"))
		}
		source := p.ImageURL + p.FileURL + p.FileData + p.FileID
		_, data, isData := strings.Cut(source, ";base64,")
		_, err := base64.StdEncoding.DecodeString(data)
		switch {
		case (p.Type == "input_image" || p.Type == "input_file") && source == "":
			return f.invalid(at, "missing_required_parameter", "Missing required parameter: '%s.image_url' or '%s.file_data'.", at, at)
		case isData && (err != nil || data == ""):
			return f.invalid(at, "invalid_base64", "Invalid '%s'. Expected a base64-encoded data URL.", at)
		case p.FileData != "" && p.Filename == "":
			return f.invalid(at+".filename", "missing_required_parameter", "Missing required parameter: '%s.filename'.", at)
		}
	}
	return nil
}

func (f *openai) checkReasoning(at string, it *openaiItem) *refusal {
	switch {
	case it.Summary == nil:
		return f.invalid(at+".summary", "missing_required_parameter", "Missing required parameter: '%s.summary'.", at)
	case it.Encrypted == "":
		return f.notKept(it.ID)
	case it.Encrypted != encrypt(it.ID, it.summary()):
		return f.invalid("", "invalid_encrypted_content", "The encrypted content for item %s could not be verified. Reason: Encrypted "+
			"content could not be decrypted or parsed.", it.ID)
	}
	return nil
}

// encrypt returns stand-in data for reasoning that only the server can read. It detects a changed item.
func encrypt(id, summary string) string { return "gAAAA" + sign(id+"\n"+summary) }

// checkOrder pairs calls with outputs, and checks that reasoning is followed by its item.
func (f *openai) checkOrder() *refusal {
	var open []string // calls: the type of the output that they need, and their ids
	for i, it := range f.asked.Input {
		switch it.Type {
		case "function_call", "custom_tool_call":
			key := it.Type + "_output " + it.CallID
			if slices.Contains(open, key) {
				return f.invalid("input", "", "Duplicate call_id: %s.", it.CallID)
			}
			open = append(open, key)
		case "tool_search_call":
			if f.searches() && it.search.Execution == "client" {
				open = append(open, "tool_search_output "+it.CallID)
			}
		case "function_call_output", "custom_tool_call_output", "tool_search_output":
			at := slices.Index(open, it.Type+" "+it.CallID)
			if at < 0 && it.search != nil && it.search.Execution != "client" {
				continue
			}
			if at < 0 {
				kind := strings.ReplaceAll(strings.TrimSuffix(it.Type, "_output"), "_", " ")
				return f.invalid("input", "", "No tool call found for %s output with call_id %s.", kind, it.CallID)
			}
			open = slices.Delete(open, at, at+1)
		case "reasoning":
			if i+1 == len(f.asked.Input) || !f.asked.Input[i+1].fromModel() {
				return f.invalid("input", "", "Item '%s' of type 'reasoning' was provided without its required following item.", it.ID)
			}
		}
	}
	if len(open) > 0 {
		kind, id, _ := strings.Cut(open[0], "_output ")
		return f.invalid("input", "", "No tool output found for %s %s.", strings.ReplaceAll(kind, "_", " "), id)
	}
	return nil
}

// fromModel reports whether the model wrote an item.
func (it *openaiItem) fromModel() bool {
	role, _ := it.read()
	return role == llm.RoleAssistant
}
