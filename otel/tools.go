package otel

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/tool"
)

// toolCall is a tool call between its begin and its last event. Its fields belong to the lock of
// its session.
type toolCall struct {
	*telemetry
	span    trace.Span // nil for a call that was refused before it began
	name    string
	begun   time.Time
	started *agent.ToolCallStart // of a refused one
	over    bool
}

// tool is the middleware around each call that was permitted.
func (t *telemetry) tool(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (result tool.Result, err error) {
		s := t.session(call.SessionID, call.AgentID)
		t.metrics.known.add(call.Name)
		c := &toolCall{telemetry: t, name: call.Name, begun: time.Now()}
		ctx, c.span = t.tracer.Start(s.within(ctx, true), opExecuteTool+" "+call.Name, trace.WithTimestamp(c.begun),
			trace.WithAttributes(s.called(call.Name, call.ID)...))
		if t.content != nil && c.span.IsRecording() {
			c.span.SetAttributes(t.content.attribute(keyToolArguments, call.Args))
		}
		s.mu.Lock()
		s.calls[call.ID] = c
		s.mu.Unlock()
		returned := false
		defer func() { s.ran(c, &result, err, returned) }()
		result, err = next(context.WithValue(t.propagate(ctx), sessionKey{}, s), call)
		returned = true
		return result, err
	}
}

// called returns the attributes of a tool call.
func (s *session) called(name, id string) []attribute.KeyValue {
	attrs := []attribute.KeyValue{keyOperation.String(opExecuteTool), keyToolName.String(name),
		keyToolCall.String(short(id)), keyToolType.String("function"), keyConversation.String(s.id),
		keySession.String(s.id)}
	if s.agentID != "" {
		attrs = append(attrs, keyAgent.String(s.agentID))
	}
	if strings.HasPrefix(name, "mcp__") { // a tool of package mcp, whose request has no span of its own
		attrs = append(attrs, keyMCPMethod.String("tools/call"))
	}
	return attrs
}

// ran ends the span of a call that has run, or was left open.
func (s *session) ran(c *toolCall, result *tool.Result, err error, returned bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.over { // it was abandoned
		return
	}
	if n := len(result.Changes); n > 0 {
		c.span.SetAttributes(keyChanges.Int(n))
	}
	if ran := result.Ran; ran != nil && ran.Exit != nil {
		c.span.SetAttributes(keyExitCode.Int(ran.Exit.Code))
	}
	if s.content != nil && c.span.IsRecording() {
		c.span.SetAttributes(s.content.attribute(keyToolResult, result.Content.Text()))
	}
	kind := ""
	switch {
	case !returned:
		kind = "panic"
	case errors.Is(err, tool.ErrNotBegun):
		c.span.SetAttributes(keyNotBegun.Bool(true))
	case result.Ran != nil && result.Ran.TimedOut > 0:
		kind = "timeout"
	case errors.Is(err, context.Canceled) || result.Ran != nil && result.Ran.Interrupted:
		kind = "aborted"
	case err != nil || result.IsError:
		kind = "tool_error"
	}
	c.end(kind)
}

// end ends the span.
func (c *toolCall) end(kind string) {
	if c.over {
		return
	}
	c.over = true
	if kind != "" {
		failed(c.span, kind)
	}
	c.span.End()
	c.metrics.toolCall(c.name, kind, time.Since(c.begun))
}

// abandon ends the span of a call whose input is over.
func (c *toolCall) abandon() {
	if c.span != nil { // otherwise it was refused
		c.end("abandoned")
	}
}

// callStarted records the first event of a call. A call that the middleware does not know was
// refused. It is called with the lock held, as is callEnded.
func (s *session) callStarted(e *agent.ToolCallStart) {
	if s.calls[e.CallID] == nil {
		s.calls[e.CallID] = &toolCall{telemetry: s.telemetry, name: e.Name, begun: time.Now(), started: e}
	}
}

// callEnded records the last event of a call, and makes the span of a call that was refused.
func (s *session) callEnded(e *agent.ToolCallEnd) {
	c := s.calls[e.CallID]
	if c == nil {
		return
	}
	delete(s.calls, e.CallID)
	if c.started == nil {
		c.abandon() // otherwise it has ended already
		return
	}
	of := context.Background()
	if s.span != nil {
		of = trace.ContextWithSpan(of, s.span)
	}
	name := opExecuteTool
	if s.metrics.known.has(c.name) {
		name += " " + c.name
	} else {
		c.name = other
	}
	_, c.span = s.tracer.Start(of, name, trace.WithTimestamp(c.begun),
		trace.WithAttributes(append(s.called(c.name, e.CallID), keyRefused.Bool(true))...))
	if s.content != nil && c.span.IsRecording() {
		c.span.SetAttributes(s.content.attribute(keyToolArguments, string(c.started.Arguments)),
			s.content.attribute(keyToolResult, e.Output))
	}
	kind := ""
	if e.IsError {
		kind = "refused"
	}
	c.end(kind)
}
