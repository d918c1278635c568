package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/attractor-go/attractor/llm"
)

// Progress tells what an event means for the stream.
type Progress uint8

// The kinds of progress.
const (
	Idle     Progress = iota // a ping: the idle timer continues
	Moving                   // more of the response
	Finished                 // the last event; Finish returns the response
)

// Decoder converts a provider's response to the events of a stream. It does no input or output.
// Each one embeds [Events], which implements Out, Check, and Stopped and End for formats with a
// last event.
type Decoder interface {
	// Step decodes the data of one event, which is valid until it returns. An error ends the
	// stream: an [InBandError], an [*llm.Error] if the decoder knows the kind, or another error
	// that says what is wrong with the event.
	Step(data []byte) (Progress, error)
	// Whole decodes a response that is one JSON value.
	Whole(body []byte) error
	// Out returns the events since its last call, valid until the next call of another method.
	Out() []llm.StreamEvent
	// Finish returns the stream's last event.
	Finish() llm.StreamEvent
	// Check returns an error if the response exceeds its maximum length.
	Check() error
	// Stopped reports whether the reason why the model stopped has come, in formats in which the
	// end of the stream can complete the response. Nothing that the response needs follows it.
	Stopped() bool
	// End is called when the stream has ended without an event that was Finished. done tells that
	// the server has said so with [DONE]; otherwise the body has ended, perhaps not cleanly if
	// Stopped. It reports whether the response is complete. Out then returns its last events.
	End(done bool) (bool, error)
}

// Events collects the events of a stream and its response, and counts the response's size.
type Events struct {
	size
	Response llm.Response
	Started  bool     // EventStart was emitted
	Blocks   []*Block // in the order in which they began
	out      []llm.StreamEvent
}

// NewEvents returns the events of a response of this model, unless the server names another.
func NewEvents(provider, model string, limit *llm.RateLimit) Events {
	return Events{Response: llm.Response{Provider: provider, Model: model, RateLimit: limit}}
}

// Out implements [Decoder].
func (e *Events) Out() []llm.StreamEvent {
	out := e.out
	e.out = e.out[:0]
	return out
}

// Stopped implements [Decoder].
func (e *Events) Stopped() bool { return false }

// End implements [Decoder].
func (e *Events) End(bool) (bool, error) { return false, nil }

// Emit adds an event.
func (e *Events) Emit(ev llm.StreamEvent) { e.out = append(e.out, ev) }

// Pass adds a provider's event that package llm has no type for.
func (e *Events) Pass(block int, raw []byte) {
	e.Emit(llm.StreamEvent{Type: llm.EventProvider, Block: block, Raw: bytes.Clone(raw)})
}

// Start adds the EventStart at its first call. An empty model means that of the request.
func (e *Events) Start(id, model string) {
	if e.Started {
		return
	}
	e.Started = true
	e.Response.ID, e.Response.Model = id, cmp.Or(model, e.Response.Model)
	e.Emit(llm.StreamEvent{Type: llm.EventStart, ID: id, Model: e.Response.Model})
}

// Finished returns the EventFinish of a response with these parts and those of the blocks.
func (e *Events) Finished(first ...llm.Part) llm.StreamEvent {
	r := e.Response
	parts := append(make(llm.Parts, 0, len(first)+len(e.Blocks)), first...)
	for _, b := range e.Blocks {
		if !b.Dropped {
			parts = append(parts, b.part(r.Provider))
		}
	}
	r.Message = llm.Message{Role: llm.RoleAssistant, Provider: r.Provider, Model: r.Model, Parts: parts}
	return llm.StreamEvent{Type: llm.EventFinish, Response: &r}
}

// InBandError is an error in the middle of a successful response: its JSON, for [Call].Decode.
type InBandError []byte

// Error implements error.
func (e InBandError) Error() string { return "the server broke off with an error" }

// Decode yields the response's events, including the last one. It returns the error that is still
// to be yielded, or nil if the stream has ended or the listener left.
func (r *Response) Decode(d Decoder, yield func(llm.StreamEvent, error) bool) error {
	if r.Whole {
		return r.decodeWhole(d, yield)
	}
	var sent Repeats
	for {
		ev, err := r.Next()
		switch {
		case string(bytes.TrimSpace(ev.Data)) == "[DONE]":
			return r.ended(d, true, yield)
		case err == io.EOF && !json.Valid(ev.Data):
			return r.ended(d, false, yield)
		case err != nil && err != io.EOF && d.Stopped() && !errors.Is(err, llm.ErrAborted):
			return r.ended(d, false, yield)
		case err != nil && err != io.EOF:
			return err
		}
		if empty(ev.Data) || sent.Again(number(ev.ID), ev.Data) {
			continue
		}
		progress, err := d.Step(ev.Data)
		if err == nil {
			err = d.Check()
		}
		if err != nil {
			return r.undecoded(err)
		}
		if d.Stopped() {
			r.watch.shorten(closingTime)
		}
		if progress != Idle {
			r.Progress()
		}
		for _, out := range d.Out() {
			if !yield(out, nil) {
				return nil
			}
		}
		if progress == Finished {
			yield(d.Finish(), nil)
			r.Drain()
			return nil
		}
	}
}

// number returns an event's id as a number, or a negative number if it is none.
func number(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil {
		return -1
	}
	return n
}

// empty reports whether an event says nothing: some gateways keep a connection alive with events
// instead of comments, or send the comments of others as data.
func empty(data []byte) bool {
	data = bytes.TrimSpace(data)
	switch string(data) {
	case "", "{}", "null":
		return true
	}
	return data[0] == ':'
}

// ended handles the end of the stream. done tells that the server has announced it.
func (r *Response) ended(d Decoder, done bool, yield func(llm.StreamEvent, error) bool) error {
	complete, err := d.End(done)
	if err != nil {
		return r.undecoded(err)
	}
	if !complete {
		return r.Fail(llm.ErrStream, "the response ended before its last event")
	}
	finish(d, yield)
	r.Drain()
	return nil
}

// finish yields the events of the last step and the stream's last event.
func finish(d Decoder, yield func(llm.StreamEvent, error) bool) {
	for _, out := range d.Out() {
		if !yield(out, nil) {
			return
		}
	}
	yield(d.Finish(), nil)
}

func (r *Response) decodeWhole(d Decoder, yield func(llm.StreamEvent, error) bool) error {
	body, err := r.ReadAll()
	if err != nil {
		return err
	}
	if err = d.Whole(body); err == nil {
		err = d.Check()
	}
	if err != nil {
		return r.undecoded(err)
	}
	finish(d, yield)
	return nil
}

func (r *Response) undecoded(err error) error {
	var inBand InBandError
	if errors.As(err, &inBand) {
		return r.Failure(inBand)
	}
	var known *llm.Error
	if errors.As(err, &known) {
		return r.judged(known)
	}
	e := r.Fail(llm.ErrStream, "cannot decode the response: %v", err)
	e.Undecoded = true
	return e
}
