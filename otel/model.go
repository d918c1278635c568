package otel

import (
	"context"
	"errors"
	"iter"
	"net"
	"net/http/httptrace"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// modelCall is a model call with its attempts. Its fields belong to the attempt that runs and,
// between attempts, to the session's lock.
type modelCall struct {
	*telemetry
	ctx   context.Context // with the span
	span  trace.Span
	model string // that the calls of the session are for, with the provider
	step  int
	attrs metricAttrs

	begun, ended time.Time // the first attempt's begin, and the end of the last one
	attempts     int
	failure      error
	usage        llm.Usage // of failed attempts, as far as it is known
	response     *llm.Response
	cost         float64
	over         bool

	mu      sync.Mutex
	address string // host and port of the server
}

// model is the middleware around each attempt of a model call.
func (t *telemetry) model(next llm.Handler) llm.Handler {
	return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return func(yield func(llm.StreamEvent, error) bool) {
			s := t.session(req.Caller.Session, req.Caller.Agent)
			c := s.attempt(ctx, req)
			attempt := time.Now()
			var first time.Duration
			var response *llm.Response
			failure := errors.New("the attempt panicked")
			defer func() { s.attempted(req, c, response, first, failure) }()
			for ev, err := range next(c.context(ctx), req) {
				if first == 0 && err == nil {
					first = time.Since(attempt)
				}
				if err == nil && ev.Type == llm.EventFinish {
					response = ev.Response
				}
				if !yield(ev, err) {
					if failure = err; err == nil && response == nil {
						failure = llm.Errorf(llm.ErrAborted, "the listener left")
					}
					return
				}
				if err != nil {
					failure = err
					return
				}
			}
			if failure = nil; response == nil {
				failure = llm.Errorf(llm.ErrStream, "the stream ended without a response")
			}
		}
	}
}

// attempt returns the model call of an attempt: a new one, or the one whose last attempt has
// failed.
func (s *session) attempt(ctx context.Context, req *llm.Request) *modelCall {
	purpose := req.Caller.Purpose
	s.metrics.offered(req.Tools)
	of := s.within(ctx, purpose == agent.PurposeTurn || purpose == agent.PurposeLastText)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.pending[purpose]; c != nil {
		if c.step == req.Caller.Step && c.model == req.Provider+"/"+req.Model && req.Caller.Attempt > 1 {
			delete(s.pending, purpose)
			c.attempts, c.failure = c.attempts+1, nil
			s.running[c] = true
			return c
		}
		s.settle(purpose)
	}
	c := &modelCall{telemetry: s.telemetry, model: req.Provider + "/" + req.Model, step: req.Caller.Step,
		begun: time.Now(), attempts: max(req.Caller.Attempt, 1), attrs: s.metrics.ofRequest(req)}
	c.ctx, c.span = s.tracer.Start(of, opChat+" "+req.Model, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithTimestamp(c.begun), trace.WithAttributes(s.asked(req)...))
	if s.content != nil && c.span.IsRecording() {
		c.span.SetAttributes(s.content.prompt(req)...)
	}
	s.running[c] = true
	return c
}

// asked returns the attributes of a request.
func (s *session) asked(req *llm.Request) []attribute.KeyValue {
	attrs := []attribute.KeyValue{keyOperation.String(opChat), keyProvider.String(providerName(req.Provider)),
		keyRequestModel.String(req.Model), keyRequestStream.Bool(true)}
	if s.id != "" {
		attrs = append(attrs, keyConversation.String(s.id), keySession.String(s.id), keyStep.Int(req.Caller.Step),
			keyPurpose.String(string(req.Caller.Purpose)))
	}
	if s.agentID != "" {
		attrs = append(attrs, keyAgent.String(s.agentID))
	}
	attrs = optional(attrs, keyRequestMax, req.MaxTokens)
	if req.Effort != "" {
		attrs = append(attrs, s.names.effort.String(req.Effort))
	}
	if req.Temperature != nil {
		attrs = append(attrs, keyTemperature.Float64(*req.Temperature))
	}
	if req.TopP != nil {
		attrs = append(attrs, keyTopP.Float64(*req.TopP))
	}
	if len(req.Stop) > 0 {
		attrs = append(attrs, keyStop.StringSlice(req.Stop))
	}
	if req.Format != nil {
		attrs = append(attrs, keyOutputType.String("json"))
	}
	return attrs
}

