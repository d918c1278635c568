package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/tool"
)

// Do runs one task in a session of its own and returns its result as a T, which is a struct. The
// names of fields, and whether they may be missing, come from their json tags, descriptions from
// jsonschema tags. Do sets o.Policy.Result, opens the session as [New] does, and closes it before
// it returns.
//
// Do always returns a [Result], as [Session.Submit] does. A task that ends without a result of the
// form, for example at a limit, is an error that says why.
func Do[T any](ctx context.Context, o Options, prompt string, more ...SendOption) (value T, result *Result, err error) {
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
	} else if closed != nil && !errors.Is(err, closed) {
		err = errors.Join(err, closed)
	}
	if err == nil {
		value, err = ResultOf[T](result)
	}
	return value, result, err
}

// ResultOf returns the structured result of an input as a T. An input that ended without one, for
// example at a limit, is an error that says why.
func ResultOf[T any](result *Result) (value T, err error) {
	if !result.Reason.isDone() {
		return value, fmt.Errorf("agent: the task ended before there was a result: %s", result.Reason)
	}
	if err := json.Unmarshal([]byte(result.Text), &value); err != nil {
		return value, fmt.Errorf("agent: cannot read the result: %w", err)
	}
	return value, nil
}
