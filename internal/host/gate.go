package host

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// Gate decides which tool calls run. A call passes, in this order, the hooks before the rules, the rules, the hooks before the question,
// and the question to a person. Arguments that a hook or a person changes are validated and pass the rules again.
//
// Authorize and Approve are hooks of a session and of its subagents, and Middleware is one of its middlewares. All three are safe for
// concurrent use. The exported fields must not change once a session has begun; the mode may.
type Gate struct {
	Rules Rules
	// Env is the environment of the calls.
	Env env.Environment
	// BeforeRules are asked about each call, and BeforeQuestion about each call that a person would be asked about.
	BeforeRules, BeforeQuestion []Hook
	// Ask asks a person. If it is nil, nobody can be asked, and such calls are refused.
	Ask Asker

	mode  atomic.Pointer[Mode]
	leave func(Mode) // changes the mode when a plan is approved; nil without exit_plan_mode

	turn         chan struct{} // full while a person is asked
	mu           sync.Mutex
	wishes       recent[Opinion]   // for Approve
	approved     recent[*approval] // for Middleware
	changedPlans recent[bool]      // for exit_plan_mode
}

// NewGate returns a gate without hooks and without a person to ask.
func NewGate(mode Mode, r Rules, e env.Environment) *Gate {
	g := &Gate{Rules: r, Env: e, turn: make(chan struct{}, 1)}
	g.SetMode(mode)
	return g
}

// Mode returns the mode, which says what becomes of the calls that the rules ask about.
func (g *Gate) Mode() Mode { return *g.mode.Load() }

// SetMode changes the mode for the calls that are judged from now on. An empty one means ModeAsk.
func (g *Gate) SetMode(m Mode) {
	m = cmp.Or(m, ModeAsk)
	g.mode.Store(&m)
}

// Rules judge tool calls; see [rules.Set].
type Rules interface {
	Decide(ctx context.Context, e env.Environment, req tool.Request) rules.Decision
	Allow(rules ...string) error
}

// maxEdits limits how often a call is judged again with other arguments before it is refused.
const maxEdits = 8

// Authorize implements [tool.Authorize]. It leaves to Approve what a person has to decide.
func (g *Gate) Authorize(ctx context.Context, req tool.Request) (tool.Decision, error) {
	sent := req.Call.Args
	req, wish, err := consult(ctx, g.BeforeRules, req)
	if err != nil {
		return tool.Decision{}, err
	}
	if g.isPlan(req) {
		return g.authorizePlan(ctx, req, sent, wish), nil
	}
	j := g.judge(ctx, req, wish)
	if j.Verdict == tool.Ask && g.CanAsk() {
		g.mu.Lock()
		g.wishes.put(keyOf(req), wish)
		g.mu.Unlock()
		return decision(req, sent, tool.Ask), nil
	}
	return g.settle(ctx, req, sent, j), nil
}

// CanAsk reports whether Approve can answer a question in the current mode.
func (g *Gate) CanAsk() bool { return g.Mode().asks() && g.answers() }

// answers reports whether there is a person or a hook to ask.
func (g *Gate) answers() bool { return g.Ask != nil || len(g.BeforeQuestion) > 0 }

// Approve implements [tool.Authorize]. It waits until nobody else is asked and judges the call again, because an answer may have allowed it
// meanwhile.
func (g *Gate) Approve(ctx context.Context, req tool.Request) (tool.Decision, error) {
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return tool.Decision{}, context.Cause(ctx)
	}
	if g.isPlan(req) {
		return g.approvePlan(ctx, req)
	}
	g.mu.Lock()
	wish, known := g.wishes.take(keyOf(req))
	g.mu.Unlock()
	if !known {
		wish.Says = Asks
	}
	sent, hooked, problem := req.Call.Args, false, ""
	for range maxEdits {
		j := g.judge(ctx, req, wish)
		if j.Verdict != tool.Ask {
			return g.settle(ctx, req, sent, j), nil
		}
		if !hooked && len(g.BeforeQuestion) > 0 {
			var err error
			if req, wish, err = g.beforeQuestion(ctx, req, wish); err != nil {
				return tool.Decision{}, err
			}
			hooked = true
			continue
		}
		if g.Ask == nil {
			return g.settle(ctx, req, sent, j), nil
		}
		shown := g.targets(ctx, req, true)
		answer, err := g.Ask(ctx, g.questionFor(ctx, req, j, problem))
		if err != nil {
			return tool.Decision{}, err
		}
		if answer.Verdict != tool.Allow {
			return tool.Decision{Reason: answer.Reason}, nil
		}
		if answer.Args == "" || answer.Args == req.Call.Args {
			if g.Mode() == ModePlan { // since the question appeared, perhaps
				if now := g.judge(ctx, req, wish); now.Verdict == tool.Deny {
					return g.settle(ctx, req, sent, now), nil
				}
			}
			return g.accept(req, sent, j, answer, shown)
		}
		edited, err := req.WithArgs(ctx, answer.Args)
		if err != nil {
			problem = err.Error()
			continue
		}
		req, problem = edited, ""
	}
	return tool.Decision{Reason: fmt.Sprintf("its arguments were changed %d times without a decision", maxEdits)}, nil
}

