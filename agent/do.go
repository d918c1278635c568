package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Do runs one task in a session of its own and returns its result as a T, a struct: fields have their names and whether they may be missing
// from json tags, their descriptions from jsonschema tags. The session is that of [New] with o, whose Policy.Result is set here, and is
// closed when Do returns.
//
// The [Result] is there as that of [Session.Submit] is, also beside an error. A task that ends without a result of the form, at a limit for
// example, is an error that says why.
func Do[T any](ctx context.Context, o Options, prompt string, more ...llm.Part) (value T, result *Result, err error) {
	schema, err := tool.SchemaOf[T]()
	if err != nil {
		return value, new(Result), fmt.Errorf("agent: the type %T of the result: %w", value, err)
	}
	o.Policy.Result = &ResultPolicy{Schema: schema}
	s, err := New(ctx, o)
	if err != nil {
		return value, new(Result), err
	}
	result, err = s.Submit(ctx, prompt, more...)
	if closed := s.Close(); err == nil {
		err = closed
	} else if !errors.Is(err, closed) {
		err = errors.Join(err, closed)
	}
	switch {
	case err != nil:
		return value, result, err
	case !result.Reason.finished():
		return value, result, fmt.Errorf("agent: the task ended before there was a result: %s", result.Reason)
	}
	if err := json.Unmarshal([]byte(result.Text), &value); err != nil {
		return value, result, fmt.Errorf("agent: cannot read the result: %w", err)
	}
	return value, result, nil
}
