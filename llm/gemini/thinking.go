package gemini

import (
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// The thinking budgets of the 2.5 models, in tokens, from Google's page on thinking: the most that all of them take, the most
// that pro takes, the least that pro takes (it cannot be switched off), and what we leave for the answer itself.
const (
	maxBudget    = 24576
	maxProBudget = 32768
	minProBudget = 128
	answerRoom   = 1024
)

// efforts are the words for an effort, lowest first.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// thinking is how a request's effort is put to the API.
type thinking struct {
	config    string // the JSON of thinkingConfig, empty for none
	maxTokens int    // of output, thoughts included; 0 leaves it to the API, whose default is the model's limit
}

// think maps an effort: to a level for models with levels, to a budget for those of the 2.5 generation. An empty effort asks
// for nothing, and of a model that is known not to reason nothing is asked.
func think(req *llm.Request) (thinking, error) {
	t := thinking{maxTokens: max(req.MaxTokens, 0)}
	effort := strings.ToLower(req.Effort)
	if effort == "" || req.Facts != nil && !req.Facts.Reasoning {
		return t, nil
	}
	var levels []string
	if req.Facts != nil {
		levels = req.Facts.Efforts
	} else if familyOf(req.Model) != gemini2 {
		levels = []string{"low", "medium", "high"} // all that we can assume
	}
	if len(levels) > 0 {
		t.config = levelConfig(effort, levels)
		return t, nil
	}
	if req.Facts == nil && !strings.Contains(req.Model, "2.5") { // 2.0 and before do not think
		return t, nil
	}
	budget, err := effortBudget(effort, strings.Contains(req.Model, "pro"))
	if err != nil {
		return t, err
	}
	limit := 0
	if req.Facts != nil {
		limit = req.Facts.MaxOutput
	}
	t.config, t.maxTokens = budgetConfig(effort, budget, t.maxTokens, limit)
	return t, nil
}

// levelConfig asks for the level itself or, when the model does not have it, for the next lower one that it has: thinking
// cannot be switched off, and above high there is nothing. A word of which we know nothing is for the API to judge.
func levelConfig(effort string, levels []string) string {
	level, rank := effort, slices.Index(efforts, effort)
	if rank >= 0 && !slices.Contains(levels, effort) {
		level = levels[0]
		for _, l := range levels {
			if slices.Index(efforts, l) <= rank {
				level = l
			}
		}
	}
	config := `{`
	if effort != "none" {
		config += `"includeThoughts":true,`
	}
	return config + `"thinkingLevel":` + string(api.AppendString(nil, strings.ToUpper(level))) + `}`
}

// effortBudget is what the efforts are worth in tokens: the figures with which Google's own OpenAI-compatible endpoint
// translates them.
func effortBudget(effort string, pro bool) (int, error) {
	switch {
	case effort == "none" && pro:
		return minProBudget, nil
	case effort == "none":
		return 0, nil
	case effort == "minimal", effort == "low":
		return 1024, nil
	case effort == "medium":
		return 8192, nil
	case effort == "high", slices.Contains(efforts, effort) && !pro:
		return maxBudget, nil
	case slices.Contains(efforts, effort):
		return maxProBudget, nil
	}
	return 0, llm.Errorf(llm.ErrInvalidRequest, "unknown effort %q: this model takes %s", effort, strings.Join(efforts, ", "))
}

// budgetConfig counts the thoughts into the output, as the API does: a limit that the caller set for the answer is raised to
// hold both, as far as the model's own limit allows.
func budgetConfig(effort string, budget, maxTokens, limit int) (config string, tokens int) {
	if maxTokens > 0 && budget > 0 && maxTokens <= budget {
		maxTokens += budget
	}
	if limit > 0 && maxTokens > limit {
		maxTokens = limit
		budget = min(budget, max(limit-answerRoom, minProBudget))
	}
	config = `{`
	if effort != "none" {
		config += `"includeThoughts":true,`
	}
	return config + `"thinkingBudget":` + strconv.Itoa(budget) + `}`, maxTokens
}
