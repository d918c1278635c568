package openai

import "github.com/attractor-go/attractor/llm/internal/api"

// delta is a decoded piece of an item.
type delta struct {
	kind deltaKind
	item int  // output_index
	slot slot // which piece of the item
	text string
}

type deltaKind uint8

const (
	otherDelta deltaKind = iota
	textDelta
	refusalDelta
	summaryDelta
	reasoningDelta
	argumentsDelta
	inputDelta
)

// deltaOf returns the kind of the events that come by the thousand.
func deltaOf(event string) deltaKind {
	switch event {
	case "response.output_text.delta":
		return textDelta
	case "response.refusal.delta":
		return refusalDelta
	case "response.reasoning_summary_text.delta":
		return summaryDelta
	case "response.reasoning_text.delta":
		return reasoningDelta
	case "response.function_call_arguments.delta":
		return argumentsDelta
	case "response.custom_tool_call_input.delta":
		return inputDelta
	}
	return otherDelta
}

// slotOf returns the slot with the index that counts for a kind.
func slotOf(kind deltaKind, content, summary int) slot {
	switch kind {
	case textDelta, refusalDelta:
		return slot{index: content}
	case reasoningDelta:
		return slot{index: content, raw: true}
	case summaryDelta:
		return slot{index: summary}
	}
	return slot{}
}

// The members of a delta, to detect duplicates.
const (
	hasType = 1 << iota
	hasSequence
	hasItemID
	hasOutput
	hasContent
	hasSummary
	hasDelta
	hasLogprobs
	hasObfuscation
)

// scanDelta decodes a delta and its event's number, which is -1 without one. It returns false for every other event and for JSON
// that it does not expect.
func scanDelta(data []byte) (d delta, number int, ok bool) {
	number = -1
	s := api.Scan(data)
	s.Want('{')
	content, summary := 0, 0
	for seen := 0; s.OK(); {
		bit := 0
		key := s.Word()
		s.Want(':')
		switch string(key) {
		case "type":
			bit = hasType
			if d.kind = deltaOf(string(s.Word())); d.kind == otherDelta {
				return delta{}, -1, false
			}
		case "sequence_number":
			bit, number = hasSequence, s.Int()
		case "item_id":
			bit = hasItemID
			s.Word()
		case "output_index":
			bit, d.item = hasOutput, s.Int()
		case "content_index":
			bit, content = hasContent, s.Int()
		case "summary_index":
			bit, summary = hasSummary, s.Int()
		case "delta":
			bit, d.text = hasDelta, s.Text()
		case "logprobs":
			bit = hasLogprobs
			s.Want('[')
			s.Want(']')
		case "obfuscation":
			bit = hasObfuscation
			s.Word()
		}
		if bit == 0 || seen&bit != 0 { // an unknown member, or a duplicate
			return delta{}, -1, false
		}
		seen |= bit
		if s.Is(',') {
			continue
		}
		s.Want('}')
		s.End()
		d.slot = slotOf(d.kind, content, summary)
		return d, number, s.OK() && seen&(hasType|hasOutput|hasDelta) == hasType|hasOutput|hasDelta
	}
	return delta{}, -1, false
}

// readDelta returns the delta of an event that was decoded by encoding/json.
func readDelta(kind deltaKind, ev *wireEvent) delta {
	return delta{kind: kind, item: ev.OutputIndex, slot: slotOf(kind, ev.ContentIndex, ev.SummaryIndex), text: ev.Delta}
}
