package otel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/attractor-go/attractor/tool"
)

// sessionKey finds the session in the context of its tool calls.
type sessionKey struct{}

// wait is one wait for a person's decision. The lock of its session protects its fields.
type wait struct {
	of    *session
	what  string
	span  trace.Span
	begun time.Time
	over  bool
}

// await begins a span for a person's decision, so that a trace shows how long it has taken.
func (s *session) await(ctx context.Context, what, name string, attrs ...attribute.KeyValue) (context.Context, *wait) {
	w := &wait{of: s, what: what, begun: time.Now()}
	ctx, w.span = s.tracer.Start(ctx, name, trace.WithTimestamp(w.begun),
		trace.WithAttributes(append(attrs, keyConversation.String(s.id))...))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits[w] = true
	return ctx, w
}

// decided ends the wait.
func (w *wait) decided(decision string) {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.end(decision)
}

// end ends the span. It is called with the lock held.
func (w *wait) end(decision string) {
	if w.over {
		return
	}
	w.over = true
	delete(w.of.waits, w)
	w.span.SetAttributes(keyDecision.String(decision))
	w.span.End()
	w.of.metrics.asked(w.what, decision, time.Since(w.begun))
}

// approve returns the hook with a span around it.
func (t *telemetry) approve(next tool.Authorize) tool.Authorize {
	return func(ctx context.Context, req tool.Request) (tool.Decision, error) {
		s := t.session(req.SessionID, req.AgentID)
		ctx, w := s.await(s.within(ctx, true), spanApprove, spanApprove+" "+t.metrics.known.of(req.Call.Name),
			keyToolName.String(req.Call.Name), keyToolCall.String(short(req.Call.ID)))
		decision := "error"
		defer func() { w.decided(decision) }() // also if the hook panics
		d, err := next(ctx, req)
		if err == nil {
			decision = map[tool.Verdict]string{tool.Allow: "allow", tool.Deny: "deny", tool.Ask: "ask"}[d.Verdict]
		}
		return d, err
	}
}

// answer returns the function with a span around it. It is called within the call that asks.
func (t *telemetry) answer(
	next func(context.Context, tool.Question) (tool.Answer, error),
) func(context.Context, tool.Question) (tool.Answer, error) {
	return func(ctx context.Context, q tool.Question) (tool.Answer, error) {
		s, ok := ctx.Value(sessionKey{}).(*session)
		if !ok { // no call of the session asks
			return next(ctx, q)
		}
		ctx, w := s.await(ctx, spanAsk, spanAsk)
		decision := "error"
		defer func() { w.decided(decision) }()
		a, err := next(ctx, q)
		if err == nil {
			decision = "accept"
			if a.Action != tool.ActionAccept {
				decision = string(a.Action)
			}
		}
		return a, err
	}
}
