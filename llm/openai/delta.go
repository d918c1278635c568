package openai

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

// readDelta returns the delta of an event.
func readDelta(kind deltaKind, ev *wireEvent) delta {
	return delta{kind: kind, item: ev.OutputIndex, slot: slotOf(kind, ev.ContentIndex, ev.SummaryIndex), text: ev.Delta}
}
