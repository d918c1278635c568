package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// request is the next model call: what the header holds, the settings, and the history as it stands.
func request(s *State) *llm.Request {
	h := &s.Header
	req := &llm.Request{
		Provider:    s.Provider,
		Model:       s.Model,
		Messages:    s.messages[:len(s.messages):len(s.messages)],
		Tools:       h.Tools,
		ToolChoice:  h.Params.ToolChoice,
		Sequential:  h.Params.Sequential,
		Effort:      s.Effort,
		MaxTokens:   h.Params.MaxTokens,
		Temperature: h.Params.Temperature,
		CacheKey:    h.ID,
		NoCache:     h.Params.NoCache,
	}
	if h.Params.Options != nil {
		req.Options = map[string]json.RawMessage{h.Provider: h.Params.Options}
	}
	return req
}

// callModel makes one attempt of the model call that is due and commits its answer, or its fault.
func (s *Session) callModel(ctx context.Context) error {
	if err := s.sync(); err != nil {
		return err
	}
	s.mu.Lock()
	req := request(&s.state)
	attempt, step, epoch := len(s.state.Faults)+1, s.state.Steps+1, s.state.Epoch
	s.mu.Unlock()
	req.Memo = &s.memo
	s.events.emit(&StepStart{Step: step, Epoch: epoch}) // once a step: the stream leaves out what has begun
	start := time.Now()
	a := attemptStream{events: s.events}
	resp, err := a.read(s.client.Stream(ctx, req))
	if err != nil && ctx.Err() != nil {
		err = s.commit(stopRecord{Reason: stopReason(ctx)}, faultOf(err, a.discarded(), time.Since(start)))
	} else if err != nil {
		err = s.commit(s.again(faultOf(err, a.discarded(), time.Since(start)), attempt, err))
	} else {
		err = s.commit(answerOf(resp, time.Since(start)))
	}
	if err != nil { // the journal failed: nothing else will end what the events began
		s.events.add(discardedTexts(a.discarded())...)
		s.events.add(&StepEnd{Step: step, FinishReason: llm.FinishError, Attempts: attempt})
	}
	s.events.flush()
	return err
}

func answerOf(resp *llm.Response, latency time.Duration) answerRecord {
	msg := resp.Message
	msg.Role, msg.Provider, msg.Model = llm.RoleAssistant, resp.Provider, resp.Model
	msg.Parts = uniqueCalls(msg.Parts)
	return answerRecord{Message: msg, Usage: resp.Usage, Finish: resp.Finish, ResponseID: resp.ID, Latency: latency}
}

// uniqueCalls gives calls an id of their own where a server repeats or leaves out ids: results are paired by them.
func uniqueCalls(parts llm.Parts) llm.Parts {
	seen := map[string]bool{}
	fixed := slices.Clone(parts)
	for i, part := range fixed {
		call, ok := part.(llm.ToolCall)
		if !ok {
			continue
		}
		for id, n := call.ID, 2; call.ID == "" || seen[call.ID]; n++ {
			call.ID = fmt.Sprintf("%s_%d", first(id, "call"), n)
		}
		seen[call.ID] = true
		fixed[i] = call
	}
	return fixed
}

func faultOf(err error, discarded []string, latency time.Duration) faultRecord {
	f := Fault{Kind: llm.KindOf(err), Text: err.Error(), Discarded: discarded, Latency: latency}
	var e *llm.Error
	if errors.As(err, &e) {
		f.Provider, f.Code, f.Status, f.RequestID = e.Provider, e.Code, e.Status, e.RequestID
		f.Retryable = llm.Retryable(err)
		switch {
		case e.Message != "":
			f.Text = e.Message
		case e.Err != nil:
			f.Text = e.Err.Error()
		}
	}
	f.Text = validText(f.Text)
	return faultRecord{f}
}

// again adds when the call will be tried again, if it will.
func (s *Session) again(f faultRecord, attempt int, err error) faultRecord {
	if delay, again := s.retry.delay(attempt, err); again {
		f.Delay, f.RetryAt = delay, stamp(s.now().Add(delay))
	}
	return f
}

// attemptStream turns the stream of one attempt into events and remembers the texts, in case they have to be discarded.
type attemptStream struct {
	events *eventStream
	texts  []*strings.Builder
	block  int // of the provider, for the text that is open
}

func (a *attemptStream) read(stream iter.Seq2[llm.StreamEvent, error]) (*llm.Response, error) {
	var resp *llm.Response
	for ev, err := range stream {
		if err != nil {
			return nil, err
		}
		switch ev.Type {
		case llm.EventTextDelta:
			a.text(ev)
		case llm.EventThinkingDelta:
			a.events.emit(&ThinkingDelta{Text: ev.Delta})
		case llm.EventFinish:
			resp = ev.Response
		}
	}
	if resp == nil {
		return nil, llm.Errorf(llm.ErrStream, "the stream ended without an answer")
	}
	return resp, nil
}

// text emits a delta, and the start of its block when it is the first: a block begins when text comes.
func (a *attemptStream) text(ev llm.StreamEvent) {
	if ev.Delta == "" {
		return
	}
	if len(a.texts) == 0 || a.block != ev.Block {
		a.block = ev.Block
		a.texts = append(a.texts, new(strings.Builder))
		a.events.emit(&AssistantTextStart{Block: len(a.texts) - 1})
	}
	a.texts[len(a.texts)-1].WriteString(ev.Delta)
	a.events.emit(&AssistantTextDelta{Block: len(a.texts) - 1, Text: ev.Delta})
}

func (a *attemptStream) discarded() []string {
	var texts []string
	for _, t := range a.texts {
		texts = append(texts, t.String())
	}
	return texts
}
