package api

import (
	"errors"
	"io"
	"strconv"

	"github.com/attractor-go/attractor/llm"
)

// Progress is what an event means for the stream.
type Progress uint8

// The meanings of an event.
const (
	Idle     Progress = iota // a ping: the idle timer runs on
	Moving                   // more of the answer
	Finished                 // the last event; Finish has the answer
)

// Decoder turns a provider's answer into a stream's events. It does no input or output.
type Decoder interface {
	// Step decodes one event's data, which is valid until it returns. An error ends the stream: an [InBandError], an [*llm.Error]
	// where the decoder knows the kind, or one that says what is wrong with the event.
	Step(data []byte) (Progress, error)
	// Whole decodes an answer that is one JSON value.
	Whole(body []byte) error
	// Out is what the last call of Step or Whole brought, valid until the next.
	Out() []llm.StreamEvent
	// Finish is the stream's last event.
	Finish() llm.StreamEvent
	// Check returns an error when the answer so far is longer than an answer may be. [Size] has it.
	Check() error
}

// Ender is a [Decoder] of a format in which a clean end of the body can end the answer too.
type Ender interface {
	// End is called when the body ended without an event that was Finished. It reports whether the answer is complete; Out then
	// has its last events.
	End() (bool, error)
}

// InBandError is an error that came inside of a successful answer: its JSON, for [Call].Decode.
type InBandError []byte

// Error implements error.
func (e InBandError) Error() string { return "the server broke off with an error" }

// Decode yields the answer's events, the last one included. The error is the one that is still to be yielded; nil when the
// stream is over or nobody listens any more.
func (r *Response) Decode(d Decoder, yield func(llm.StreamEvent, error) bool) error {
	if r.Whole {
		return r.decodeWhole(d, yield)
	}
	var sent Repeats
	for {
		ev, err := r.Next()
		if err == io.EOF {
			return r.ended(d, yield)
		}
		if err != nil {
			return err
		}
		if ev.OwnID && sent.Again(number(ev.ID), ev.Data) {
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

// number reads an event's id as a number, which is negative where it is none.
func number(id string) int {
	n, err := strconv.Atoi(id)
	if err != nil {
		return -1
	}
	return n
}

// ended is for a clean end of the body.
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
	return r.Fail(llm.ErrStream, "the answer ended before its last event")
}

// finish yields the last step's events and the stream's last one.
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
	return r.Fail(llm.ErrStream, "the answer makes no sense: %v", err)
}
