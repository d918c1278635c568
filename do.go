package attractor

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/tool"
)

// Do opens a session as [Open] does, runs one task in it, closes it, and returns the task's result
// as a T, which is a struct: names and what may be missing come from the json tags of its fields,
// descriptions from their jsonschema tags. It sets Policy.Result after c.Options. A task that ends
// without such a result, for example at a limit, is an error that says why. The agent.Result is
// there in any case.
func Do[T any](ctx context.Context, c Config, task string,
	more ...agent.SendOption) (value T, _ *agent.Result, err error) {
	schema, err := tool.SchemaOf[T]()
	if err != nil {
		return value, new(agent.Result), fmt.Errorf("attractor: the type %T of the result: %w", value, err)
	}
	own := c.Options
	c.Options = func(o *agent.Options) {
		if own != nil {
			own(o)
		}
		o.Policy.Result = &agent.ResultPolicy{Schema: schema}
	}
	s, err := Open(ctx, c)
	if err != nil {
		return value, new(agent.Result), err
	}
	result, err := s.Submit(ctx, task, more...)
	if closed := s.Close(); err == nil {
		err = closed
	} else if closed != nil && !errors.Is(err, closed) {
		err = errors.Join(err, closed)
	}
	if err == nil {
		value, err = agent.ResultOf[T](result)
	}
	return value, result, err
}
