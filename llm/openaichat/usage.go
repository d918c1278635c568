package openaichat

import (
	"encoding/json"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// wireUsage has the counts under all of their names.
type wireUsage struct {
	Prompt     api.Count `json:"prompt_tokens"`
	Completion api.Count `json:"completion_tokens"`
	Total      api.Count `json:"total_tokens"`

	PromptDetails struct {
		Cached     api.Count `json:"cached_tokens"`
		CacheWrite api.Count `json:"cache_write_tokens"` // OpenRouter
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning api.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`

	Cached     api.Count `json:"cached_tokens"`               // Kimi
	CacheHit   api.Count `json:"prompt_cache_hit_tokens"`     // DeepSeek
	CacheWrite api.Count `json:"cache_creation_input_tokens"` // Vercel's gateway
	Reasoning  api.Count `json:"reasoning_tokens"`            // SGLang
}

// readUsage decodes the usage of a response. It returns false without one. Counts of an unexpected
// form do not make the response fail.
func readUsage(raw json.RawMessage) (u llm.Usage, ok bool) {
	var w wireUsage
	if api.IsNull(raw) || json.Unmarshal(raw, &w) != nil || w.Prompt+w.Completion+w.Total <= 0 {
		return llm.Usage{}, false
	}
	u.Input = int(w.Prompt)
	u.CacheRead = min(int(max(w.PromptDetails.Cached, w.Cached, w.CacheHit)), u.Input)
	u.CacheWrite = min(int(max(w.PromptDetails.CacheWrite, w.CacheWrite)), u.Input-u.CacheRead)
	u.Output = int(w.Completion)
	u.Reasoning = int(max(w.CompletionDetails.Reasoning, w.Reasoning))
	// xAI does not count reasoning as completion. Neither does Gemini, which reports no number for
	// it. The total shows it.
	if more := int(w.Total) - u.Input - u.Output; more > 0 && (more == u.Reasoning || u.Reasoning == 0) {
		u.Output += more
		u.Reasoning = more
	}
	if u.Reasoning > u.Output { // Vercel's gateway, for Gemini: not in the completion nor the total, but billed
		u.Output += u.Reasoning
	}
	return u, true
}

// cachedByTimings returns how much of the prompt llama.cpp had in its cache, for versions that do
// not report it in the usage.
func cachedByTimings(raw json.RawMessage) int {
	var w struct {
		Cached api.Count `json:"cache_n"`
	}
	if api.IsNull(raw) || json.Unmarshal(raw, &w) != nil {
		return 0
	}
	return int(w.Cached)
}
