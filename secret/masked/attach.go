package masked

import (
	"context"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/tool"
)

// Attach puts the masker into the doors of a session, around what the options have there: the
// client, by [Provider], and those of [Doors]. It is called last, because what is added later is
// not masked. It does not set Options.System, which [Prompt] returns for a new session, nor the
// logger, which [secret.Masker.Log] masks.
func Attach(m *secret.Masker, o *agent.Options) {
	if o.Client != nil {
		client := *o.Client
		client.Middleware = slices.Concat([]llm.Middleware{Provider(m)}, client.Middleware)
		o.Client = &client
	}
	Doors(m, o)
}

// Doors puts the masker around OnEvent, BeforeInput, BeforeStop, Authorize, Approve, the
// middleware, the Answer of Questions and the Journal of Subagents.
func Doors(m *secret.Masker, o *agent.Options) {
	o.Middleware = slices.Concat([]tool.Middleware{Tools(m)}, o.Middleware)
	o.BeforeInput, o.BeforeStop = input(m, o.BeforeInput), stop(m, o.BeforeStop)
	o.Authorize, o.Approve = decisions(m, o.Authorize), decisions(m, o.Approve)
	o.OnEvent = Events(m, o.OnEvent)
	if o.Questions != nil && o.Questions.Answer != nil {
		questions := *o.Questions
		next := questions.Answer
		questions.Answer = func(ctx context.Context, q tool.Question) (tool.Answer, error) {
			return next(ctx, fields(m, q))
		}
		o.Questions = &questions
	}
	if o.Subagents != nil {
		agents := *o.Subagents
		agents.Journal = Journal(m, agents.Journal)
		o.Subagents = &agents
	}
}
