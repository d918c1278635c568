package agent

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/conversation"
	"github.com/attractor-go/attractor/llm"
)

// The purposes of a session's requests, as [llm.Caller] has them.
const (
	PurposeTurn       llm.Purpose = "turn"       // the conversation's next answer
	PurposeCompaction llm.Purpose = "compaction" // the summary that replaces the beginning of the history
	PurposeLastText   llm.Purpose = "last_text"  // what was done, at a limit
	PurposeRenewal    llm.Purpose = "renewal"    // keeps the provider's prompt cache; the answer is thrown away
)

// callerOf returns the llm.Caller of a request's first attempt. It is called with the lock held.
func (s *Session) callerOf(purpose llm.Purpose) llm.Caller {
	return llm.Caller{Session: s.ID(), Agent: s.agentID, Step: s.state.Steps + 1, Attempt: 1, Purpose: purpose}
}

// request returns the next request, from the header, the settings and the history. It is called
// with the lock held. Its caller then calls addFacts without the lock.
func (s *Session) request() *llm.Request {
	st := &s.state
	h := &st.Header
	req := &llm.Request{
		Provider:    st.Provider,
		Model:       st.Model,
		Messages:    st.messages[:len(st.messages):len(st.messages)],
		Tools:       st.offered(),
		ToolChoice:  h.Params.ToolChoice,
		Sequential:  h.Params.Sequential,
		Effort:      st.Effort,
		MaxTokens:   h.Params.MaxTokens,
		Temperature: h.Params.Temperature,
		Format:      st.Policy.format(),
		Quirks:      st.mended[st.askedModel()].Quirks,
		CacheKey:    h.ID,
		NoCache:     h.Params.NoCache,
		Caller:      s.callerOf(PurposeTurn),
	}
	if h.Params.Options != nil {
		req.Options = map[string]json.RawMessage{h.Provider: h.Params.Options}
	}
	return req
}

// addFacts adds the facts about its model to a request, and fits the request to them.
func (s *Session) addFacts(req *llm.Request) {
	req.Facts = s.facts(req.Provider, req.Model)
	req.Effort, _ = req.Facts.FitEffort(req.Effort)
	if f := req.Facts; f != nil && f.MaxOutput > 0 {
		req.MaxTokens = min(req.MaxTokens, f.MaxOutput) // it was meant for another model
	}
}

// callModel makes one attempt of the next model call and commits its answer or fault.
func (s *Session) callModel(ctx context.Context) error {
	if err := s.checkRoundRoom(); err != nil {
		s.endForFullLog(err)
		return err
	}
	next, due := s.nextModelCall()
	if !due {
		return errOutdated
	}
	run, synced, cancel := s.syncBeside(ctx) // of all records that the request contains
	defer cancel(nil)
	a := attemptStream{events: s.events, ready: synced.returned}
	var latency time.Duration
	begun := &StepStart{Step: next.step, Epoch: next.epoch}
	// the stream leaves it out if the step has begun in an earlier attempt
	begin := sync.OnceFunc(func() { s.events.emit(begun) })
	resp, used, cost, err := s.withinBudget(run, next.req, next.input, &a, func() (*llm.Response, error) {
		begin()
		start := s.now()
		resp, err := s.attempt(run, next.req, &a)
		broken, crashed := errors.AsType[*HostError](err)
		s.crashed = broken
		switch {
		case err == nil:
			err = conversation.ContextFull(resp)
		case crashed, errors.Is(err, ErrStuck):
			s.memo = new(llm.Memo) // the provider may still write to the other one
		}
		latency = s.now().Sub(start)
		return resp, err
	})
	if err := synced.wait(); err != nil {
		s.breakOffStep(next, &a)
		return err
	}
	var over *OverBudget
	if errors.As(err, &over) {
		s.events.emit(&Warning{Code: "over_budget", Text: claimOf(next.req, next.input).least()})
		return s.commit(stopRecord{Reason: over.Limit, Value: over.Value})
	}
	begin()
	got := a.soFar()
	got.shown.Step = s.events.number(begun)
	var outcome []record
	if err == nil {
		answer := answerOf(resp, latency, cost)
		sent := s.now().Add(-latency)
		answer.Cold = look(s, func(st *State) *Cold { return st.answered.cold(st, resp.Usage, next.req.Facts, sent) })
		answer.began, answer.Shown = next.epoch, got.shown
		outcome = []record{answer}
	} else {
		f := faultOf(err, a.discarded(), latency)
		f.Searches = got.found
		f.Usage, f.Cost, f.began, f.Shown = used, cost, next.epoch, got.shown
		outcome = s.failed(ctx, f, next.attempt, err)
	}
	if err := s.commit(outcome...); err != nil {
		s.breakOffStep(next, &a)
		return err
	}
	s.events.flush()
	return nil
}

// A modelCall holds the next attempt of a model call.
type modelCall struct {
	req                  *llm.Request
	step, attempt, epoch int
	input                int // the estimated size of the request, in tokens
}

