package masked

import (
	"context"
	"iter"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
)

// input returns a BeforeInput hook that masks what people write, and tells the model so. next is
// another such hook or nil; it gets the masked message, and its answer is masked as well.
func input(m *secret.Masker, next func(context.Context, agent.Message) (agent.Message, error)) func(context.Context,
	agent.Message) (agent.Message, error) {
	return func(ctx context.Context, msg agent.Message) (agent.Message, error) {
		text := m.String(msg.Text)
		changed := text != msg.Text
		msg.Text, msg.Parts, msg.Content = text, fields(m, msg.Parts), m.JSON(msg.Content)
		if next != nil {
			var err error
			if msg, err = next(ctx, msg); err != nil {
				return msg, m.Error(err)
			}
			msg.Text, msg.Parts, msg.Context = m.String(msg.Text), fields(m, msg.Parts), m.String(msg.Context)
		}
		if changed {
			if msg.Context != "" {
				msg.Context += "\n\n"
			}
			msg.Context += "Secrets in the message before were replaced by placeholders such as [secret NAME]. You " +
				"cannot see the values. Use them where they are kept, such as in a variable or a file, or ask for " +
				"another way."
		}
		return msg, nil
	}
}

// stop returns a BeforeStop hook that masks the prompts of next, such as the words of a check that
// has failed. A nil next returns nil.
func stop(m *secret.Masker,
	next func(context.Context, agent.Stop) (string, error)) func(context.Context, agent.Stop) (string, error) {
	if next == nil {
		return nil
	}
	return func(ctx context.Context, at agent.Stop) (string, error) {
		prompt, err := next(ctx, at)
		return m.String(prompt), m.Error(err)
	}
}

// Recall notes the placeholders in the history of a session that an earlier process has worked on.
// Call it after [agent.Resume], so that [Tools] refuses to write them into files. What the model
// wrote itself does not count.
func Recall(m *secret.Masker, history []agent.Turn) {
	for _, turn := range history {
		if turn.Kind == agent.TurnAssistant {
			continue
		}
		for _, part := range turn.Message.Parts {
			switch part := part.(type) {
			case llm.Text:
				m.Recall(part.Text)
			case llm.ToolResult:
				m.Recall(part.Content.Text())
			}
		}
	}
}

// Prompt returns the system prompt of a session with these options, for Options.System. The
// documents of a project may have secrets, and the journal keeps the prompt.
func Prompt(ctx context.Context, m *secret.Masker, o agent.Options) string {
	return m.String(agent.SystemPrompt(ctx, o))
}

// Provider returns a middleware for a [llm.Client] that masks the system prompt and the errors of
// providers. It should be the outermost.
func Provider(m *secret.Masker) llm.Middleware {
	return func(next llm.Handler) llm.Handler {
		return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
			return func(yield func(llm.StreamEvent, error) bool) {
				for ev, err := range next(ctx, maskSystem(m, req)) {
					if err != nil {
						err = maskFailure(m, err)
					}
					if !yield(ev, err) {
						return
					}
				}
			}
		}
	}
}

// maskSystem returns a request whose system prompt has no secrets.
func maskSystem(m *secret.Masker, req *llm.Request) *llm.Request {
	n := 0
	for n < len(req.Messages) && (req.Messages[n].Role == llm.RoleSystem || req.Messages[n].Role == llm.RoleDeveloper) {
		n++
	}
	system, changed := fieldsOf(m, req.Messages[:n:n])
	if !changed {
		return req
	}
	masked := *req
	masked.Messages, masked.Memo = append(system, req.Messages[n:]...), nil
	return &masked
}
