package debuglog

import (
	"context"
	"iter"
	"log/slog"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/tool"
)

// Logger returns a logger whose lines are masked and go to the log. It returns nil for a nil Log.
func (l *Log) Logger(m *secret.Masker) *slog.Logger {
	if l == nil {
		return nil
	}
	return slog.New(m.Log(l.handler))
}

// Attach lets the log name the callers of a session's requests, and have what its calls do with
// files and commands. The options have a logger of the log.
func Attach(o *agent.Options) {
	client := *o.Client
	client.Middleware = append(slices.Clip(client.Middleware), callers)
	o.Client = &client
	o.Middleware = append(slices.Clip(o.Middleware), tools(o.Logger))
}

// callerKey is the key of the caller of a request in a context.
type callerKey struct{}

// callers is a middleware that puts the callers of requests into their contexts.
func callers(next llm.Handler) llm.Handler {
	return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return next(context.WithValue(ctx, callerKey{}, req.Caller), req)
	}
}

// callerAttrs returns who has made a request.
func callerAttrs(ctx context.Context) (attrs []slog.Attr) {
	c, ok := ctx.Value(callerKey{}).(llm.Caller)
	if !ok {
		return nil
	}
	attrs = append(attrs, slog.String("session", c.Session))
	if c.Agent != "" {
		attrs = append(attrs, slog.String("agent", c.Agent))
	}
	return append(attrs, slog.Int("step", c.Step), slog.Int("attempt", c.Attempt),
		slog.String("purpose", string(c.Purpose)))
}

// tools returns a middleware that logs what calls do with files and commands.
func tools(log *slog.Logger) tool.Middleware {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			attrs := []any{slog.String("session", call.SessionID)}
			if call.AgentID != "" {
				attrs = append(attrs, slog.String("agent", call.AgentID))
			}
			attrs = append(attrs, slog.String("call", call.ID), slog.String("tool", call.Name))
			logged := *call
			logged.Env = env.Logging(call.Env, log.With(attrs...))
			return next(ctx, &logged)
		}
	}
}
