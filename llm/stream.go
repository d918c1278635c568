package llm

import (
	"encoding/json"
	"iter"
)

// EventType is a kind of [StreamEvent].
type EventType uint8

// The events of a stream, in the order in which they can come. See the package comment for the contract.
const (
	EventStart         EventType = iota + 1 // ID, Model
	EventTextStart                          // Block
	EventTextDelta                          // Block, Delta
	EventTextEnd                            // Block
	EventThinkingStart                      // Block
	EventThinkingDelta                      // Block, Delta
	EventThinkingEnd                        // Block
	EventCallStart                          // Block, ID, Name
	EventCallDelta                          // Block, Delta: the arguments' text
	EventCallEnd                            // Block
	EventStepFinish                         // Response: one model call of several (package generate)
	EventProvider                           // Raw: an event of the provider without a name here
	EventFinish                             // Response: always the last
)

var eventNames = [...]string{
	EventStart: "start", EventTextStart: "text_start", EventTextDelta: "text_delta", EventTextEnd: "text_end",
	EventThinkingStart: "thinking_start", EventThinkingDelta: "thinking_delta", EventThinkingEnd: "thinking_end",
	EventCallStart: "call_start", EventCallDelta: "call_delta", EventCallEnd: "call_end",
	EventStepFinish: "step_finish", EventProvider: "provider", EventFinish: "finish",
}

// String is the event type's name.
func (t EventType) String() string {
	if int(t) < len(eventNames) && eventNames[t] != "" {
		return eventNames[t]
	}
	return "unknown"
}

// StreamEvent is one event of a stream: a flat value, so that a delta costs no allocation beyond its text.
type StreamEvent struct {
	Type EventType
	// Block is the index of the content block that the event belongs to.
	Block int
	// Delta is a piece of text, thinking or arguments.
	Delta string
	// ID is the response's id on EventStart, the call's on EventCallStart; Name is the tool's.
	ID, Name, Model string
	Response        *Response
	Raw             json.RawMessage
}

// Collect reads a stream to its end and returns the whole answer. A stream that ends without one is an [ErrStream].
func Collect(stream iter.Seq2[StreamEvent, error]) (*Response, error) {
	var resp *Response
	for ev, err := range stream {
		if err != nil {
			return nil, err
		}
		if ev.Type == EventFinish {
			resp = ev.Response
		}
	}
	if resp == nil {
		return nil, Errorf(ErrStream, "the stream ended without an answer")
	}
	return resp, nil
}

// Fail is a stream that consists of one error.
func Fail(err error) iter.Seq2[StreamEvent, error] {
	return func(yield func(StreamEvent, error) bool) { yield(StreamEvent{}, err) }
}
