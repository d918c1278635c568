package llm

import (
	"encoding/json"
	"iter"
)

// EventType is the type of a [StreamEvent].
type EventType uint8

// The events of a stream, in the order in which they can occur. The package comment has the
// contract.
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
	EventSearch                             // Block, Search: a web search has ended
	EventStepFinish                         // Response: of one step of several (package generate)
	EventProvider                           // Raw: a provider's event that this package has no type for
	EventFinish                             // Response: always the last
)

var eventNames = [...]string{
	EventStart: "start", EventTextStart: "text_start", EventTextDelta: "text_delta", EventTextEnd: "text_end",
	EventThinkingStart: "thinking_start", EventThinkingDelta: "thinking_delta", EventThinkingEnd: "thinking_end",
	EventCallStart: "call_start", EventCallDelta: "call_delta", EventCallEnd: "call_end",
	EventStepFinish: "step_finish", EventProvider: "provider", EventFinish: "finish",
	EventSearch: "search",
}

// String returns the event type's name.
func (t EventType) String() string {
	if int(t) < len(eventNames) && eventNames[t] != "" {
		return eventNames[t]
	}
	return "unknown"
}

// StreamEvent is one event of a stream. It is a flat value, so that a delta allocates nothing but
// its text.
type StreamEvent struct {
	Type EventType
	// Block is the index of the content block.
	Block int
	// Delta is a piece of text, thinking or arguments.
	Delta string
	// ID is the response's id in EventStart and the call's in EventCallStart. Name is the tool's.
	ID, Name, Model string
	Response        *Response
	Raw             json.RawMessage
	Search          *WebSearch
}

// Collect reads a stream to its end and returns the response. A stream that ends without one is an
// [ErrStream].
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
		return nil, Errorf(ErrStream, "the stream ended without a response")
	}
	return resp, nil
}

// Fail returns a stream that yields one error.
func Fail(err error) iter.Seq2[StreamEvent, error] {
	return func(yield func(StreamEvent, error) bool) { yield(StreamEvent{}, err) }
}