// nextModelCall returns the next attempt. Due is false if the host did something since the step was
// decided, so that another one comes first.
func (s *Session) nextModelCall() (c modelCall, due bool) {
	now := s.now()
	s.mu.Lock()
	if Next(&s.state, now).Act != ActCallModel {
		s.mu.Unlock()
		return c, false
	}
	c = modelCall{req: s.request(), step: s.state.Steps + 1, attempt: len(s.state.Faults) + 1, epoch: s.state.Epoch,
		input: s.state.Context.Tokens()}
	c.req.CacheLong = s.state.cachesLong(now)
	s.mu.Unlock()
	s.addFacts(c.req)
	if s.memo == nil {
		s.memo = new(llm.Memo)
	}
	c.req.Memo, c.req.Caller.Attempt = s.memo, c.attempt
	c.req.Memo.Seal(c.req.Messages) // the state only appends to them
	return c, true
}

// breakOffStep ends what the events of an attempt have begun, because the journal has failed and no
// record will end it.
func (s *Session) breakOffStep(c modelCall, a *attemptStream) {
	s.events.add(discardedTexts(a.discarded())...)
	s.events.add(&StepEnd{Step: c.step, FinishReason: llm.FinishError, Attempts: c.attempt})
	s.events.flush()
}

// answerOf returns the record of an answer.
func answerOf(resp *llm.Response, latency time.Duration, cost float64) answerRecord {
	msg := resp.Message
	msg.Role, msg.Provider, msg.Model = llm.RoleAssistant, resp.Provider, resp.Model
	msg.Parts = conversation.UniqueCalls(msg.Parts)
	return answerRecord{Message: msg, Usage: resp.Usage, Finish: resp.Finish, ResponseID: resp.ID, Latency: latency,
		Cost: cost}
}

// failed returns the records of a failed attempt: its fault, with the time of the next attempt if
// there is one. If the context has ended, the end of the input comes first.
func (s *Session) failed(ctx context.Context, f faultRecord, attempt int, err error) []record {
	if ctx.Err() != nil {
		stop := look(s, func(st *State) record { return st.stop(stopReason(ctx, false)) })
		return []record{stop, f}
	}
	if delay, again := s.delay(attempt, err); again && !s.repeats(&f.Fault) && !s.absent(err) {
		f.Delay, f.RetryAt = delay, stamp(s.now().Add(delay))
	}
	return []record{f}
}

// repeats reports whether the attempt before failed alike, because the response could not be
// decoded: a third one would be no better.
func (s *Session) repeats(f *Fault) bool {
	last := look(s, (*State).fault)
	return last != nil && f.Undecoded && last.Undecoded && last.Text == f.Text
}

// absent reports whether a server of this machine does not run, before the input's first answer: a
// person is told at once to start it. Later it is being started again.
func (s *Session) absent(err error) bool {
	e, is := errors.AsType[*llm.Error](err)
	return is && e.Absent && look(s, func(st *State) bool { return st.Input != nil && st.Input.Turns == 0 })
}

// attempt makes one attempt of a model call or a side call and returns its response. A provider
// that panics has failed for good; in a side call that ends the session. One that ignores the end
// of ctx is abandoned after the grace time.
func (s *Session) attempt(ctx context.Context, req *llm.Request, a *attemptStream) (*llm.Response, error) {
	resp, err := host(ctx, s, "the provider "+req.Provider, s.limits.Grace+killTime, func() (*llm.Response, error) {
		return a.read(ctx, s.client.Stream(ctx, req))
	})
	if err != nil {
		a.abandon()
	}
	s.warnOfStuck(err)
	switch {
	case !isHostError(err):
	case req.Caller.Purpose == PurposeTurn:
		err = &llm.Error{Provider: req.Provider, Message: err.Error(), Final: true, Err: err}
	default:
		s.breakDown(err)
	}
	return resp, err
}

// faultError returns the error for an input that ended with a fault: the fault with its panic, if
// it was one, or a [ModelsFailed].
func (s *Session) faultError(in *Input) error {
	if len(in.Failed) > 0 {
		return &ModelsFailed{in.Failed}
	}
	err := in.Fault.Err()
	var e *llm.Error
	if s.crashed != nil && errors.As(err, &e) {
		e.Err = s.crashed
	}
	return err
}

// A modelCallEpoch holds the epoch of a model call, in the record of its outcome.
type modelCallEpoch struct {
	// Epoch is set if the next one began during the call, by a setting whose record comes before
	// this one.
	Epoch *int `json:"epoch,omitempty"`

	began int // the epoch in which the call began
}

// ended returns the epoch for the journal at the end of the call.
func (a modelCallEpoch) ended(s *State) modelCallEpoch {
	if a.Epoch == nil && a.began != s.Epoch {
		a.Epoch = &a.began
	}
	return a
}

// in returns the epoch of a model call whose record comes next.
func (a modelCallEpoch) in(s *State) int {
	if a.Epoch != nil {
		return *a.Epoch
	}
	return s.Epoch
}

// addEpochs adds the epoch to the records of model calls, before they are written.
func (s *State) addEpochs(records []record) {
	for i, rec := range records {
		switch r := rec.(type) {
		case answerRecord:
			r.modelCallEpoch = r.ended(s)
			records[i] = r
		case faultRecord:
			r.modelCallEpoch = r.ended(s)
			records[i] = r
		}
	}
}
