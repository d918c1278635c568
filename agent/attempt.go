package agent

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/attractor-go/attractor/llm"
)

// An attemptStream turns the stream of one attempt into events. The log of events holds its texts
// until they end.
type attemptStream struct {
	events *eventStream    // nil emits nothing
	ready  <-chan struct{} // closed when something may be shown; nil means at once

	mu        sync.Mutex
	abandoned bool // the attempt was abandoned
	texts     int  // how many texts have begun
	block     int  // the provider's block of the open text
	think     int  // the provider's block of the newest thought
	arrival
}

// arrival holds what has come of an attempt.
type arrival struct {
	began    bool
	shown    shown
	chars    int             // how many characters, of any kind
	found    []llm.WebSearch // those that were emitted
	searched int             // how many searches of the web that are billed
}

// read reads the stream and returns its response.
func (a *attemptStream) read(ctx context.Context, stream iter.Seq2[llm.StreamEvent, error]) (*llm.Response, error) {
	var resp *llm.Response
	for ev, err := range stream {
		if err != nil {
			return nil, err
		}
		if !a.waitReady(ctx) || !a.take(ev) {
			return nil, llm.Errorf(llm.ErrAborted, "the stream was left behind")
		}
		if ev.Type == llm.EventFinish {
			resp = ev.Response
		}
	}
	if resp == nil {
		return nil, llm.Errorf(llm.ErrStream, "the stream ended without a response")
	}
	return resp, nil
}

// waitReady waits until something may be shown. It reports false if that will not happen, because
// ctx has ended.
func (a *attemptStream) waitReady(ctx context.Context) bool {
	if a.ready == nil {
		return true
	}
	select {
	case <-a.ready:
	case <-ctx.Done():
	}
	a.ready = nil
	return ctx.Err() == nil
}

// take emits the events of a stream event. It reports false if the attempt was abandoned.
func (a *attemptStream) take(ev llm.StreamEvent) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.abandoned {
		return false
	}
	a.began = true
	a.chars += utf8.RuneCountInString(ev.Delta)
	if s := ev.Search; s != nil && s.Error == "" && s.Page == "" {
		a.searched++
	}
	if a.events == nil {
		return true
	}
	switch ev.Type {
	case llm.EventTextDelta:
		a.text(ev)
	case llm.EventThinkingDelta:
		a.thought(ev)
	case llm.EventSearch:
		a.search(ev.Search)
	case llm.EventFinish:
		a.searches(ev.Response)
	}
	return true
}

// soFar returns what has arrived until now.
func (a *attemptStream) soFar() arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.arrival
}

// thought emits a delta of a thought.
func (a *attemptStream) thought(ev llm.StreamEvent) {
	delta := &ThinkingDelta{Text: ev.Delta}
	a.events.emit(delta)
	if len(a.shown.Thoughts) == 0 || a.think != ev.Block {
		a.think = ev.Block
		a.shown.Thoughts = append(a.shown.Thoughts, 0)
	}
	a.shown.Thoughts[len(a.shown.Thoughts)-1] = a.events.number(delta)
}

// search emits a search of the web.
func (a *attemptStream) search(s *llm.WebSearch) {
	ev := &WebSearch{WebSearch: *s}
	a.events.emit(ev)
	a.shown.Searches = append(a.shown.Searches, a.events.number(ev))
	a.found = append(a.found, *s)
}

// searches emits the searches of a response that were not streamed.
func (a *attemptStream) searches(resp *llm.Response) {
	n := 0
	for _, part := range resp.Message.Parts {
		if o, ok := part.(llm.Opaque); ok && o.Search != nil {
			if n++; n > len(a.shown.Searches) {
				a.search(o.Search)
			}
		}
	}
}

// abandon abandons the attempt: nothing that arrives later is taken.
func (a *attemptStream) abandon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.abandoned = true
}

// text emits a delta of a text, and before the first delta the text's start.
func (a *attemptStream) text(ev llm.StreamEvent) {
	if ev.Delta == "" {
		return
	}
	if a.texts == 0 || a.block != ev.Block {
		a.block = ev.Block
		a.texts++
		start, delta := &AssistantTextStart{Block: a.texts - 1}, &AssistantTextDelta{Block: a.texts - 1, Text: ev.Delta}
		a.events.emit(start, delta) // together, because each wait for OnEvent takes time
		a.shown.Texts = append(a.shown.Texts, [2]int64{a.events.number(start), a.events.number(delta)})
		return
	}
	delta := &AssistantTextDelta{Block: a.texts - 1, Text: ev.Delta}
	a.events.emit(delta)
	a.shown.Texts[a.texts-1][1] = a.events.number(delta)
}

