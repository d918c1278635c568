package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Result holds the outcome of an input. After follow-ups [Session.Submit] returns the outcome of
// the last one, with the sums of all.
type Result struct {
	Text       string     `json:"text"` // of the last answer, joined to the answers that it continues
	Reason     Reason     `json:"reason"`
	Finish     llm.Finish `json:"finish,omitzero"` // why the last answer ended
	Usage      llm.Usage  `json:"usage"`
	CostUSD    float64    `json:"cost_usd,omitempty"` // 0 where prices are unknown
	Turns      int        `json:"turns"`
	ToolRounds int        `json:"tool_rounds"`
	// Unconfirmed reports that the task counts as done only because Hooks.BeforeStop has sent the
	// agent back as often as Policy.MaxConfirms allows: the last answer was not shown to it.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
}

// Result returns the outcome of the last input that has ended, with the sums of that input alone.
// It returns nil before the first.
func (s *Session) Result() *Result {
	_, in := s.inputs()
	if in == nil {
		return nil
	}
	return in.result()
}

// result returns the outcome of an input that has ended.
func (in *Input) result() *Result {
	return &Result{Text: in.Final, Reason: in.Reason, Finish: in.Finish, Usage: in.Usage, CostUSD: in.Cost,
		Turns: in.Turns, ToolRounds: in.Rounds, Unconfirmed: in.Unconfirmed}
}

// result returns the Result of the work since before, whose last input is in.
func (s *Session) result(in *Input, before totals) *Result {
	now, r := s.state.totals(), in.result()
	r.Usage, r.CostUSD = now.usage.Sub(before.usage), now.cost-before.cost
	r.Turns, r.ToolRounds = now.turns-before.turns, now.rounds-before.rounds
	return r
}

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

// Run gives the session a task, as Submit does when the loop over Run begins, and yields the events
// of the work on it, up to the end of its last follow-up. If Submit would return an error, a last
// pair has that and no event. [Session.Result] has the outcome afterwards. If a [Key] names an
// input that is done already, there are no events, and Result has its text.
//
//	for event, err := range session.Run(ctx, "fix the failing test") {
//		if err != nil {
//			return err
//		}
//		if e, ok := event.(*agent.AssistantTextEnd); ok {
//			fmt.Println(e.Text)
//		}
//	}
//
// Leaving the loop early interrupts the input, and waits for its end; so does the end of ctx, whose
// cause is then the error. The events are those of
// [Session.Events]: a slow loop does not hold up the session, and gets deltas joined. OnEvent gets
// its events beside that. While other work goes on in the session, Run yields only an [ErrBusy].
func (s *Session) Run(ctx context.Context, prompt string, more ...SendOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		run, interrupt := context.WithCancel(ctx)
		working, done := context.WithCancel(context.WithoutCancel(ctx))
		begun := make(chan int64, 1)
		var err error
		go func() {
			defer done()
			defer close(begun)
			_, err = s.submitText(run, prompt, more, func() { begun <- s.events.newest() })
		}()
		defer func() { <-working.Done() }() // also if the loop panics
		defer interrupt()
		if from, ok := <-begun; ok && !s.events.yieldWhile(working, from,
			func(ev Event) bool { return yield(ev, nil) }) {
			return
		}
		if <-working.Done(); err != nil {
			yield(nil, err)
		}
	}
}

// yieldWhile yields the events after number from that come until ctx ends. It returns false if
// yield did.
func (s *eventStream) yieldWhile(ctx context.Context, from int64, yield func(Event) bool) bool {
	c := cursor{stream: s, at: from}
	for ev := c.next(ctx); ev != nil; ev = c.next(ctx) {
		if !c.pass(ctx, ev, yield) {
			return false
		}
	}
	<-ctx.Done() // or SESSION_END came before it
	last := s.newest()
	for ev := c.nextUpTo(last); ev != nil; ev = c.nextUpTo(last) {
		if !c.pass(context.WithoutCancel(ctx), ev, yield) {
			return false
		}
	}
	return true
}
