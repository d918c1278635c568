package openai

// deltaKind is the kind of an event with a piece of an item.
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

// deltaOf returns the kind of an event, or otherDelta if it has no piece of an item.
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

// slot returns the slot of a delta in a message or in reasoning.
func (ev *wireEvent) slot(kind deltaKind) slot {
	if kind == summaryDelta {
		return slot{index: ev.SummaryIndex}
	}
	return slot{index: ev.ContentIndex, raw: kind == reasoningDelta}
}
