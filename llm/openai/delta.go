package openai

// The events with a piece of an item.
const (
	textDelta      = "response.output_text.delta"
	refusalDelta   = "response.refusal.delta"
	summaryDelta   = "response.reasoning_summary_text.delta"
	reasoningDelta = "response.reasoning_text.delta"
	argumentsDelta = "response.function_call_arguments.delta"
	inputDelta     = "response.custom_tool_call_input.delta"
)

// slot returns the slot of a delta in a message or in reasoning.
func (ev *wireEvent) slot() slot {
	if ev.Type == summaryDelta {
		return slot{index: ev.SummaryIndex}
	}
	return slot{index: ev.ContentIndex, raw: ev.Type == reasoningDelta}
}