// Outside asks a person whether the command of a call, which the sandbox has refused something, may run once more outside it. Nobody else
// can allow that: no rule, no hook and no mode. It returns false if there is nobody to ask, and in plan mode.
func (g *Gate) Outside(ctx context.Context, call *tool.Call, refused []string) (bool, error) {
	if m := g.Mode(); m != ModeAsk && m != ModeAcceptEdits || g.Ask == nil {
		return false, nil
	}
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	req := tool.Request{SessionID: call.SessionID, AgentID: call.AgentID, Dir: call.Env.WorkDir(), Access: call.Access,
		Call: llm.ToolCall{ID: call.ID, Name: call.Name, Args: call.Args}}
	q := g.questionFor(ctx, req, judgement{}, "")
	q.Refused = refused
	answer, err := g.Ask(ctx, q)
	return err == nil && answer.Verdict == tool.Allow && answer.Args == "" && g.Mode() != ModePlan, err
}

// beforeQuestion asks the hooks before the question. What they allow counts as if the hooks before the rules had.
func (g *Gate) beforeQuestion(ctx context.Context, req tool.Request, wish Opinion) (tool.Request, Opinion, error) {
	req, answer, err := consult(ctx, g.BeforeQuestion, req)
	if wish.Says == NoOpinion || answer.Says == Denies {
		wish = answer
	}
	return req, wish, err
}

// accept carries out a person's approval.
func (g *Gate) accept(req tool.Request, sent string, j judgement, answer Answer, shown *approval) (tool.Decision, error) {
	if answer.Remember && len(j.Suggest) > 0 {
		if err := g.Rules.Allow(j.Suggest...); err != nil {
			return tool.Decision{}, fmt.Errorf("cannot allow %q: %w", j.Suggest, err)
		}
	}
	g.approve(req, shown)
	return decision(req, sent, tool.Allow), nil
}

// settle returns the decision for a judgement that no person can change any more.
func (g *Gate) settle(ctx context.Context, req tool.Request, sent string, j judgement) tool.Decision {
	if j.Verdict == tool.Allow {
		g.approve(req, g.targets(ctx, req, false))
		return decision(req, sent, tool.Allow)
	}
	return tool.Decision{Reason: j.refusal()}
}

// decision returns a verdict with the arguments of the request if these are not the ones that were sent.
func decision(req tool.Request, sent string, v tool.Verdict) tool.Decision {
	d := tool.Decision{Verdict: v}
	if req.Call.Args != sent {
		d.Args = req.Call.Args
	}
	return d
}

// callKey identifies a call in this process.
type callKey struct{ session, call string }

func keyOf(req tool.Request) callKey { return callKey{req.SessionID, req.Call.ID} }

// recent holds values for calls until they are taken. Calls that never come are forgotten after many others.
type recent[T any] struct {
	values map[callKey]T
	order  []callKey
}

// maxRecent limits the calls of which a gate knows something.
const maxRecent = 4096

func (r *recent[T]) put(key callKey, value T) {
	if r.values == nil {
		r.values = map[callKey]T{}
	}
	if len(r.order) == maxRecent {
		delete(r.values, r.order[0])
		r.order = r.order[1:]
	}
	r.values[key], r.order = value, append(r.order, key)
}

func (r *recent[T]) take(key callKey) (value T, ok bool) {
	value, ok = r.values[key]
	delete(r.values, key)
	return value, ok
}
