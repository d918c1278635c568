package openaichat

import (
	"encoding/json"
	"fmt"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// The members that hold reasoning. A thinking part has its member as its ID, so that it goes back
// in the same one, because servers refuse each other's.
const (
	memberReasoningContent = "reasoning_content" // DeepSeek, llama.cpp, SGLang, Kimi, GLM, xAI
	memberReasoning        = "reasoning"         // OpenRouter, Groq, Cerebras, Ollama, vLLM
	memberContent          = "content"           // Mistral: a part of type thinking
	memberDetails          = "reasoning_details" // if no other member has the text
)

// emitText streams a piece of text or thinking, whose block begins with an event of type start. The
// id of its block is the member that thinking came in and goes back in.
func (d *decoder) emitText(start llm.EventType, member, text string) error {
	if text == "" {
		return nil
	}
	if b := d.current; b == nil || b.Start != start || b.ID != member {
		d.endText()
		if err := d.startCalls(nil); err != nil {
			return err
		}
		d.current = &api.Block{Start: start, ID: member}
		d.Begin(d.current)
	}
	d.Add(d.current, text)
	return nil
}

// endText ends the current text or thinking.
func (d *decoder) endText() {
	if d.current != nil {
		d.Close(d.current)
		d.current = nil
	}
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
		return d.emitText(llm.EventTextStart, "", p.Refusal)
	case "thinking":
		for _, inner := range p.Thinking {
			if err := d.emitText(llm.EventThinkingStart, memberContent, inner.Text); err != nil {
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
		return d.emitText(llm.EventThinkingStart, memberReasoningContent, m.ReasoningContent)
	case other != "":
		return d.emitText(llm.EventThinkingStart, memberReasoning, other)
	}
	return d.emitText(llm.EventThinkingStart, memberDetails, text)
}
