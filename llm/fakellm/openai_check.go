package fakellm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

var openaiName = pattern(`^[a-zA-Z0-9_-]+$`)

// The limits of the API.
const (
	openaiMaxName   = 64 // bytes of a tool's name, a call's id, a cache key
	openaiMinOutput = 16 // tokens
)

// refuse refuses a request when a parameter has a fault, in the vendor's words.
func (f *openai) refuse(fault bool, param, code, message string, args ...any) {
	if fault && f.why == nil {
		f.param, f.why = param, &refusal{400, code, fmt.Sprintf(message, args...)}
	}
}

// require refuses a request in which a parameter is not set.
func (f *openai) require(set bool, param string) {
	f.refuse(!set, param, "missing_required_parameter", "Missing required parameter: '%s'.", param)
}

// short refuses a name or an id that is too long.
func (f *openai) short(param, value string) {
	f.refuse(len(value) > openaiMaxName, param,
		"string_above_max_length", "Invalid '%s': string too long. Expected a string with maximum "+
			"length %d, but got a string with length %d instead.", param, openaiMaxName, len(value))
}

// name refuses a name that the API does not allow, or that is too long.
func (f *openai) name(param, name string) {
	f.short(param, name)
	f.refuse(!openaiName().MatchString(name), param,
		"invalid_value", "Invalid '%s': string does not match pattern. Expected a string that "+
			"matches the pattern '%s'.", param, openaiName())
}

// oneOf refuses a value that is not among the known ones.
func (f *openai) oneOf(param, value string, known ...string) {
	f.refuse(!slices.Contains(known, value), param,
		"invalid_value", "Invalid value: '%s'. Supported values are: '%s'.", value, strings.Join(known, "', '"))
}

// check refuses what the real API refuses, in its own words where they are known.
func (f *openai) check() *refusal {
	w := &f.asked
	f.require(w.Model != "", "model")
	f.require(len(w.Input) > 0, "input")
	f.refuse(w.PreviousID != "",
		"previous_response_id", "previous_response_not_found", "Previous response with id '%s' not found.",
		w.PreviousID)
	if n := w.MaxOutputTokens; n != nil {
		f.refuse(*n < openaiMinOutput,
			"max_output_tokens", "integer_below_min_value", "Invalid 'max_output_tokens': integer below minimum "+
				"value. Expected a value >= %d, but got %d instead.", openaiMinOutput, *n)
	}
	f.refuse(w.Temperature != nil && (*w.Temperature < 0 || *w.Temperature > 2), "temperature",
		"decimal_above_max_value", "Invalid 'temperature': decimal out of range. Expected 0 to 2.")
	f.short("prompt_cache_key", w.CacheKey)
	for _, include := range w.Include {
		f.oneOf("include", include, "reasoning.encrypted_content", "message.output_text.logprobs",
			"message.input_image.image_url", "web_search_call.action.sources", "file_search_call.results",
			"code_interpreter_call.outputs")
	}
	f.checkTools()
	if t := w.Text; t != nil && t.Format != nil && t.Format.Type == "json_schema" {
		f.require(t.Format.Name != "" && len(t.Format.Schema) > 0, "text.format.name")
	}
	for i := range w.Input {
		f.checkItem("input["+strconv.Itoa(i)+"]", &w.Input[i])
	}
	f.checkOrder()
	return f.why
}

func (f *openai) checkTools() {
	var names []string
	for i, t := range f.asked.Tools {
		at := "tools[" + strconv.Itoa(i) + "]"
		if t.Type != "function" && t.Type != "custom" { // a server tool
			continue
		}
		f.name(at+".name", t.Name)
		f.refuse(slices.Contains(names, t.Name), at, "", "Duplicate tool name: '%s'.", t.Name)
		if t.Type == "custom" && t.Format != nil && t.Format.Type == "grammar" {
			f.oneOf(at+".format.syntax", t.Format.Syntax, "lark", "regex")
			f.require(t.Format.Definition != "", at+".format.definition")
		}
		if t.Type == "function" {
			f.checkSchema(at, t)
		}
		names = append(names, t.Name)
	}
	f.checkChoice(names)
}

func (f *openai) checkSchema(at string, t openaiTool) {
	var schema struct {
		Type       string
		Properties map[string]json.RawMessage
	}
	f.refuse(json.Unmarshal(t.Parameters, &schema) != nil || schema.Type != "object", at+".parameters",
		"invalid_function_parameters",
		`Invalid schema for function '%s': schema must be a JSON Schema of 'type: "object"', got 'type: "%s"'.`,
		t.Name, schema.Type)
	f.refuse(schema.Properties == nil, at+".parameters", "invalid_function_parameters",
		"Invalid schema for function '%s': In context=(), object schema missing properties.", t.Name)
}

func (f *openai) checkChoice(names []string) {
	raw := f.asked.ToolChoice
	var mode string
	var named struct{ Type, Name string }
	switch {
	case raw == nil:
	case json.Unmarshal(raw, &mode) == nil:
		f.oneOf("tool_choice", mode, "none", "auto", "required")
	case json.Unmarshal(raw, &named) == nil && (named.Type == "function" || named.Type == "custom"):
		f.refuse(!slices.Contains(names, named.Name),
			"tool_choice", "", "Tool choice '%s' not found in 'tools' parameter.", named.Name)
	}
}