// context returns the context of an attempt: the caller's, with the span of the call. It learns the
// address of the server.
func (c *modelCall) context(ctx context.Context) context.Context {
	ctx = c.propagate(trace.ContextWithSpan(ctx, c.span))
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GetConn: func(address string) {
		c.mu.Lock()
		c.address = address
		c.mu.Unlock()
	}})
}

// attempted records the end of an attempt. A call whose attempt has failed stays open, because
// there may be another attempt.
func (s *session) attempted(req *llm.Request, c *modelCall, response *llm.Response, first time.Duration,
	failure error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.running, c); c.over { // it was abandoned
		return
	}
	c.ended, c.failure, c.response = time.Now(), failure, response
	if first > 0 && failure == nil {
		c.span.SetAttributes(keyFirstChunk.Float64(first.Seconds()))
		s.metrics.firstChunk(c, first)
	}
	if failure == nil {
		c.cost, _ = req.Facts.Cost(c.response.Usage) // 0 if the prices are unknown
		c.end()
		return
	}
	attrs := []attribute.KeyValue{keyAttempt.Int(c.attempts), keyErrorType.String(kindOf(failure))}
	var e *llm.Error
	if errors.As(failure, &e) {
		attrs = optional(attrs, keyStatus, e.Status)
		c.usage = c.usage.Add(e.Usage)
		spent, _ := req.Facts.Cost(e.Usage)
		c.cost += spent
	}
	c.span.AddEvent(eventFault, trace.WithAttributes(attrs...))
	if s.over || s.id == "" || s.span == nil { // no event would end it
		c.end()
		return
	}
	s.pending[req.Caller.Purpose] = c
}

// retry records that there will be another attempt. It is called with the lock held, as is settle.
func (s *session) retry(e *agent.LLMRetry) {
	for _, purpose := range []llm.Purpose{agent.PurposeTurn, agent.PurposeLastText, agent.PurposeCompaction} {
		if c := s.pending[purpose]; c != nil {
			c.span.AddEvent(eventRetry, trace.WithAttributes(keyAttempt.Int(e.Attempt), keyDelay.Int64(e.DelayMS),
				keyErrorType.String(e.ErrorKind), keyDiscarded.Bool(e.TextDiscarded)))
			s.metrics.retry(c, e.ErrorKind)
			return
		}
	}
}

// settle ends a call that is not tried again.
func (s *session) settle(purpose llm.Purpose) {
	if c := s.pending[purpose]; c != nil {
		delete(s.pending, purpose)
		c.end()
	}
}

// abandon ends a call whose attempt does not end.
func (c *modelCall) abandon() {
	c.ended, c.failure = time.Now(), llm.Errorf(llm.ErrAborted, "the attempt was left behind")
	c.end()
}

// end ends the span of the call at the end of its last attempt.
func (c *modelCall) end() {
	c.over = true
	var attrs []attribute.KeyValue
	c.mu.Lock()
	address := c.address
	c.mu.Unlock()
	if host, port, err := net.SplitHostPort(address); err == nil {
		c.attrs.address, c.attrs.port = host, port
		number, _ := strconv.Atoi(port)
		attrs = append(attrs, keyServerAddress.String(host), keyServerPort.Int(number))
	}
	if c.attempts > 1 {
		attrs = append(attrs, keyAttempts.Int(c.attempts))
	}
	used := c.usage
	if r := c.response; r != nil && c.failure == nil {
		used = used.Add(r.Usage)
		attrs = append(attrs, keyResponseModel.String(short(r.Model)),
			keyFinishReasons.StringSlice([]string{string(r.Finish.Reason)}))
		if r.ID != "" {
			attrs = append(attrs, keyResponseID.String(short(r.ID)))
		}
		if c.content != nil && c.span.IsRecording() {
			attrs = append(attrs, c.content.answer(r))
		}
	}
	attrs = c.names.usage(attrs, used)
	if c.cost > 0 {
		attrs = append(attrs, keyCost.Float64(c.cost))
	}
	c.span.SetAttributes(attrs...)
	kind := ""
	if c.failure != nil {
		kind = kindOf(c.failure)
		failed(c.span, kind)
	}
	c.span.End(trace.WithTimestamp(c.ended))
	c.metrics.modelCall(c, used, kind)
}
