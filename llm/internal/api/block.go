package api

import (
	"github.com/attractor-go/attractor/internal/pieces"
	"github.com/attractor-go/attractor/llm"
)

// Block is a content block of a response that is being received. It becomes a part of the response.
type Block struct {
	// Start is the type of the event that announces the block: EventTextStart, EventThinkingStart
	// or EventCallStart. A block of another kind has none and becomes an [llm.Opaque].
	Start llm.EventType
	Index int         // in the stream
	Open  bool        // its end was not streamed yet
	Text  pieces.Text // text, thinking or arguments, as far as they were streamed
	// The other fields are those of the part.
	ID, Name, Signature string
	Redacted, Free      bool
	Data                string
	Sources             []llm.Source
	Search              *llm.WebSearch
	// Dropped leaves the block out of the response.
	Dropped bool
}

// Begin adds a block to the response and announces it.
func (e *Events) Begin(b *Block) {
	b.Index, b.Open = len(e.Blocks), b.Start != 0
	e.Blocks = append(e.Blocks, b)
	e.CountBlock(b.ID, b.Name)
	switch ev := (llm.StreamEvent{Type: b.Start, Block: b.Index}); b.Start {
	case 0:
	case llm.EventCallStart:
		ev.ID, ev.Name = b.ID, b.Name
		e.Emit(ev)
	default:
		e.Emit(ev)
	}
}

// Add streams a piece of a block's text, unless it is empty.
func (e *Events) Add(b *Block, text string) {
	if text == "" {
		return
	}
	e.Count(len(text))
	b.Text.Add(text)
	e.Emit(llm.StreamEvent{Type: b.Start + 1, Block: b.Index, Delta: text})
}

// Close streams the end of a block that is open.
func (e *Events) Close(b *Block) {
	if b.Open {
		b.Open = false
		e.Emit(llm.StreamEvent{Type: b.Start + 2, Block: b.Index})
	}
}

// part returns the block as a part of a provider's response.
func (b *Block) part(provider string) llm.Part {
	switch b.Start {
	case llm.EventTextStart:
		return llm.Text{Text: b.Text.String(), Signature: b.Signature, Sources: b.Sources}
	case llm.EventThinkingStart:
		return llm.Thinking{Text: b.Text.String(), Signature: b.Signature, Redacted: b.Redacted, ID: b.ID}
	case llm.EventCallStart:
		return llm.ToolCall{ID: b.ID, Name: b.Name, Args: b.Text.String(), Free: b.Free, Signature: b.Signature}
	}
	return llm.Opaque{Provider: provider, Data: b.Data, Search: b.Search}
}
