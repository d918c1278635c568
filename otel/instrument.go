package otel

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tracecontext"
)

// scope names this package in spans and metrics.
const scope = "github.com/attractor-go/attractor/otel"

// Instrument makes the session of the options, and its subagents, report to OpenTelemetry. It is
// called once for each session, when the options are complete, because it wraps the hooks that they
// have. The client of the options is copied, so that others who use it do not report. What a
// provider of OpenTelemetry's SDK does with spans and metrics, and when it sends them, is up to the
// program.
func Instrument(o *agent.Options, options Options) {
	t := newTelemetry(options)
	if o.Client != nil { // otherwise agent.New returns an error
		client := *o.Client
		client.Middleware = append([]llm.Middleware{t.model}, client.Middleware...)
		o.Client = &client
	}
	o.Middleware = append([]tool.Middleware{t.tool}, o.Middleware...)
	if o.Approve != nil {
		o.Approve = t.approve(o.Approve)
	}
	if o.Questions != nil && o.Questions.Answer != nil {
		questions := *o.Questions
		questions.Answer = t.answer(questions.Answer)
		o.Questions = &questions
	}
	listener := o.OnEvent
	o.OnEvent = func(ev agent.Event) {
		t.onEvent(ev)
		if listener != nil {
			listener(ev)
		}
	}
	o.Closers = append(slices.Clip(o.Closers), t)
}

// telemetry reports a session and its subagents.
type telemetry struct {
	names   conventions
	agent   string
	closed  bool
	parent  trace.SpanContext
	tracer  trace.Tracer
	metrics *metrics
	content *content // nil reports none

	mu       sync.Mutex
	sessions map[string]*session
	ended    bool
}

func newTelemetry(o Options) *telemetry {
	if o.Tracers == nil {
		o.Tracers = api.GetTracerProvider()
	}
	if o.Meters == nil {
		o.Meters = api.GetMeterProvider()
	}
	t := &telemetry{names: o.Conventions.names(), agent: cmp.Or(o.Agent, "attractor"), closed: o.Closed,
		parent: o.Parent, sessions: map[string]*session{}}
	t.tracer = o.Tracers.Tracer(scope, trace.WithSchemaURL(t.names.schema))
	t.metrics = newMetrics(o.Meters, t.names)
	if o.Content {
		if o.Masker == nil {
			o.Masker = secret.New()
		}
		t.content = &content{masker: o.Masker, limit: cmp.Or(max(o.ContentLimit, 0), defaultContent)}
	}
	return t
}

// session returns what is known of a session. An unknown one begins.
func (t *telemetry) session(id, agentID string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions[id]
	if s == nil {
		s = &session{telemetry: t, id: id, agentID: agentID, calls: map[string]*toolCall{},
			pending: map[llm.Purpose]*modelCall{}, running: map[*modelCall]bool{}, waits: map[*wait]bool{},
			over: t.ended}
		if !t.ended {
			t.sessions[id] = s
		}
	}
	return s
}

// Close ends the spans of a session that has ended. Nothing of the session runs any more, so only
// what was abandoned is still open.
func (t *telemetry) Close() error {
	t.mu.Lock()
	all := t.sessions
	t.sessions, t.ended = map[string]*session{}, true
	t.mu.Unlock()
	for _, s := range all {
		s.close()
	}
	return nil
}

// forget removes a subagent that has ended.
func (t *telemetry) forget(s *session) {
	t.mu.Lock()
	if t.sessions[s.id] == s {
		delete(t.sessions, s.id)
	}
	t.mu.Unlock()
	s.close()
}

// propagate returns the context with the trace context of its span, which requests and commands
// get.
func (t *telemetry) propagate(ctx context.Context) context.Context {
	if t.closed || !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, fields)
	return tracecontext.With(ctx, tracecontext.Fields{Parent: fields["traceparent"], State: fields["tracestate"]})
}

// failed marks a span as failed. The kind is one of a few words, which cannot quote anything.
func failed(span trace.Span, kind string) {
	span.SetAttributes(keyErrorType.String(kind))
	span.SetStatus(codes.Error, kind)
}

// maxName limits names and ids that servers choose, in bytes.
const maxName = 256

// short returns the beginning of a name or an id. A receiver would refuse text that is not UTF-8,
// with all that comes in the same request.
func short(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxName)], "") }

// kindOf returns the kind of an error of a model call.
func kindOf(err error) string {
	switch kind := llm.KindOf(err); {
	case kind != "error":
		return kind
	case errors.Is(err, context.Canceled):
		return "aborted"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return other
}
