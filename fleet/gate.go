package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/tool"
)

// errClosedGate says why an effect was refused. Only logs show it: the session is not this worker's
// any more.
var errClosedGate = errors.New("fleet: the worker's hold on the task has ended")

// A gate says whether this worker may still have effects for a task: while its lease and its claim
// hold. It is asked right before each effect, because the process may have been stopped at any
// point before. Once it was closed it stays closed.
type gate struct {
	lease  Lease
	closed atomic.Bool

	mu    sync.Mutex
	until time.Time // when the claim ends
}

// extend moves the end of the claim.
func (g *gate) extend(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = until
}

// end returns when the gate closes unless lease and claim are extended.
func (g *gate) end() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if lease := g.lease.Until(); lease.Before(g.until) {
		return lease
	}
	return g.until
}

// open reports whether effects are allowed. Time that has passed by either of the machine's clocks
// counts: the monotonic one does not go on while a machine is suspended, and the other one may be
// set back.
func (g *gate) open() bool {
	if g.closed.Load() {
		return false
	}
	now, end := time.Now(), g.end()
	if now.Before(end) && now.Round(0).Before(end.Round(0)) {
		return true
	}
	g.closed.Store(true)
	return false
}

// close closes the gate for good.
func (g *gate) close() { g.closed.Store(true) }

// check returns an error if the gate is closed.
func (g *gate) check() error {
	if !g.open() {
		return errClosedGate
	}
	return nil
}

// middleware keeps calls from beginning once the gate is closed. They stay open for the next owner.
func (g *gate) middleware(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		if !g.open() {
			return tool.Result{}, fmt.Errorf("%w: %w", errClosedGate, tool.ErrNotBegun)
		}
		return next(ctx, call)
	}
}

// tools returns tools that ask the gate once more when their calls have begun: between a call's
// record and its effect the process may have been stopped for long. The list and its tools are
// copies.
func (g *gate) tools(tools []tool.Tool) []tool.Tool {
	gated := make([]tool.Tool, len(tools))
	for i, t := range tools {
		run := t.Run
		if gated[i] = t; run == nil {
			continue
		}
		gated[i].Run = func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			if err := g.check(); err != nil {
				return tool.Result{}, err
			}
			return run(ctx, call)
		}
	}
	return gated
}

// gatedEnv is an environment that changes nothing and starts nothing once the gate is closed.
// Reading goes on.
type gatedEnv struct {
	env.Checked
	gate *gate
}

// environment returns the environment behind the gate.
func (g *gate) environment(e env.Environment) env.Environment {
	check := func(context.Context, string, string) error { return g.check() }
	return &gatedEnv{env.Checked{Base: env.Base{Environment: e}, Check: check}, g}
}

func (e *gatedEnv) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	if err := e.gate.check(); err != nil {
		return nil, err
	}
	return e.Environment.Start(ctx, cmd)
}

// OpenDir implements [env.DirOpener].
func (e *gatedEnv) OpenDir(ctx context.Context, name string) (env.Dir, error) {
	return env.OpenDir(ctx, e.Environment, name)
}

// Below implements [env.View]: searches read the environment itself.
func (e *gatedEnv) Below(context.Context, string, string) (env.Environment, func(error)) {
	return e.Environment, func(error) {}
}

// gatedLog is the log of a session, which takes no record once the gate is closed. To the session
// that is what a takeover looks like.
type gatedLog struct {
	journal.Log
	gate  *gate
	close func() error
}

// log returns a log behind the gate.
func (g *gate) log(l journal.Log) *gatedLog {
	return &gatedLog{Log: l, gate: g, close: sync.OnceValue(l.Close)}
}

// Append implements [journal.Log].
func (l *gatedLog) Append(ctx context.Context, next int64, records ...journal.Record) error {
	if !l.gate.open() {
		return fmt.Errorf("%w: %w", errClosedGate, journal.ErrConflict)
	}
	return l.Log.Append(ctx, next, records...)
}

// Close implements [journal.Reader]. It may be called again.
func (l *gatedLog) Close() error { return l.close() }
