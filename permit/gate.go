package permit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// Gate decides which tool calls run. A call passes, in this order, the hooks before the rules, the
// rules, the hooks before the question, and the question to a person. Arguments that a hook or a
// person changes are validated and pass the rules again.
//
// Authorize and Approve are hooks of a session and of its subagents, and Middleware is one of its
// middlewares. All three are safe for concurrent use. The exported fields must not change once
// calls are judged; the mode may. The zero value is not usable; see [NewGate].
type Gate struct {
	Rules Rules
	// Env is the environment of the calls.
	Env env.Environment
	// BeforeRules are asked about each call, and BeforeQuestion about each call that a person would
	// be asked about.
	BeforeRules, BeforeQuestion []Hook
	// Ask asks a person. If it is nil, nobody can be asked, and such calls are refused.
	Ask Asker
	// HowToAllow is a sentence for the refusal of calls that a person could have allowed, if nobody
	// can be asked: how the user of the program allows them. It may be empty.
	HowToAllow string
	// Unasked reports whether a command that the built-in rules ask about runs without a question
	// where it can change nothing, as one that only reads does: a LocalOptions.Launch has to
	// confine commands with a context of [env.Observing]. If it is refused something there,
	// [Gate.Outside] asks. Unasked counts in the modes ask and accept-edits, and without
	// BeforeQuestion. Nil means no.
	Unasked func() bool
	// Exposed is called in ModeAcceptEdits when an edit asks because of what [env.Exposed] returns,
	// with that. Nil ignores it.
	Exposed func(why string)
	// Project names the project for which the rules that a person allows can be kept. Empty means
	// that there is none.
	Project string
	// LeavePlan changes the mode when a person has approved a plan, in a session whose model has
	// the tool of [ExitPlan]. Nil means that the model has none, so that only a person ends its
	// planning.
	LeavePlan func(Mode)

	*shared
	inner bool // it is for the calls of an agent that works elsewhere than the session
	// caught is how many of the remembered rules Rules has, and allowed how often rules were added
	// to it. The lock of shared guards both.
	caught, allowed int
}

// shared holds what the gates of a session have in common.
type shared struct {
	mode    atomic.Pointer[Mode]
	writes  atomic.Int64  // how many calls that may change something have ended
	writing atomic.Int64  // how many run
	turn    chan struct{} // full while a person is asked

	mu         sync.Mutex
	remembered []string // rules that a person has added
}

// NewGate returns a gate without hooks and without a person to ask. An empty mode means ModeAsk.
func NewGate(mode Mode, r Rules, e env.Environment) *Gate {
	g := &Gate{Rules: r, Env: e, shared: &shared{turn: make(chan struct{}, 1)}}
	g.SetMode(mode)
	return g
}

// Within returns a gate for the calls of an agent in surroundings of its own, with rules for these.
// It has the hooks, the person and the mode of g, also when that changes. Rules that a person adds
// at one of the gates count at all of them, except for those about the directory of the agent. The
// caller sets Unasked.
func (g *Gate) Within(r Rules, e env.Environment) *Gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	within := *g
	within.Rules, within.Env, within.Unasked, within.inner, within.caught = r, e, nil, true, 0
	return &within
}

// remember adds rules of a person to those of all gates of the session. It is called while nobody
// else is asked.
func (g *Gate) remember(list []string) error {
	g.catchUp()
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.Rules.Allow(list...); err != nil {
		return err
	}
	g.allowed++
	for _, rule := range list {
		if _, _, here := inDirectory(rule); !g.inner || !here {
			g.remembered = append(g.remembered, rule)
		}
	}
	g.caught = len(g.remembered)
	return nil
}

// catchUp adds the rules that a person has added at other gates, and returns how many times rules
// were added.
func (g *Gate) catchUp() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	for ; g.caught < len(g.remembered); g.caught++ {
		_ = g.Rules.Allow(g.remembered[g.caught]) // without the rule, calls are asked about again
		g.allowed++
	}
	return g.allowed
}

// Mode returns the mode, which says what becomes of the calls that the rules ask about.
func (g *Gate) Mode() Mode { return *g.mode.Load() }

// SetMode changes the mode for the calls that are judged from now on. An empty one means ModeAsk.
func (g *Gate) SetMode(m Mode) {
	m = cmp.Or(m, ModeAsk)
	g.mode.Store(&m)
}

// Rules judge tool calls; see [rules.Set]. While calls are judged they change only by Allow, which
// the gate calls.
type Rules interface {
	Decide(ctx context.Context, e env.Environment, req tool.Request) rules.Decision
	Allow(rules ...string) error
}

// maxEdits limits how often a call is judged again with other arguments before it is refused.
const maxEdits = 8