func (f *openai) checkItem(at string, it *openaiItem) {
	f.refuse(it.unknown != "", at+"."+it.unknown, "unknown_parameter", "Unknown parameter: '%s.%s'.", at, it.unknown)
	f.short(at+".call_id", it.CallID)
	search := it.Execution == "client"
	switch it.Type {
	case "message":
		f.checkMessage(at, it)
	case "reasoning":
		f.require(it.Summary != nil, at+".summary")
		f.notKept(it.Encrypted == "", it.ID)
		f.refuse(it.Encrypted != encrypt(it.ID, it.summary()),
			"", "invalid_encrypted_content", "The encrypted content for item %s could "+
				"not be verified. Reason: Encrypted content could not be decrypted or parsed.", it.ID)
	case "function_call":
		f.require(it.CallID != "" && bytes.HasPrefix(it.Arguments, []byte(`"`)), at+".arguments")
		f.name(at+".name", it.Name)
	case "custom_tool_call":
		f.require(it.CallID != "" && it.Input != nil, at+".input")
		f.name(at+".name", it.Name)
	case "function_call_output", "custom_tool_call_output":
		f.require(it.CallID != "" && it.Output != nil, at+".output")
		f.checkContent(at+".output", it.Output, "input_text", "input_image", "input_file")
	case "tool_search_call":
		f.require(!search || it.CallID != "" && isObject(it.Arguments), at+".arguments")
	case "tool_search_output":
		f.require(!search || it.CallID != "" && it.Tools != nil, at+".tools")
		for i, t := range it.Tools {
			f.checkSchema(at+".tools["+strconv.Itoa(i)+"]", t)
		}
	case "":
		f.require(false, at+".type")
	case "item_reference":
		f.notKept(true, it.ID)
	}
}

// notKept refuses an item that the client did not send whole, because the server keeps none.
func (f *openai) notKept(fault bool, id string) {
	if fault && f.why == nil {
		f.refuse(true, "input", "", "Item with id '%s' not found. Items are not persisted when `store` is set to "+
			"false. Try again with `store` set to true, or remove this item from your input.", id)
		f.why.status = 404
	}
}

func (f *openai) checkMessage(at string, it *openaiItem) {
	f.oneOf(at+".role", it.Role, "assistant", "system", "developer", "user")
	if it.Role != "assistant" {
		f.checkContent(at+".content", it.Content, "input_text", "input_image", "input_file")
		return
	}
	if it.Phase != "" {
		f.oneOf(at+".phase", it.Phase, "commentary", "final_answer")
	}
	f.checkContent(at+".content", it.Content, "output_text", "refusal")
}

func (f *openai) checkContent(at string, raw json.RawMessage, kinds ...string) {
	parts, err := openaiParts(raw, kinds[0])
	f.refuse(err != nil, at, "invalid_type", "Invalid type for '%s': %v", at, err)
	for i, p := range parts {
		at := at + "[" + strconv.Itoa(i) + "]"
		f.oneOf(at, p.Type, kinds...)
		source := p.ImageURL + p.FileURL + p.FileData + p.FileID
		_, data, isData := strings.Cut(source, ";base64,")
		f.refuse((p.Type == "input_image" || p.Type == "input_file") && source == "", at, "missing_required_parameter",
			"Missing required parameter: '%s.image_url' or '%s.file_data'.", at, at)
		f.refuse(isData && (data == "" || !isBase64(data)), at,
			"invalid_base64", "Invalid '%s'. Expected a base64-encoded data URL.", at)
		f.require(p.FileData == "" || p.Filename != "", at+".filename")
	}
}

// encrypt returns stand-in data for reasoning that only the server can read. It detects a changed
// item.
func encrypt(id, summary string) string { return "gAAAA" + sign(id+"\n"+summary) }

// checkOrder pairs calls with outputs, and checks that reasoning is followed by its item.
func (f *openai) checkOrder() {
	var open []string // calls: the type of the output that they need, and their ids
	for i, it := range f.asked.Input {
		switch it.Type {
		case "function_call", "custom_tool_call":
			key := it.Type + "_output " + it.CallID
			f.refuse(slices.Contains(open, key), "input", "", "Duplicate call_id: %s.", it.CallID)
			open = append(open, key)
		case "tool_search_call":
			if f.searches() && it.Execution == "client" {
				open = append(open, "tool_search_output "+it.CallID)
			}
		case "function_call_output", "custom_tool_call_output", "tool_search_output":
			at := slices.Index(open, it.Type+" "+it.CallID)
			if at >= 0 {
				open = slices.Delete(open, at, at+1)
				continue
			}
			f.refuse(it.Type != "tool_search_output" || it.Execution == "client",
				"input", "", "No tool call found for %s output with call_id %s.",
				strings.ReplaceAll(strings.TrimSuffix(it.Type, "_output"), "_", " "), it.CallID)
		case "reasoning":
			f.refuse(i+1 == len(f.asked.Input) || !f.asked.Input[i+1].fromModel(), "input", "",
				"Item '%s' of type 'reasoning' was provided without its required following item.", it.ID)
		}
	}
	if len(open) > 0 {
		kind, id, _ := strings.Cut(open[0], "_output ")
		f.refuse(true, "input", "", "No tool output found for %s %s.", strings.ReplaceAll(kind, "_", " "), id)
	}
}

// fromModel reports whether the model wrote an item.
func (it *openaiItem) fromModel() bool {
	role, _ := it.read()
	return role == llm.RoleAssistant
}
