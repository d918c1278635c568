package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

// tokensOf returns the estimated size of a request, in tokens.
func tokensOf(req *llm.Request) int {
	var c Context
	c.AddTools(req.Tools)
	for _, m := range req.Messages {
		c.Add(m)
	}
	return c.Tokens()
}

// A sideAnswer holds the text of a side call, and the usage and cost of its last attempt.
type sideAnswer struct {
	text  string
	usage llm.Usage
	cost  float64
}

// sideCall asks a model something outside of the history, without tools, with its own retries and
// within the budget. Input is the size of the request in tokens. Failed attempts before the last
// one, and attempts that the end of ctx cut off, get records of their own.
func (s *Session) sideCall(ctx context.Context, side *llm.Request, input int) (sideAnswer, error) {
	for attempt := 1; ; attempt++ {
		sent := *side // an abandoned attempt may still read it
		req := &sent
		req.Caller.Attempt = attempt
		var a attemptStream
		resp, used, cost, err := s.withinBudget(ctx, req, input, &a, func() (*llm.Response, error) {
			resp, err := s.attempt(ctx, req, &a)
			if err == nil {
				err = conversation.Useless(resp)
			}
			return resp, err
		})
		var over *OverBudget
		if errors.As(err, &over) {
			return sideAnswer{}, fmt.Errorf("the budget does not have it (%s)", over.Limit)
		}
		if err == nil {
			return sideAnswer{text: conversation.LastText(resp), usage: used, cost: cost}, nil
		}
		delay, again := s.delay(attempt, err)
		again = again && ctx.Err() == nil
		if !again && ctx.Err() == nil {
			return sideAnswer{usage: used, cost: cost}, err
		}
		spent := spentRecord{Attempt: attempt, Fault: faultOf(err, nil, 0).Fault}
		spent.Usage, spent.Cost = used, cost
		if again {
			spent.Delay, spent.RetryAt = delay, stamp(s.now().Add(delay))
		}
		if failed := s.commit(spent); failed != nil {
			return sideAnswer{}, failed
		}
		if !again {
			return sideAnswer{}, err
		}
		s.events.flush()
		if s.sleep(ctx, spent.RetryAt); s.givenAway() != nil {
			return sideAnswer{}, s.givenAway()
		}
	}
}

// facts returns what the catalog knows of a model, nil if it does not know it.
func (s *Session) facts(provider, model string) *llm.Model {
	if s.client.Models == nil {
		return nil
	}
	facts, _ := trusted(s, "the client's Models", func() *llm.Model {
		if m, ok := s.client.Models(provider, model); ok {
			return &m
		}
		return nil
	})
	return facts
}

// provider returns the client's provider of a name.
func (s *Session) provider(name string) (llm.Provider, error) {
	p, err := host(s.running(), s, "the Name of a provider", s.limits.Grace,
		func() (llm.Provider, error) { return s.client.Provider(name) })
	if isHostError(err) || errors.Is(err, ErrStuck) {
		s.breakDown(err)
	}
	return p, err
}

// able returns what a provider says by an optional method, false if it lacks that, or if the client
// lacks the provider.
func able[P any](s *Session, name, method string, ask func(P) bool) bool {
	provider, err := s.provider(name)
	p, has := provider.(P)
	if err != nil || !has {
		return false
	}
	says, _ := trusted(s, "the provider's "+method, func() bool { return ask(p) })
	return says
}

// summarize asks the model for a last text at a limit and ends the input with it.
func (s *Session) summarize(ctx context.Context, step Step) error {
	if err := s.sync(context.Background()); err != nil {
		return err
	}
	s.mu.Lock()
	req := s.request()
	input := s.state.Context.Tokens() + len(limitPrompt)/charsPerToken
	s.mu.Unlock()
	s.addFacts(req)
	end := endRecord{Reason: step.Reason, Value: step.Value, Summary: noSummary}
	if len(req.Tools) > 0 {
		req.ToolChoice = llm.ToolChoice{Mode: llm.ToolNone}
	}
	req.Format = nil // the text is not the structured result
	req.Caller.Purpose = PurposeLastText
	req.Messages = append(req.Messages, llm.User(limitPrompt))
	answer, err := s.sideCall(ctx, req, input)
	if err != nil && (ctx.Err() != nil || errors.Is(err, s.givenAway())) {
		return nil
	}
	end.Usage, end.Cost = answer.usage, answer.cost
	end.Summary = cmp.Or(strings.TrimSpace(answer.text), noSummary)
	return s.commit(end)
}

const (
	limitPrompt = "The limit of this task is reached: no more tools can be used. Say in a few sentences what was " +
		"done, what was found out, and what is left to do."
	noSummary = "The task was stopped at its limit, and no summary of it could be made."
)