// passage is what a call carries from Authorize to Approve and to the middleware of a gate.
type passage struct {
	gate    *Gate
	wish    Opinion
	ruled   rules.Decision
	args    string // of the call that the rules decided about
	allowed int    // how often rules had been added then
	writes  int64  // of the gate, before
	// accepted says that a person has allowed the call as it was shown.
	accepted bool
	// passed says that Authorize has allowed the call, so that another hook has asked for an
	// approval.
	passed  bool
	touches *approval // what the call would touch then, or what it may touch
	planned bool      // a person has approved the plan
	changed bool      // and has changed it before
	values  []any     // of the hooks
	// observed says that nobody was asked, because the call runs a command where it can only read.
	observed bool
}

// Values returns the values of the hooks' opinions about a call, for middleware inside and outside
// of the gate's.
func Values(call *tool.Call) []any {
	if p, ok := call.Value.(*passage); ok {
		return p.values
	}
	return nil
}

// Observed reports whether a call runs a command that nobody was asked about, because the built-in
// rules take it for one that only reads, or because of Unasked. Commands of such a call start with
// a context of [env.Observing].
func (g *Gate) Observed(call *tool.Call) bool {
	p, ok := call.Value.(*passage)
	return ok && p.gate == g && p.observed
}

// Authorize implements [tool.Authorize]. It leaves to Approve what a person has to decide.
func (g *Gate) Authorize(ctx context.Context, req tool.Request) (tool.Decision, error) {
	sent := req.Call.Args
	p := &passage{gate: g}
	req, wish, err := p.consult(ctx, g.BeforeRules, req)
	if err != nil {
		return tool.Decision{}, err
	}
	p.wish = wish
	if g.isPlan(req) {
		return g.authorizePlan(ctx, req, sent, p), nil
	}
	j := g.judge(ctx, req, p)
	if j.Verdict == tool.Ask && g.CanAsk() {
		return decision(req, sent, tool.Ask, p), nil
	}
	p.passed = j.Verdict == tool.Allow
	return g.settle(req, sent, j, p), nil
}

// decide asks the rules about a call, unless they have decided about it before and it would still
// touch the same. It asks them each time about commands and searches, which depend on more than
// their paths. What the call would touch is looked up first: if a link changes after that, the call
// does not run.
func (g *Gate) decide(ctx context.Context, req tool.Request, p *passage) {
	allowed, touches := g.catchUp(), g.targets(ctx, req, false)
	bound := req.Access.Command == "" && req.Access.Effect != tool.ReadOnly
	if bound && p.touches != nil && p.args == req.Call.Args && p.allowed == allowed && p.touches.sameAs(touches) {
		return
	}
	p.writes = g.writes.Load()
	p.args, p.allowed, p.touches = req.Call.Args, allowed, touches
	p.ruled = g.Rules.Decide(ctx, g.Env, req)
}

// CanAsk reports whether Approve can answer a question in the current mode.
func (g *Gate) CanAsk() bool { return g.Mode().asks() && g.Attended() }

// Attended reports whether there is a person or a hook to ask.
func (g *Gate) Attended() bool { return g.Ask != nil || len(g.BeforeQuestion) > 0 }

