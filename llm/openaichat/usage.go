package openaichat

import (
	"encoding/json"

	"github.com/attractor-go/attractor/llm"
)

// wireUsage has the counts under all of their names.
type wireUsage struct {
	Prompt     float64 `json:"prompt_tokens"`
	Completion float64 `json:"completion_tokens"`
	Total      float64 `json:"total_tokens"`

	PromptDetails struct {
		Cached     float64 `json:"cached_tokens"`
		CacheWrite float64 `json:"cache_write_tokens"` // OpenRouter
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`

	Cached     float64 `json:"cached_tokens"`               // Kimi
	CacheHit   float64 `json:"prompt_cache_hit_tokens"`     // DeepSeek
	CacheWrite float64 `json:"cache_creation_input_tokens"` // Vercel's gateway
	Reasoning  float64 `json:"reasoning_tokens"`            // SGLang
}

// readUsage reads the counts of an answer; ok is false when there are none. Counts in a form that nobody expects are no reason to
// lose the answer.
func readUsage(raw json.RawMessage) (u llm.Usage, ok bool) {
	var w wireUsage
	if isNull(raw) || json.Unmarshal(raw, &w) != nil || w.Prompt+w.Completion+w.Total <= 0 {
		return llm.Usage{}, false
	}
	u.Input = count(w.Prompt)
	u.CacheRead = min(count(max(w.PromptDetails.Cached, w.Cached, w.CacheHit)), u.Input)
	u.CacheWrite = min(count(max(w.PromptDetails.CacheWrite, w.CacheWrite)), u.Input-u.CacheRead)
	u.Output = count(w.Completion)
	u.Reasoning = count(max(w.CompletionDetails.Reasoning, w.Reasoning))
	// xAI counts reasoning beside the completion; so does Gemini, which names no number for it. The total tells.
	if more := count(w.Total) - u.Input - u.Output; more > 0 && (more == u.Reasoning || u.Reasoning == 0) {
		u.Output += more
		u.Reasoning = more
	}
	if u.Reasoning > u.Output { // Vercel's gateway, for Gemini: beside the completion and not in the total, but in the price
		u.Output += u.Reasoning
	}
	return u, true
}

// count makes a token count of a number of any kind.
func count(f float64) int {
	const most = 1 << 30 // more than any count, and safe to add up
	return int(min(max(f, 0), most))
}

// cachedByTimings is llama.cpp's word on how much of the prompt was in its cache, for versions that do not say it in the usage.
func cachedByTimings(raw json.RawMessage) int {
	var w struct {
		Cached float64 `json:"cache_n"`
	}
	if isNull(raw) || json.Unmarshal(raw, &w) != nil {
		return 0
	}
	return count(w.Cached)
}
