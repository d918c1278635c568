package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/attractor-go/attractor/llm"
)

// Adapt returns the tool base under another name, description and parameters. translate turns
// arguments of type Args into those of base, as a value whose JSON base reads; nil means that they
// are the same, such as those of an Adapt[json.RawMessage]. If render is not nil, it turns the
// result into another form. Access, Limit, Needs, Guidance, Previews and Instead are those of base.
// Parameters are inferred from Args if the definition has none.
func Adapt[Args any](base Tool, def llm.ToolDefinition, translate func(Args) (any, error),
	render func(Result) Result) Tool {
	same := translate == nil
	if same {
		translate = func(args Args) (any, error) { return args, nil }
	}
	t := New(def, func(ctx context.Context, call *Call, args Args) (Result, error) {
		inner, err := translate(args)
		if err != nil {
			return Result{}, err
		}
		result, err := base.RunAs(ctx, call, inner)
		if err == nil && render != nil {
			result = render(result)
		}
		return result, err
	})
	t.Limit, t.Needs, t.Guidance, t.Instead = base.Limit, base.Needs, base.Guidance, base.Instead
	t.Previews = base.Previews
	if same && base.compiled != nil && base.compiled.strict { // base would lose unknown parameters
		t.compiled.strict = true
	}
	if base.Access != nil {
		t.Access = func(text string) (Access, error) {
			args, err := Decode[Args](text)
			if err != nil {
				return Access{}, err
			}
			inner, err := translate(args)
			if err != nil {
				return Access{}, err
			}
			given, err := argsOf(inner)
			if err != nil {
				return Access{}, err
			}
			return base.Access(given)
		}
	}
	return t
}

// RunAs runs the tool for a call of another one, with the JSON of args as the arguments.
func (t *Tool) RunAs(ctx context.Context, call *Call, args any) (Result, error) {
	text, err := argsOf(args)
	if err != nil {
		return Result{}, err
	}
	inner := *call
	inner.Args = text
	return t.Run(ctx, &inner)
}

// argsOf returns the arguments that a value stands for.
func argsOf(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("cannot translate the arguments: %w", err)
	}
	return string(text), nil
}
