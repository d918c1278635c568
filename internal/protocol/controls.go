package protocol

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// Keep keeps rules that allow for later sessions in a project, or everywhere if that is empty, and
// returns the name of the file.
type Keep = func(ctx context.Context, project string, rules []string) (file string, err error)

// controls carries out lines that bring no inputs.
type controls struct {
	setup   *attractor.Setup
	asks    *Asks
	keep    Keep
	session *agent.Session
	tools   *programTools // nil where a program cannot bring any
}

// interrupt ends what runs.
func (c *controls) interrupt() {
	c.setup.StopCommand()
	c.session.Interrupt()
}

// control carries out a line about asks or the state. It returns false for other lines.
func (c *controls) control(ctx context.Context, in *input) (r *Reply, controls bool) {
	var reply Reply
	var err error
	switch in.Type {
	case TypeAnswer:
		err = c.asks.Reply(in.Ask, tool.Answer{Action: tool.Action(in.Action), Text: in.Text, Content: in.Content})
	case TypeApprove:
		err = c.approve(ctx, in)
	case TypeResult:
		if err = errNoTools; c.tools != nil {
			err = c.tools.result(in)
		}
	case TypeStatus:
		reply.Status = c.status()
	default:
		return nil, false
	}
	return c.answer(in, reply, err), true
}

// answer completes the reply to a line.
func (c *controls) answer(in *input, r Reply, err error) *Reply {
	r.EventHeader = agent.EventHeader{Kind: KindReply}
	r.Line, r.ReplyTo, r.Type, r.OK = in.number, in.ID, in.Type, err == nil
	if err != nil {
		r.Error, r.Cause = c.plain(err), err
	}
	return &r
}

// approve answers an ask about a call.
func (c *controls) approve(ctx context.Context, in *input) error {
	if in.Decision == "deny" {
		reason := "the user said no."
		if in.Reason != "" {
			reason += " " + in.Reason
		}
		return c.asks.Decide(in.Ask, permit.Answer{Verdict: tool.Deny, Reason: reason})
	}
	answer := permit.Answer{Verdict: tool.Allow, Remember: in.Remember != "", Args: string(in.Args)}
	if in.Mode != nil {
		answer.Mode = permit.Mode(*in.Mode)
	}
	for _, ask := range c.asks.Open() {
		if q := ask.Approval; q != nil && ask.ID == in.Ask && q.Allow != nil && (in.Mode == nil || q.Plan != "") {
			if err := c.keepRules(ctx, in.Remember, q); err != nil {
				return err
			}
		}
	}
	return c.asks.Decide(in.Ask, answer)
}

// keepRules keeps the rules of a question for later sessions, if an answer says so.
func (c *controls) keepRules(ctx context.Context, remember string, q *permit.Question) error {
	project := ""
	switch {
	case remember == rememberProject && q.Project == "":
		return errors.New(`the ask names no project: remember can be "session" or "always"`)
	case remember == rememberProject:
		project = q.Project
	case remember != rememberAlways:
		return nil
	}
	list := q.Lasting(project)
	if len(list) == 0 {
		return nil // they are about a directory that later sessions do not have
	}
	if _, err := c.keep(ctx, project, list); err != nil {
		return fmt.Errorf("the rules cannot be kept, and the ask goes on waiting: %w", err)
	}
	return nil
}

// status describes the session.
func (c *controls) status() *Status {
	s := &Status{State: c.session.Status(), Mode: c.setup.Mode(), Usage: c.session.Usage(), Asks: c.asks.Events()}
	s.Provider, s.Model, s.Effort = c.setup.Model()
	if s.Asks == nil {
		s.Asks = []attractor.Event{}
	}
	return s
}

// change changes settings. If one cannot be changed, those after it stay, and the error says which
// were changed.
func (c *controls) change(ctx context.Context, in *input) error {
	var changed []string
	for _, step := range []struct {
		name   string
		wanted bool
		do     func() error
	}{
		{"model", in.Model != nil || in.Provider != nil, func() error { return c.changeModel(ctx, in) }},
		{"effort", in.Effort != nil, func() error { return c.setup.SetEffort(ctx, *in.Effort) }},
		{"limits", in.MaxRounds != nil || in.MaxTurns != nil || in.MaxTokens != nil || in.MaxUSD != nil,
			func() error { return c.changeLimits(ctx, in) }},
		{"answer_timeout", in.AnswerTimeout != nil, func() error { c.asks.SetLimit(in.limit); return nil }},
		{"mode", in.Mode != nil, func() error { return c.setup.SetMode(ctx, permit.Mode(*in.Mode)) }},
	} {
		if !step.wanted {
			continue
		}
		if err := step.do(); err != nil {
			if changed != nil {
				return fmt.Errorf("%w (%s was changed before that)", err, strings.Join(changed, ", "))
			}
			return err
		}
		changed = append(changed, step.name)
	}
	return nil
}

// changeModel changes the model, which a new provider needs.
func (c *controls) changeModel(ctx context.Context, in *input) error {
	if in.Model == nil {
		return errors.New("another provider has other models: set model with provider")
	}
	provider := ""
	if in.Provider != nil {
		provider = *in.Provider
	}
	return c.setup.SetModel(ctx, provider, *in.Model)
}

// changeLimits changes those limits of the policy that a line has.
func (c *controls) changeLimits(ctx context.Context, in *input) error {
	p := c.session.Policy()
	for _, limit := range []struct{ to, from *int }{{&p.MaxToolRounds, in.MaxRounds}, {&p.MaxTurns, in.MaxTurns},
		{&p.Budget.Tokens, in.MaxTokens}} {
		if limit.from != nil {
			*limit.to = *limit.from
		}
	}
	if in.MaxUSD != nil {
		p.Budget.USD = *in.MaxUSD
	}
	return c.session.Set(ctx, agent.Settings{Policy: &p})
}

// maxError limits the text of an error, in bytes.
const maxError = 4 << 10

// plain returns an error's text without the names of packages, and without secrets.
func (c *controls) plain(err error) string {
	text := texts.Cut(c.setup.Secrets.String(err.Error()), maxError, "...")
	for _, name := range []string{"agent: ", "json: ", "llm: "} {
		text = strings.ReplaceAll(strings.TrimPrefix(text, name), ": "+name, ": ")
	}
	return text
}
