package generate

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/llm"
)

// PanicError describes a panic of a tool. The model only reads that the tool is broken.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the value that the tool panicked with, as text.
func (p *PanicError) Error() string {
	return fmt.Sprintf("the tool is broken and stopped: %v", p.Value)
}

// execute runs a response's calls at the same time and waits for all of them. It skips the calls of
// tools without Execute. Unknown and invalid calls get error results. Results and errors are in the
// order of the calls.
func (r *run) execute(ctx context.Context, calls []llm.ToolCall) ([]llm.ToolResult, []error) {
	all := make([]llm.ToolResult, len(calls))
	errs := make([]error, len(calls))
	var running sync.WaitGroup
	ours := func(c llm.ToolCall) bool { a, known := r.tools[c.Name]; return a != nil || !known }
	for i, c := range calls {
		if ours(c) {
			running.Go(func() { all[i], errs[i] = r.one(ctx, c) })
		}
	}
	running.Wait()
	var results []llm.ToolResult
	var failures []error
	for i, c := range calls {
		if ours(c) {
			results, failures = append(results, all[i]), append(failures, errs[i])
		}
	}
	return results, failures
}

// one runs a call and returns its result.
func (r *run) one(ctx context.Context, c llm.ToolCall) (llm.ToolResult, error) {
	result := llm.ToolResult{CallID: c.ID, Name: c.Name, Free: c.Free}
	refuse := func(err error, format string, args ...any) (llm.ToolResult, error) {
		result.IsError, result.Content = true, llm.TextParts(fmt.Sprintf(format, args...))
		return result, err
	}
	a := r.tools[c.Name]
	if a == nil {
		err := fmt.Errorf("unknown tool %q", c.Name)
		if len(r.tools) == 0 {
			return refuse(err, "Error: %v. There are no tools.", err)
		}
		return refuse(err, "Error: %v. The tools are: %s.", err, strings.Join(slices.Sorted(maps.Keys(r.tools)), ", "))
	}
	args, err := a.arguments(c)
	if err != nil {
		return refuse(fmt.Errorf("invalid arguments: %w", err),
			"Error: invalid arguments for %s: %v. Nothing was run. Call it again with corrected arguments.", c.Name,
			err)
	}
	content, err := guarded(ctx, a, args)
	if err != nil && len(content) == 0 {
		return refuse(err, "Error: %v", err)
	}
	result.Content, result.IsError = content, err != nil
	return result, err
}

func guarded(ctx context.Context, a *active, args string) (content llm.Parts, err error) {
	defer func() {
		if v := recover(); v != nil {
			content, err = nil, &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return a.Execute(ctx, args)
}
