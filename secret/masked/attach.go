package masked

import (
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/tool"
)

// Attach puts the masker into the doors of a session, around what the options have there: the
// client, OnEvent, BeforeInput, BeforeStop, Authorize, Approve, the middleware, the Answer of
// Questions and the Journal of Subagents. It is called last, because what is added later is not
// masked. It does not set Options.System, which [Prompt] returns for a new session, nor the logger,
// which [secret.Masker.Log] masks.
func Attach(m *secret.Masker, o *agent.Options, options Options) {
	if o.Client != nil {
		client := *o.Client
		client.Middleware = slices.Concat([]llm.Middleware{Provider(m)}, client.Middleware)
		o.Client = &client
	}
	o.Middleware = slices.Concat([]tool.Middleware{Tools(m, options)}, o.Middleware)
	o.BeforeInput, o.BeforeStop = Input(m, o.BeforeInput), Stop(m, o.BeforeStop)
	o.Authorize, o.Approve = Decisions(m, o.Authorize), Decisions(m, o.Approve)
	o.OnEvent = Events(m, o.OnEvent)
	if o.Questions != nil {
		questions := *o.Questions
		questions.Answer = Question(m, questions.Answer)
		o.Questions = &questions
	}
	if o.Subagents != nil {
		agents := *o.Subagents
		agents.Journal = Journal(m, agents.Journal)
		o.Subagents = &agents
	}
}
