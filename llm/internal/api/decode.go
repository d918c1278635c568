package api

import (
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
type Decoder interface {
	// Step decodes the data of one event, which is valid until it returns. An error ends the
	// stream: an [InBandError], an [*llm.Error] if the decoder knows the kind, or another error
	// that says what is wrong with the event.
	Step(data []byte) (Progress, error)
	// Whole decodes a response that is one JSON value.
	Whole(body []byte) error
	// Out returns the events from the last call of Step or Whole, valid until the next call.
	Out() []llm.StreamEvent
	// Finish returns the stream's last event.
	Finish() llm.StreamEvent
	// Check returns an error if the response exceeds its maximum length. [Size] implements it.
	Check() error
}

// Ender may be implemented by a [Decoder] of a format in which a clean end of the body can complete
// the response.
type Ender interface {
	// End is called when the body has ended without an event that was Finished. It reports whether
	// the response is complete. Out then returns its last events.
	End() (bool, error)
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
		if err == io.EOF && !json.Valid(ev.Data) {
			return r.ended(d, yield)
		}
		if err != nil && err != io.EOF {
			return err
		}
		if sent.Again(number(ev.ID), ev.Data) {
			continue
		}
		progress, err := d.Step(ev.Data)
		if err == nil {
			err = d.Check()
		}
		if err != nil {
			return r.undecoded(err)
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

// ended handles a clean end of the body.
func (r *Response) ended(d Decoder, yield func(llm.StreamEvent, error) bool) error {
	if e, ok := d.(Ender); ok {
		complete, err := e.End()
		if err != nil {
			return r.undecoded(err)
		}
		if complete {
			finish(d, yield)
			return nil
		}
	}
	return r.Fail(llm.ErrStream, "the response ended before its last event")
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