// take waits until nobody else is asked. The caller then calls give.
func (g *Gate) take(ctx context.Context) (give func(), err error) {
	select {
	case g.turn <- struct{}{}:
		return func() { <-g.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Approve implements [tool.Authorize]. It waits until nobody else is asked and judges the call
// again, because an answer may have allowed it meanwhile. A call that Authorize did not leave to it
// is asked about, as for a hook that asks: another hook of the session beside the gate has.
func (g *Gate) Approve(ctx context.Context, req tool.Request) (tool.Decision, error) {
	give, err := g.take(ctx)
	if err != nil {
		return tool.Decision{}, err
	}
	defer give()
	p := &passage{gate: g, passed: true}
	if carried, ok := req.Value.(*passage); ok && carried.gate == g {
		*p = *carried
	}
	if p.passed {
		p.wish = Opinion{Says: Asks}
	}
	if g.isPlan(req) {
		return g.approvePlan(ctx, req, p)
	}
	sent, hooked, problem := req.Call.Args, false, ""
	for range maxEdits {
		j := g.judge(ctx, req, p)
		if j.Verdict != tool.Ask {
			return g.settle(req, sent, j, p), nil
		}
		if !hooked && len(g.BeforeQuestion) > 0 {
			if req, err = g.beforeQuestion(ctx, req, p); err != nil {
				return tool.Decision{}, err
			}
			hooked = true
			continue
		}
		if g.Ask == nil {
			return g.settle(req, sent, j, p), nil
		}
		if why := g.beyond(ctx, req, p); why != nil {
			return tool.Decision{Reason: why.Error()}, nil
		}
		shown := g.targets(ctx, req, true)
		if !shown.sameAs(p.touches) { // since the rules have decided
			continue
		}
		p.touches = shown
		answer, err := g.Ask(ctx, g.questionFor(ctx, req, j, problem))
		if err != nil {
			return tool.Decision{}, err
		}
		if answer.Verdict != tool.Allow {
			return tool.Decision{Reason: answer.Reason}, nil
		}
		if answer.Args == "" || answer.Args == req.Call.Args {
			return g.accept(ctx, req, sent, j, answer, p)
		}
		edited, err := req.WithArgs(ctx, answer.Args)
		if err != nil {
			problem = err.Error()
			continue
		}
		req, problem = edited, ""
	}
	return tool.Decision{Reason: fmt.Sprintf(
		"its arguments, or what it would touch, were changed %d times without a decision", maxEdits)}, nil
}

// beyond returns an error if a call of a file tool would fail whatever a person answers, because
// one of its files is in none of the directories of the environment.
func (g *Gate) beyond(ctx context.Context, req tool.Request, p *passage) error {
	if !p.ruled.Files {
		return nil
	}
	for _, name := range req.Access.Paths {
		if _, err := env.Resolve(ctx, g.Env, name); errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// Outside asks a person whether the command of a call, which the sandbox has refused something, may
// run once more outside it. Nobody else can allow that: no rule, no hook and no mode. It returns
// false if there is nobody to ask, and in plan mode.
func (g *Gate) Outside(ctx context.Context, call *tool.Call, refused []string) (bool, error) {
	if m := g.Mode(); m != ModeAsk && m != ModeAcceptEdits || g.Ask == nil {
		return false, nil
	}
	give, err := g.take(ctx)
	if err != nil {
		return false, err
	}
	defer give()
	req := requestOf(call)
	q := g.questionFor(ctx, req, judgement{}, "")
	q.Refused = refused
	answer, err := g.Ask(ctx, q)
	return err == nil && answer.Verdict == tool.Allow && answer.Args == "" && g.Mode() != ModePlan, err
}

// requestOf returns the request for a decision about a call.
func requestOf(call *tool.Call) tool.Request {
	return tool.Request{SessionID: call.SessionID, AgentID: call.AgentID, Dir: call.Env.WorkDir(), Access: call.Access,
		Call: llm.ToolCall{ID: call.ID, Name: call.Name, Args: call.Args}}
}

// beforeQuestion asks the hooks before the question. What they allow counts as if the hooks before
// the rules had.
func (g *Gate) beforeQuestion(ctx context.Context, req tool.Request, p *passage) (tool.Request, error) {
	req, answer, err := p.consult(ctx, g.BeforeQuestion, req)
	if p.wish.Says == NoOpinion || answer.Says == Denies {
		p.wish = answer
	}
	return req, err
}

// accept carries out a person's approval.
func (g *Gate) accept(ctx context.Context, req tool.Request, sent string, j judgement, answer Answer,
	p *passage) (tool.Decision, error) {
	if g.Mode() == ModePlan { // since the question appeared, perhaps
		again := *p // which is bound to what was shown
		if now := g.judge(ctx, req, &again); now.Verdict == tool.Deny {
			return g.settle(req, sent, now, p), nil
		}
	}
	if answer.Remember && len(j.Suggest) > 0 {
		if err := g.remember(j.Suggest); err != nil {
			return tool.Decision{}, fmt.Errorf("cannot allow %q: %w", j.Suggest, err)
		}
	}
	p.accepted = true
	return decision(req, sent, tool.Allow, p), nil
}

// settle returns the final decision for a judgement, without asking a person.
func (g *Gate) settle(req tool.Request, sent string, j judgement, p *passage) tool.Decision {
	switch {
	case j.Verdict == tool.Allow:
		p.observed = j.Script && j.Default && j.Reads && p.wish.Says != Allows && g.Mode() != ModeFull
		return decision(req, sent, tool.Allow, p)
	case j.Verdict == tool.Ask && g.HowToAllow != "":
		return tool.Decision{Reason: j.refusal() + ". " + g.HowToAllow}
	}
	return tool.Decision{Reason: j.refusal()}
}

// decision returns a verdict with the arguments of the request if these are not the ones that were
// sent.
func decision(req tool.Request, sent string, v tool.Verdict, p *passage) tool.Decision {
	d := tool.Decision{Verdict: v, Value: p}
	if req.Call.Args != sent {
		d.Args = req.Call.Args
	}
	return d
}
