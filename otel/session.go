package otel

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// session holds the open spans of a session or a subagent. Its methods may be called concurrently:
// events and the middleware of calls run in different goroutines.
type session struct {
	*telemetry
	id, agentID string

	mu       sync.Mutex
	parentID string
	resumed  bool
	provider string
	model    string
	mode     string

	// The following fields are about the input that runs. Its span begins with its first call,
	// because the context of that call has the parent span.
	active bool
	early  bool // the span has begun before the event that begins the input
	begun  time.Time
	span   trace.Span
	failed string // the kind of the error that ends it

	calls   map[string]*toolCall       // those that run, or wait for their events, by id
	pending map[llm.Purpose]*modelCall // those whose last attempt has failed, which may be tried again
	running map[*modelCall]bool
	waits   map[*wait]bool // for people
	over    bool           // the session has ended; late calls report for themselves
}

// within returns the context of an input's calls, with the input's span in it. A call that is not
// part of an input keeps its own.
func (s *session) within(ctx context.Context, partOfInput bool) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.span == nil && !s.over && (s.active || partOfInput) {
		if !s.active {
			s.active, s.early, s.begun, s.failed = true, true, time.Now(), ""
		}
		s.start(ctx)
	}
	if s.span == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, s.span)
}

// start begins the span of the input. It is called with the lock held.
func (s *session) start(ctx context.Context) {
	name := s.agent
	if s.agentID != "" {
		name += ".subagent"
	}
	attrs := []attribute.KeyValue{keyOperation.String(opInvokeAgent), keyAgentName.String(name),
		keyConversation.String(s.id), keySession.String(s.id)}
	for _, a := range []struct {
		key   attribute.Key
		value string
	}{{keyProvider, providerName(s.provider)}, {keyRequestModel, s.model}, {keyAgent, s.agentID},
		{s.names.agentID, s.agentID}, {keyParent, s.parentID}, {keyMode, s.mode}} {
		if a.value != "" && a.key != "" {
			attrs = append(attrs, a.key.String(a.value))
		}
	}
	if s.resumed {
		attrs = append(attrs, keyResumed.Bool(true))
	}
	if s.telemetry.parent.IsValid() && !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, s.telemetry.parent)
	}
	_, s.span = s.tracer.Start(ctx, opInvokeAgent+" "+name, trace.WithTimestamp(s.begun),
		trace.WithAttributes(attrs...))
}

// onEvent records an event of the session or of a subagent.
func (t *telemetry) onEvent(ev agent.Event) {
	agentID := ""
	for {
		sub, ok := ev.(*agent.SubagentEvent)
		if !ok {
			break
		}
		ev, agentID = sub.Event, sub.AgentID
	}
	switch ev.(type) {
	case *agent.AssistantTextDelta, *agent.ThinkingDelta, *agent.ToolCallOutputDelta, *agent.AssistantTextStart,
		*agent.AssistantTextEnd:
		return // there are many, and no span needs them
	}
	s := t.session(ev.Head().SessionID, agentID)
	if s.record(ev) {
		t.forget(s)
	}
}

// record records an event, and reports whether it is the session's last.
func (s *session) record(ev agent.Event) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := ev.(type) {
	case *agent.SessionStart:
		s.provider, s.model, s.parentID, s.resumed = e.Provider, e.Model, e.ParentID, e.Resumed
	case *agent.UserInput:
		s.begin()
	case *agent.ProcessingEnd:
		s.endInput(e)
	case *agent.SessionEnd:
		return true
	case *agent.StepEnd:
		s.settle(agent.PurposeTurn)
	case *agent.Error:
		s.failed = e.ErrorKind
	case *agent.LLMRetry:
		s.retry(e)
	case *agent.ToolCallStart:
		s.callStarted(e)
	case *agent.ToolCallEnd:
		s.callEnded(e)
	default:
		s.addEvent(ev)
	}
	return false
}

// begin begins an input. It is called with the lock held, as are all the functions below.
func (s *session) begin() {
	if s.early { // its first call was faster than the event
		s.early = false
		return
	}
	if s.active { // its end was lost
		s.endSpan("")
	}
	s.active, s.begun, s.failed = true, time.Now(), ""
}

// endInput ends the span of the input at its last event, with the spans that are still open in it.
func (s *session) endInput(e *agent.ProcessingEnd) {
	if !s.active {
		return
	}
	if s.span == nil { // it ended before its first call
		s.start(context.Background())
	}
	attrs := []attribute.KeyValue{keyReason.String(string(e.Reason)), keyTurns.Int(e.Turns),
		keyRounds.Int(e.ToolRounds)}
	attrs = s.names.usage(attrs, e.Usage)
	if e.CostUSD > 0 {
		attrs = append(attrs, keyCost.Float64(e.CostUSD))
	}
	if e.Finish.Reason != "" {
		attrs = append(attrs, keyFinishReasons.StringSlice([]string{string(e.Finish.Reason)}))
	}
	s.span.SetAttributes(attrs...)
	s.endSpan(string(e.Reason))
}

// endSpan ends the span of the input, with the spans that are still open in it.
func (s *session) endSpan(reason string) {
	for purpose := range s.pending {
		s.settle(purpose)
	}
	for c := range s.running {
		delete(s.running, c)
		c.abandon()
	}
	for w := range s.waits {
		w.end("abandoned")
	}
	for id, c := range s.calls {
		c.abandon()
		delete(s.calls, id)
	}
	if s.span != nil {
		if s.failed != "" {
			failed(s.span, s.failed)
		}
		s.span.End()
		s.metrics.input(s.begun, reason, s.failed, s.agentID != "")
	}
	s.span, s.active, s.early, s.failed = nil, false, false, ""
}

// close ends everything that is open.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.span != nil {
		s.failed = "abandoned"
	}
	s.endSpan("")
	s.over = true
}

// addEvent adds an event that has no span of its own to the span of the input. Texts are left out,
// because they may quote anything.
func (s *session) addEvent(ev agent.Event) {
	if note, ok := ev.(*agent.NoteWritten); ok && note.Note == "attractor.mode" {
		_ = json.Unmarshal(note.Data, &s.mode) // a mode of another form is not known here
	}
	if s.span == nil {
		return
	}
	add := func(name string, attrs ...attribute.KeyValue) { s.span.AddEvent(name, trace.WithAttributes(attrs...)) }
	switch e := ev.(type) {
	case *agent.SteeringInjected:
		add(eventSteering)
	case *agent.Compaction:
		add(eventCompact, keyReplaced.Int(e.TurnsReplaced), keyBefore.Int(e.TokensBefore), keyAfter.Int(e.TokensAfter))
	case *agent.ModelChanged:
		attrs := []attribute.KeyValue{keyFrom.String(e.From.Model), keyTo.String(e.To.Model),
			keyReason.String(string(e.Reason))}
		if e.ErrorKind != "" {
			attrs = append(attrs, keyErrorType.String(e.ErrorKind))
		}
		add(eventModel, attrs...)
	case *agent.NoteWritten:
		if e.Note == "attractor.mode" {
			add(eventMode, keyMode.String(s.mode))
			return
		}
		add(eventNote, keyKind.String(e.Note))
	case *agent.Warning:
		add(eventWarning, keyCode.String(e.Code))
	case *agent.LoopDetection:
		add(eventLoop)
	case *agent.TurnLimit:
		add(eventLimit)
	case *agent.ContextWarning:
		add(eventContext, keyRatio.Float64(e.Ratio))
	}
}
