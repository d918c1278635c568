package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/attractor-go/attractor/llm"
)

// Adapt returns the tool base under another name, description and parameters. translate turns
// arguments of type Args into those of base, as a value whose JSON base reads. If render is not
// nil, it turns the result into another form. Access, Limit, Needs, Guidance, Previews and Instead
// are those of base. Parameters are inferred from Args if the definition has none.
func Adapt[Args any](base Tool, def llm.ToolDefinition, translate func(Args) (any, error),
	render func(Result) Result) Tool {
	t := New(def, func(ctx context.Context, call *Call, args Args) (Result, error) {
		text, err := translateArgs(args, translate)
		if err != nil {
			return Result{}, err
		}
		inner := *call
		inner.Args = text
		result, err := base.Run(ctx, &inner)
		if err == nil && render != nil {
			result = render(result)
		}
		return result, err
	})
	t.Limit, t.Needs, t.Guidance, t.Instead = base.Limit, base.Needs, base.Guidance, base.Instead
	t.Previews = base.Previews
	if base.Access != nil {
		t.Access = func(text string) (Access, error) {
			args, err := Decode[Args](text)
			if err != nil {
				return Access{}, err
			}
			inner, err := translateArgs(args, translate)
			if err != nil {
				return Access{}, err
			}
			return base.Access(inner)
		}
	}
	return t
}

func translateArgs[Args any](args Args, translate func(Args) (any, error)) (string, error) {
	value, err := translate(args)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("cannot translate the arguments: %w", err)
	}
	return string(text), nil
}
