package generate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/attractor-go/attractor/llm"
)

// ObjectMode selects how [Object] makes the model respond with JSON.
type ObjectMode uint8

// The modes of an object.
const (
	// ObjectAuto uses ObjectTool for a provider named anthropic and ObjectNative for all others.
	ObjectAuto ObjectMode = iota
	// ObjectNative sets the format of the response's text with llm.Request.Format.
	ObjectNative
	// ObjectTool makes the model call a tool whose parameters are the object.
	ObjectTool
)

// maxRaw is the largest part of a response in an error, in bytes; see llm.Error.
const maxRaw = 64 << 10

// Object generates a value of type T. Its schema comes from Options.Format or else from T, as
// [Func]'s schema comes from its arguments. A T that is neither a struct nor a map is wrapped in an
// object. Tools run as in [Generate], but none of their calls may stay open.
//
// The response is checked against the schema. A response that does not fit is not requested again:
// it is an [llm.ErrNoObject] that says what is wrong and has the response's text in Raw; the result
// has the response too. A T without a schema is an [llm.ErrConfiguration].
func Object[T any](ctx context.Context, client *llm.Client, o Options) (T, *Result, error) {
	var zero T
	obj, err := newObject[T](client, o)
	if err != nil {
		return zero, &Result{}, err
	}
	r, err := newRun(silently(client.Stream), o, obj)
	if err != nil {
		return zero, &Result{}, err
	}
	if err := r.loop(ctx, func(llm.StreamEvent) bool { return true }); err != nil {
		return zero, &r.result, err
	}
	value, err := objectOf[T](r)
	return value, &r.result, err
}

// object describes the value that the model is asked for.
type object struct {
	name     string
	schema   json.RawMessage
	resolved *jsonschema.Resolved
	viaTool  bool
	// wrapped reports that the value is the member "value" of an object, because APIs accept only
	// schemas of objects.
	wrapped bool
}

func newObject[T any](client *llm.Client, o Options) (*object, error) {
	obj := &object{name: "answer", viaTool: o.ObjectMode == ObjectTool}
	if o.ObjectMode == ObjectAuto {
		p, err := client.Provider(o.Provider)
		if err != nil {
			return nil, err
		}
		obj.viaTool = p.Name() == "anthropic"
	}
	if o.Format != nil {
		obj.schema = o.Format.Schema
		obj.name = cmp.Or(o.Format.Name, obj.name)
	} else if err := obj.infer(jsonschema.For[T](nil)); err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "the type of the object has no schema: %v", err)
	}
	var err error
	if obj.resolved, err = resolve(obj.schema); err != nil {
		return nil, llm.Errorf(llm.ErrConfiguration, "the object's schema is not a valid JSON Schema: %v", err)
	}
	return obj, nil
}

func (obj *object) infer(schema *jsonschema.Schema, err error) error {
	if err != nil {
		return err
	}
	if schema.Type != "object" {
		obj.wrapped = true
		schema = &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"value": schema},
			Required: []string{"value"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	}
	obj.schema, err = json.Marshal(schema)
	return err
}

func (obj *object) tool() Tool {
	return Tool{ToolDefinition: llm.ToolDefinition{Name: obj.name, Parameters: obj.schema,
		Description: "Gives the final answer. Call it once, with the whole answer."}}
}

// ask sets the request's format, or makes the model call the object's tool.
func (obj *object) ask(req *llm.Request) {
	req.Format = nil
	if !obj.viaTool {
		req.Format = &llm.Format{Name: obj.name, Schema: obj.schema}
	} else if len(req.Tools) > 1 {
		req.ToolChoice = llm.ToolChoice{Mode: llm.ToolRequired}
	}
}

// text returns the object's text in a response. A model that did not call the tool may have written
// it as text.
func (obj *object) text(resp *llm.Response) string {
	if obj.viaTool {
		for _, c := range resp.ToolCalls() {
			if c.Name == obj.name {
				return c.Args
			}
		}
	}
	return unfenced(resp.Text())
}

// unfenced removes the Markdown fence that models without a native format often put around JSON.
func unfenced(text string) string {
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "```")
	if !ok {
		return text
	}
	inner = strings.TrimPrefix(inner, "json")
	return strings.TrimSuffix(strings.TrimSpace(inner), "```")
}

// objectOf decodes and checks the value in a run's last response.
func objectOf[T any](r *run) (T, error) {
	resp := r.result.Response()
	text := r.object.text(resp)
	value, err := checked[T](r.object, text)
	if err == nil {
		return value, nil
	}
	var zero T
	e := &llm.Error{Kind: llm.ErrNoObject, Provider: resp.Provider, Err: err,
		Raw:     []byte(text[:min(len(text), maxRaw)]),
		Message: "the response does not fit the schema: " + err.Error()}
	if !whole(resp) {
		e.Message = "the response was cut off (" + string(resp.Finish.Reason) + ") and does not fit the schema: " +
			err.Error()
	}
	return zero, e
}

func checked[T any](obj *object, text string) (T, error) {
	var zero T
	if strings.TrimSpace(text) == "" {
		return zero, errors.New("it is empty")
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return zero, err
	}
	if err := obj.resolved.Validate(value); err != nil {
		return zero, err
	}
	return decode[T](text, obj.wrapped)
}

func decode[T any](text string, wrapped bool) (T, error) {
	var outer struct {
		Value T `json:"value"`
	}
	to := any(&outer.Value)
	if wrapped {
		to = &outer
	}
	err := json.Unmarshal([]byte(text), to)
	return outer.Value, err
}
