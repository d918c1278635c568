package coding

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/names"
	"github.com/attractor-go/attractor/tool"
)

// maxDecisions limits how often a change is decided again for a file that others keep changing.
const maxDecisions = 16

// decision holds the new content of a file.
type decision struct {
	was  content // the content that the decision is based on
	data []byte
}

// change calls decide and writes its content under a lock that other sessions respect. If the file changed meanwhile, it asks again.
// The result lists the changes.
func change(ctx context.Context, call *tool.Call, name string, decide func() (decision, error)) (tool.Result, error) {
	unlock, err := env.Lock(ctx, call.Env, name)
	if err != nil {
		return tool.Result{}, err
	}
	defer unlock()
	for range maxDecisions {
		d, err := decide()
		if err != nil {
			return tool.Result{}, err
		}
		if err := mayChange(ctx, call, name); err != nil {
			return tool.Result{}, err
		}
		err = env.Replace(ctx, call.Env, name, d.was.hash, d.data, newFilePerm)
		if err == nil {
			var w fileChanges
			w.add(name, d.was, contentOf(call, d.data))
			return w.result(ctx, call, nil), nil
		}
		if !errors.Is(err, env.ErrChanged) {
			return tool.Result{}, err
		}
	}
	return tool.Result{}, errBusy(name)
}

// errBusy returns the error for a file that others keep changing.
func errBusy(name string) error {
	return fmt.Errorf("%s keeps being changed by somebody else; nothing was changed. Find out what writes it, then try again", names.Shown(name))
}

// mayChange returns an error if changing the file needs an approval that the call lacks.
func mayChange(ctx context.Context, call *tool.Call, name string) error {
	if why := call.NeedsApproval(ctx, name); why != "" {
		return fmt.Errorf("%s was not changed, because that needs a person's approval: %s. Say what you want to change and why, or do without", names.Shown(name), why)
	}
	return nil
}
