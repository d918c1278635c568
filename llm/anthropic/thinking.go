package anthropic

import (
	"cmp"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// minBudget is the smallest thinking budget that the API accepts, in tokens.
const minBudget = 1024

// thinking holds a request's effort in the API's form.
type thinking struct {
	maxTokens int
	adaptive  bool   // the model decides how long to think, by effort
	effort    string // for output_config
	budget    int    // tokens, for models without adaptive thinking
}

// think converts an effort. Models with effort levels think adaptively. Others get a budget; it
// counts against max_tokens, which is raised to fit both as far as the model's limit allows.
// Nothing is sent for an empty effort, and for models that are known not to reason.
func think(req *llm.Request) (thinking, error) {
	limit := 0
	var levels []string
	if req.Facts != nil {
		limit, levels = req.Facts.MaxOutput, req.Facts.Efforts
	}
	t := thinking{maxTokens: cmp.Or(max(req.MaxTokens, 0), max(limit, 0), unknownMaxTokens)}
	if req.Effort == "" || req.Effort == "none" {
		return t, nil
	}
	// "Thinking may not be enabled when tool_choice forces tool use."
	forced := len(req.Tools) > 0 && (req.ToolChoice.Mode == llm.ToolRequired || req.ToolChoice.Mode == llm.ToolNamed)
	if len(levels) > 0 {
		t.effort, t.adaptive = req.Effort, !forced
		return t, nil
	}
	budget, err := effortBudget(req.Effort)
	if err != nil || forced || req.Facts != nil && !req.Facts.Reasoning {
		return t, err
	}
	if t.maxTokens <= budget {
		t.maxTokens += budget
	}
	if limit > 0 && t.maxTokens > limit {
		t.maxTokens = limit
		budget = min(budget, limit-minBudget) // leaves room for the text
	}
	if budget >= minBudget {
		t.budget = budget
	}
	return t, nil
}

// effortBudget returns the thinking budget of an effort, in tokens.
func effortBudget(effort string) (int, error) {
	budgets := map[string]int{"minimal": minBudget, "low": 4096, "medium": 10000, "high": 16000, "xhigh": 24000,
		"max": 31999}
	budget, ok := budgets[strings.ToLower(effort)]
	if !ok {
		return 0, llm.Errorf(llm.ErrInvalidRequest,
			"unknown effort %q; this model supports minimal, low, medium, high, xhigh, max and none", effort)
	}
	return budget, nil
}
