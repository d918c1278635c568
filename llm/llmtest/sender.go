package llmtest

import (
	"context"

	"github.com/attractor-go/attractor/llm"
)

// sender yields a response's events until the context ends or the caller stops ranging. Every
// method reports whether to continue.
type sender struct {
	ctx   context.Context
	yield func(llm.StreamEvent, error) bool
	open  bool // whether the last part is left without its end
}

func (s *sender) send(ev llm.StreamEvent) bool {
	if s.ctx.Err() != nil {
		s.yield(llm.StreamEvent{}, aborted(s.ctx))
		return false
	}
	return s.yield(ev, nil)
}

func (s *sender) parts(parts llm.Parts) bool {
	for i, part := range parts {
		if !s.part(i, part, s.open && i == len(parts)-1) {
			return false
		}
	}
	return true
}

func (s *sender) part(i int, part llm.Part, open bool) bool {
	var start llm.StreamEvent
	var delta, end llm.EventType
	var text string
	switch part := part.(type) {
	case llm.Text:
		start.Type, delta, end, text = llm.EventTextStart, llm.EventTextDelta, llm.EventTextEnd, part.Text
	case llm.Thinking:
		start.Type, delta, end, text = llm.EventThinkingStart, llm.EventThinkingDelta, llm.EventThinkingEnd, part.Text
	case llm.ToolCall:
		start = llm.StreamEvent{Type: llm.EventCallStart, ID: part.ID, Name: part.Name}
		delta, end, text = llm.EventCallDelta, llm.EventCallEnd, part.Args
	case llm.Opaque:
		return s.send(llm.StreamEvent{Type: llm.EventProvider, Block: i, Raw: []byte(part.Data)})
	default:
		return true // the contract has no events for it; it is only in the response
	}
	start.Block = i
	if !s.send(start) {
		return false
	}
	for _, piece := range pieces(text) {
		if piece != "" && !s.send(llm.StreamEvent{Type: delta, Block: i, Delta: piece}) {
			return false
		}
	}
	return open || s.send(llm.StreamEvent{Type: end, Block: i})
}
