package api

import (
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// FinishReason converts the reason of a server in the words of any format, because gateways use
// those of others. calls reports whether the response has calls, for which some servers have no
// reason of their own. A reason that nobody knows is [llm.FinishOther].
func FinishReason(raw string, calls bool) llm.FinishReason {
	switch strings.ToLower(raw) {
	case "stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed", "", "tool_calls",
		"tool_call", "tool_use",
		"function_call":
		if calls {
			return llm.FinishToolCalls
		}
		return llm.FinishStop
	case "length", "max_tokens", "max_output_tokens":
		return llm.FinishLength
	case "model_length", "model_context_window_exceeded": // the first one is Mistral's
		return llm.FinishContextLength
	case "content_filter", "refusal", "safety", "sensitive", "recitation", "blocklist", "prohibited_content",
		// Gemini's; language is one that the model may not use
		"spii", "model_armor", "image_safety", "image_prohibited_content", "image_recitation", "language":
		return llm.FinishContentFilter
	}
	return llm.FinishOther
}