// used returns the attempt's usage. It is an estimate if the attempt broke off, because that is
// billed, and if it failed before it began but its request was sent, because that may be.
func (a *attemptStream) used(resp *llm.Response, err error, input int) llm.Usage {
	var e *llm.Error
	switch {
	case err == nil:
		return resp.Usage
	case errors.As(err, &e) && e.Usage != llm.Usage{}:
		return e.Usage
	case a.soFar().began || mayBeBilled(err):
		return a.estimate(input)
	}
	return llm.Usage{}
}

// mayBeBilled reports whether an attempt that failed without an answer may be billed, because the
// request was sent and not refused. The status of an answer that broke off before anything came is
// a success.
func mayBeBilled(err error) bool {
	var e *llm.Error
	if !errors.As(err, &e) {
		return errors.Is(err, ErrStuck)
	}
	switch e.Kind {
	case llm.ErrNetwork, llm.ErrTimeout, llm.ErrStream, llm.ErrAborted:
		return e.Status < http.StatusBadRequest && !e.Unsent
	}
	return false
}

// estimate returns the estimated usage of an attempt, from the size of its input, and the
// characters and searches that have arrived.
func (a *attemptStream) estimate(input int) llm.Usage {
	got := a.soFar()
	return llm.Usage{Input: input, Output: (got.chars + charsPerToken - 1) / charsPerToken, Searches: got.searched}
}

// discarded returns the texts of a failed attempt.
func (a *attemptStream) discarded() []string { return a.events.openTexts(a.texts) }

// faultRecord holds a failed attempt of a model call.
type faultRecord struct {
	modelCallEpoch
	Fault
	Shown shown `json:"shown,omitzero"`
}

// Fault describes a failed attempt of a model call.
type Fault struct {
	Kind      string `json:"kind"` // llm.KindOf
	Text      string `json:"text"`
	Provider  string `json:"provider,omitempty"`
	Code      string `json:"code,omitempty"`
	Status    int    `json:"status,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	Retryable bool   `json:"retryable,omitempty"`
	// Tokens and Window are the provider's numbers for a request that is too long.
	Tokens int `json:"tokens,omitempty"`
	Window int `json:"window,omitempty"`
	// Undecoded reports that the response made no sense, although it came whole.
	Undecoded bool `json:"undecoded,omitempty"`
	// Rejected is what of the conversation the provider does not take, nil if it said nothing of
	// it.
	Rejected *llm.Rejection `json:"rejected,omitempty"`
	// RetryAt is when the next attempt is due, zero if there is none.
	RetryAt time.Time     `json:"retry_at,omitzero"`
	Delay   time.Duration `json:"delay,omitempty"`
	Usage   llm.Usage     `json:"usage,omitzero"`
	Cost    float64       `json:"cost_usd,omitempty"`
	// Discarded holds the texts that had arrived and do not count, one for each block.
	Discarded []string `json:"discarded,omitempty"`
	// Searches holds the searches of the web that the vendor had run.
	Searches []llm.WebSearch `json:"searches,omitempty"`
	Latency  time.Duration   `json:"latency,omitempty"`
}

// Err returns the fault as an *llm.Error of its kind.
func (f *Fault) Err() error {
	return &llm.Error{
		Kind:      llm.KindNamed(f.Kind),
		Provider:  f.Provider,
		Code:      f.Code,
		Message:   f.Text,
		Status:    f.Status,
		Tokens:    f.Tokens,
		Window:    f.Window,
		RequestID: f.RequestID,
		Final:     !f.Retryable,
		Undecoded: f.Undecoded,
		Rejected:  f.Rejected,
	}
}

// tooLong reports whether the request did not fit into the model's window.
func (f *Fault) tooLong() bool { return llm.KindNamed(f.Kind) == llm.ErrContextLength }

// faultOf returns the record of a failed attempt.
func faultOf(err error, discarded []string, latency time.Duration) faultRecord {
	f := Fault{Kind: llm.KindOf(err), Text: err.Error(), Discarded: discarded, Latency: latency}
	var e *llm.Error
	if errors.As(err, &e) {
		f.Provider, f.Code, f.Status, f.RequestID = e.Provider, e.Code, e.Status, e.RequestID
		f.Tokens, f.Window, f.Rejected, f.Undecoded = e.Tokens, e.Window, e.Rejected, e.Undecoded
		f.Retryable = llm.Retryable(err)
		switch {
		case e.Message != "":
			f.Text = e.Message
		case e.Err != nil:
			f.Text = e.Err.Error()
		}
	}
	f.Text = validText(f.Text)
	return faultRecord{Fault: f}
}
