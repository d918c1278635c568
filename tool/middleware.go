package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
)

// Handler runs a call. It is a tool's Run, or a [Middleware] around it.
type Handler func(ctx context.Context, call *Call) (Result, error)

// Middleware wraps a handler. It sees every call that was validated and permitted, before the call
// begins.
//
// It may refuse the call by returning a Result or an error without calling next. It may call next
// with a copy of the call that has another Env, Live or Session; changes to the call's other fields
// have no effect. It may append to the Result, which is then cleaned and truncated like any tool's.
// If it returns [ErrNotBegun], the call stays open.
//
// It must call next at most once, and before it returns: any other call of next returns an error
// and runs nothing. If it returns before next does, the context of next ends, and the Result counts
// once next has returned. Several goroutines use a middleware at once.
type Middleware func(next Handler) Handler

// ErrNotBegun is returned by a [Middleware] that has not called next, to leave the call open. Such
// a call has no result and can run later. The session is then released, and the model is told
// nothing.
var ErrNotBegun = errors.New("the call has not begun and stays open")

// The states of an execution. The innermost handler runs only in stateWaiting.
const (
	stateWaiting int32 = iota
	stateBegun
	stateOver
)

// execution holds one run of a prepared call through its middleware.
type execution struct {
	*Prepared
	ctx   context.Context // ends when the outermost handler has returned
	begin func(context.Context) error
	state atomic.Int32

	// These are written before ended is closed.
	ended   chan struct{}
	refused error // the error of begin
	ran     bool
	start   time.Time
	stack   string
}

// Run runs the call inside its middleware, the first being outermost. If begin is not nil, it is
// called once, right before the tool; its error keeps the tool from running. Run sets those fields
// of c that describe the call. If the call was refused, Run returns its outcome.
func (p *Prepared) Run(ctx context.Context, c Call, chain []Middleware, begin func(context.Context) error) *Outcome {
	if p.Outcome != nil {
		return p.Outcome
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	x := &execution{Prepared: p, ctx: ctx, begin: begin, ended: make(chan struct{}), start: time.Now()}
	handler := Handler(x.runTool)
	p.fill(&c)
	result, stack, err := x.runMiddleware(handler, chain, &c)
	if !x.state.CompareAndSwap(stateWaiting, stateOver) {
		cancel(errors.New("the middleware around the call has returned"))
		<-x.ended
	}
	return x.outcome(c.Session, result, stack, err)
}

// fill sets the fields of c that describe the prepared call.
func (p *Prepared) fill(c *Call) {
	call := p.asked()
	c.ID, c.Name, c.Args, c.Access, c.Approved, c.Value, c.meant = call.ID, call.Name, call.Args, p.Access, p.approved,
		p.value, p.meant
}

// runMiddleware calls the handler inside the chain.
func (x *execution) runMiddleware(handler Handler, chain []Middleware,
	c *Call) (result Result, stack string, err error) {
	if len(chain) == 0 {
		result, err = handler(x.ctx, c)
		return result, "", err
	}
	return catch("middleware around "+c.Name, func() (Result, error) {
		for _, m := range slices.Backward(chain) {
			handler = m(handler)
		}
		return handler(x.ctx, c)
	})
}

// runTool is the innermost handler. Its tool's context ends with the given context and with that of
// the execution.
func (x *execution) runTool(ctx context.Context, given *Call) (Result, error) {
	if !x.state.CompareAndSwap(stateWaiting, stateBegun) {
		return Result{}, fmt.Errorf(
			"the call of %s was not run again: a middleware calls next once, and before it returns", x.asked().Name)
	}
	defer close(x.ended)
	if ctx != x.ctx { // a middleware has made another one
		inner, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(x.ctx, func() { cancel(context.Cause(x.ctx)) })()
		ctx = inner
	}
	if x.begin != nil {
		if x.refused = x.begin(ctx); x.refused != nil {
			return Result{}, x.refused
		}
	}
	c := *given
	x.fill(&c)
	x.ran, x.start = true, time.Now()
	result, stack, err := catch("tool "+c.Name, func() (Result, error) { return x.tool.Run(ctx, &c) })
	x.stack = stack
	return result, err
}

// afterLoss returns what a model should know besides the error if the connection to the environment
// was lost, or "".
func (x *execution) afterLoss(err error) string {
	switch {
	case !errors.Is(err, env.ErrLost):
		return ""
	case x.Access.Effect == ReadOnly:
		return ". The next call tries to connect again."
	}
	return ". What the call had done by then is unknown: look at it before you repeat the call. The next call tries " +
		"to connect again."
}

// outcome returns the outcome for what the outermost handler returned.
func (x *execution) outcome(s Session, result Result, stack string, err error) *Outcome {
	open := err
	if x.refused != nil { // even if the middleware replaced the error
		open = x.refused
	}
	switch {
	case !x.ran && errors.Is(open, ErrNotBegun):
		return &Outcome{NotBegun: open}
	case x.ran && stack != "":
		result = Errorf("Error: the call of %s has run, but its result is lost, because a middleware around it is "+
			"broken. Look at the current state before you go on.", x.Call.Name)
	case x.ran && errors.Is(err, ErrNotBegun):
		result = Errorf("Error: the call of %s has run, but its result is lost: a middleware reported that it had "+
			"not begun. Look at the current state before you go on.", x.Call.Name)
	case err != nil:
		result = Errorf("Error: %s%s", texts.Error(err), x.afterLoss(err))
	}
	if result.OutputRef != "" && x.readable {
		result.Hint = keptHint(result.OutputRef)
	}
	o := newOutcome(result, x.tool.Limit)
	if o.Truncated && x.readable && o.OutputRef == "" && o.Gap.Bytes == 0 {
		o = x.keepOutput(result, o, s)
	}
	if x.ignored != "" {
		o.appendLine(sanitize.Text("[Ignored: " + x.ignored + ".]"))
	}
	for _, m := range x.meant {
		if m.used.Load() {
			o.appendLine(m.said())
		}
	}
	o.Duration, o.Panic = time.Since(x.start), x.stack
	if stack != "" {
		o.Panic = stack
	}
	return o
}
