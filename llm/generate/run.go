package generate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/attractor-go/attractor/llm"
)

// run holds the state of one generation.
type run struct {
	o       Options
	handler llm.Handler
	request *llm.Request
	tools   map[string]*active
	object  *object // set by Object
	result  Result
}

// newRun checks the options and returns a run whose model calls go through handler.
func newRun(handler llm.Handler, o Options, obj *object) (*run, error) {
	if obj != nil && obj.viaTool {
		o.Tools = append(slices.Clip(o.Tools), obj.tool())
	}
	req, err := o.request()
	if err != nil {
		return nil, err
	}
	if obj != nil {
		obj.ask(req)
	}
	tools, err := prepare(o.Tools)
	if err != nil {
		return nil, err
	}
	r := &run{o: o, handler: llm.Retry(o.Retry, o.OnRetry)(handler), request: req, tools: tools, object: obj}
	r.result.Messages = req.Messages
	return r, nil
}

// errLeft is the error of a stream whose listener left.
var errLeft = errors.New("the stream was not read to its end")

// loop calls the model and runs tools until it reaches a final response, a limit or an error. Emit
// passes events on and reports whether to continue.
func (r *run) loop(ctx context.Context, emit func(llm.StreamEvent) bool) error {
	if r.o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.o.Timeout,
			llm.Errorf(llm.ErrTimeout, "generating took longer than %v", r.o.Timeout))
		defer cancel()
	}
	for round := 0; ; round++ {
		resp, err := r.step(ctx, round, emit)
		if err != nil {
			return err
		}
		step := Step{Response: resp}
		calls := resp.ToolCalls()
		if round < r.o.rounds() && whole(resp) {
			step.Results, step.Errors = r.execute(ctx, calls)
		}
		r.result.add(step)
		if len(step.Results) > 0 && ctx.Err() != nil {
			cause := context.Cause(ctx)
			return late(ctx, &llm.Error{Kind: llm.ErrAborted, Provider: resp.Provider, Err: cause,
				Message: fmt.Sprintf("aborted while tools ran: %v", cause)})
		}
		if !emit(llm.StreamEvent{Type: llm.EventStepFinish, Response: resp}) {
			return errLeft
		}
		goesOn := len(step.Results) > 0 && len(step.Results) == len(calls)
		if !goesOn || r.o.StopWhen != nil && r.o.StopWhen(r.result.Steps) {
			emit(llm.StreamEvent{Type: llm.EventFinish, Response: resp})
			return nil
		}
	}
}

// whole reports whether a response is complete. The calls of an incomplete one may not be what the
// model meant.
func whole(resp *llm.Response) bool {
	switch resp.Finish.Reason {
	case llm.FinishLength, llm.FinishContextLength, llm.FinishContentFilter, llm.FinishError:
		return false
	}
	return true
}

// step makes a model call, with retries, and emits all its events but the last.
func (r *run) step(ctx context.Context, round int, emit func(llm.StreamEvent) bool) (*llm.Response, error) {
	if r.o.StepTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.o.StepTimeout,
			llm.Errorf(llm.ErrTimeout, "the model call of one step took longer than %v", r.o.StepTimeout))
		defer cancel()
	}
	req := *r.request
	req.Messages = r.result.Messages
	req.ToolChoice = r.choice(round)
	var resp *llm.Response
	for ev, err := range r.handler(ctx, &req) {
		switch {
		case err != nil:
			return nil, late(ctx, err)
		case ev.Type == llm.EventFinish:
			resp = ev.Response
		case !emit(ev):
			return nil, errLeft
		}
	}
	if resp == nil {
		return nil, llm.Errorf(llm.ErrStream, "the stream ended without a response")
	}
	return resp, nil
}

// choice returns the tool choice of a round. A forced choice holds for the first round only,
// because the model could otherwise never finish. The value of an Object is itself a call, so with
// tools some call is required until it comes.
func (r *run) choice(round int) llm.ToolChoice {
	first := r.request.ToolChoice
	switch {
	case r.object != nil && r.object.viaTool && (len(r.tools) == 1 || round >= r.o.rounds()):
		return llm.ToolChoice{Mode: llm.ToolNamed, Name: r.object.name}
	case r.object != nil && r.object.viaTool && round > 0:
		return llm.ToolChoice{Mode: llm.ToolRequired}
	case round > 0 && (first.Mode == llm.ToolRequired || first.Mode == llm.ToolNamed):
		return llm.ToolChoice{}
	}
	return first
}

// silently returns a handler that delivers a response only once it is whole. So a Retry around it
// can retry a response that broke off.
func silently(next llm.Handler) llm.Handler {
	return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return func(yield func(llm.StreamEvent, error) bool) {
			resp, err := llm.Collect(next(ctx, req))
			if err != nil {
				yield(llm.StreamEvent{}, err)
				return
			}
			yield(llm.StreamEvent{Type: llm.EventFinish, Response: resp}, nil)
		}
	}
}
