package gemini

import (
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// The thinking budgets of the 2.5 models, in tokens, from Google's page on thinking: the most that
// all of them accept, the most and the least that pro accepts (it cannot be disabled), and what we
// leave for the rest of the response.
const (
	maxBudget    = 24576
	maxProBudget = 32768
	minProBudget = 128
	responseRoom = 1024
)

// efforts lists the known efforts, lowest first.
var efforts = (*llm.Model)(nil).KnownEfforts()

// thinking holds a request's effort in the API's form.
type thinking struct {
	config    string // the JSON of thinkingConfig, empty for none
	maxTokens int    // of output, thoughts included; 0 means the API's default, the model's limit
}

// think converts an effort: to a level for models with levels, to a budget for the 2.5 generation.
// Nothing is sent for an empty effort, and for models that are known not to reason.
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
		levels = []string{"low", "medium", "high"} // the levels that we can assume
	}
	if len(levels) > 0 {
		// thinking cannot be disabled, and high is the highest; the API judges unknown efforts
		level, _ := (&llm.Model{Efforts: levels}).FitEffort(effort)
		t.config = thinkingConfig(effort, `"thinkingLevel":`+api.Quote(strings.ToUpper(level)))
		return t, nil
	}
	if req.Facts == nil && !strings.Contains(req.Model, "2.5") { // models up to 2.0 do not think
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

// thinkingConfig returns the JSON of that object with a member. Thoughts are requested unless the
// effort is none.
func thinkingConfig(effort, member string) string {
	if effort == "none" {
		return `{` + member + `}`
	}
	return `{"includeThoughts":true,` + member + `}`
}

// effortBudget returns the thinking budget of an effort, in tokens, as Google's OpenAI-compatible
// endpoint translates it.
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
	return 0, llm.Errorf(llm.ErrInvalidRequest, "unknown effort %q; this model supports %s", effort,
		strings.Join(efforts, ", "))
}

// budgetConfig returns the configuration for a budget. The API counts thoughts as output, so the
// caller's limit is raised to fit both, as far as the model's own limit allows.
func budgetConfig(effort string, budget, maxTokens, limit int) (config string, tokens int) {
	if maxTokens > 0 && budget > 0 && maxTokens <= budget {
		maxTokens += budget
	}
	if limit > 0 && maxTokens > limit {
		maxTokens = limit
		budget = min(budget, max(limit-responseRoom, minProBudget))
	}
	return thinkingConfig(effort, `"thinkingBudget":`+strconv.Itoa(budget)), maxTokens
}
