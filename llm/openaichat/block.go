package openaichat

import (
	"encoding/json"
	"fmt"

	"github.com/attractor-go/attractor/internal/pieces"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// block is a content block that is being received.
type block struct {
	index int
	kind  blockKind
	// member names the member that the thinking came in and goes back in.
	member string
	text   pieces.Text
	call   *call // of a callBlock
}

type blockKind uint8

const (
	textBlock blockKind = iota
	thinkingBlock
	callBlock
)

// The members that hold reasoning. A thinking part has its member as its ID, so that it goes back
// in the same one, because servers refuse each other's.
const (
	memberReasoningContent = "reasoning_content" // DeepSeek, llama.cpp, SGLang, Kimi, GLM, xAI
	memberReasoning        = "reasoning"         // OpenRouter, Groq, Cerebras, Ollama, vLLM
	memberContent          = "content"           // Mistral: a part of type thinking
	memberDetails          = "reasoning_details" // if no other member has the text
)

// beginBlock gives a block its index.
func (d *decoder) beginBlock(b *block) {
	d.CountBlock("", b.member)
	b.index = len(d.blocks)
	d.blocks = append(d.blocks, b)
}

// emitText streams a piece of text or thinking.
func (d *decoder) emitText(kind blockKind, member, text string) error {
	if text == "" {
		return nil
	}
	d.Count(len(text))
	b := d.current
	if b == nil || b.kind != kind || b.member != member {
		d.endText()
		if err := d.startCalls(nil); err != nil {
			return err
		}
		b = &block{kind: kind, member: member}
		d.beginBlock(b)
		d.current = b
		d.Emit(llm.StreamEvent{Type: kind.event(llm.EventTextStart, llm.EventThinkingStart), Block: b.index})
	}
	b.text.Add(text)
	d.Emit(llm.StreamEvent{Type: kind.event(llm.EventTextDelta, llm.EventThinkingDelta), Block: b.index, Delta: text})
	return nil
}

// endText ends the current text or thinking.
func (d *decoder) endText() {
	if b := d.current; b != nil {
		d.current = nil
		d.Emit(llm.StreamEvent{Type: b.kind.event(llm.EventTextEnd, llm.EventThinkingEnd), Block: b.index})
	}
}

func (k blockKind) event(text, thinking llm.EventType) llm.EventType {
	if k == thinkingBlock {
		return thinking
	}
	return text
}

// content decodes the content member in any of its forms.
func (d *decoder) content(raw json.RawMessage) error {
	if api.IsNull(raw) {
		return nil
	}
	if raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return fmt.Errorf("malformed content: %w", err)
		}
		return d.contentText(text)
	}
	var parts []wirePart
	if err := json.Unmarshal(raw, &parts); err != nil {
		return fmt.Errorf("malformed content: %w", err)
	}
	for _, p := range parts {
		if err := d.contentPart(p); err != nil {
			return err
		}
		if err := d.Check(); err != nil { // one event can have a million parts
			return err
		}
	}
	return nil
}

func (d *decoder) contentPart(p wirePart) error {
	switch p.Type {
	case "text", "output_text":
		return d.contentText(p.Text)
	case "refusal":
		d.refused = d.refused || p.Refusal != ""
		return d.emitText(textBlock, "", p.Refusal)
	case "thinking":
		for _, inner := range p.Thinking {
			if err := d.emitText(thinkingBlock, memberContent, inner.Text); err != nil {
				return err
			}
		}
	}
	return nil // a reference to a source, or another kind that is neither text nor thinking
}

// reasoning decodes the members with reasoning. Some servers write the same text into two of them.
func (d *decoder) reasoning(m *wireMessage) error {
	text := d.details.add(d, m.ReasoningDetails)
	var other string
	if len(m.Reasoning) > 0 && m.Reasoning[0] == '"' {
		if err := json.Unmarshal(m.Reasoning, &other); err != nil {
			return fmt.Errorf("malformed reasoning: %w", err)
		}
	}
	if said := m.ReasoningContent + other; said != "" && said != text {
		d.Count(len(text)) // kept in addition to the text
	}
	switch {
	case m.ReasoningContent != "":
		return d.emitText(thinkingBlock, memberReasoningContent, m.ReasoningContent)
	case other != "":
		return d.emitText(thinkingBlock, memberReasoning, other)
	}
	return d.emitText(thinkingBlock, memberDetails, text)
}

func (b *block) part() llm.Part {
	switch b.kind {
	case thinkingBlock:
		return llm.Thinking{Text: b.text.String(), ID: b.member}
	case callBlock:
		return b.call.part()
	}
	return llm.Text{Text: b.text.String()}
}
