package generate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/attractor-go/attractor/llm"
)

// Tool defines a tool that the model can call.
type Tool struct {
	llm.ToolDefinition
	// Execute does the work. It gets the arguments' text, which is a JSON object that fits
	// Parameters, or free text for a tool with a Grammar, and returns text and media for the model.
	// An error makes an error result of them, or of its own text if there are none; the text should
	// say what to do next. The calls of one response run at the same time. Execute must end soon
	// after its context. Nil means that the caller runs the calls: see [Result.OpenCalls].
	Execute func(ctx context.Context, args string) (llm.Parts, error)

	err error // the error of Func
}

// Func returns a tool that calls a Go function. The parameters' schema comes from the struct Args:
// names and optionality from its json tags, descriptions from its jsonschema tags. A result of type
// string becomes text, [llm.Parts] are sent as they are, and any other type is sent as JSON. An
// invalid Args is reported by [Generate].
func Func[Args, Out any](name, description string, run func(ctx context.Context, args Args) (Out, error)) Tool {
	t := Tool{ToolDefinition: llm.ToolDefinition{Name: name, Description: description}}
	schema, err := jsonschema.For[Args](nil)
	if err == nil {
		t.Parameters, err = json.Marshal(schema)
	}
	if err != nil {
		t.err = fmt.Errorf("cannot infer its parameters: %w", err)
		return t
	}
	t.Execute = func(ctx context.Context, text string) (llm.Parts, error) {
		var args Args
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			return nil, fmt.Errorf("cannot read the arguments: %w", err)
		}
		out, err := run(ctx, args)
		if err != nil {
			return nil, err
		}
		return partsOf(out)
	}
	return t
}

func partsOf(out any) (llm.Parts, error) {
	switch out := out.(type) {
	case string:
		return llm.TextParts(out), nil
	case llm.Parts:
		return out, nil
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("cannot write the result: %w", err)
	}
	return llm.TextParts(string(data)), nil
}

// active is a tool that can run, with its schema.
type active struct {
	Tool
	schema *jsonschema.Resolved // nil for free text
}

// prepare checks the tools and returns them by name. Tools without Execute have a nil value.
func prepare(tools []Tool) (map[string]*active, error) {
	ready := make(map[string]*active, len(tools))
	for _, t := range tools {
		_, twice := ready[t.Name]
		switch {
		case t.Name == "":
			return nil, llm.Errorf(llm.ErrConfiguration, "a tool has no name")
		case twice:
			return nil, llm.Errorf(llm.ErrConfiguration, "two tools have the name %q", t.Name)
		case t.err != nil:
			return nil, llm.Errorf(llm.ErrConfiguration, "tool %q: %v", t.Name, t.err)
		case t.Execute == nil:
			ready[t.Name] = nil
			continue
		}
		a := &active{Tool: t}
		if t.Grammar == nil && len(t.Parameters) > 0 {
			schema, err := resolve(t.Parameters)
			if err != nil {
				return nil, llm.Errorf(llm.ErrConfiguration, "tool %q: its parameters are not a valid JSON Schema: %v",
					t.Name, err)
			}
			a.schema = schema
		}
		ready[t.Name] = a
	}
	return ready, nil
}

func resolve(schema json.RawMessage) (*jsonschema.Resolved, error) {
	doc := new(jsonschema.Schema)
	if err := json.Unmarshal(schema, doc); err != nil {
		return nil, err
	}
	return doc.Resolve(nil)
}

// arguments returns the arguments to run a call with. The error is text for the model.
func (a *active) arguments(call llm.ToolCall) (string, error) {
	if call.Free || a.Grammar != nil {
		return call.Args, nil
	}
	text := call.Args
	if strings.TrimSpace(text) == "" { // some models send this for a tool without parameters
		text = "{}"
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return "", fmt.Errorf("they are not valid JSON: %w", err)
	}
	if _, ok := value.(map[string]any); !ok {
		return "", errors.New("they are not a JSON object")
	}
	if a.schema != nil {
		if err := a.schema.Validate(value); err != nil {
			return "", err
		}
	}
	return text, nil
}
