package catalog

import (
	"slices"
	"strings"
)

// The prices of a web search that the vendor runs, in US dollars, as of 2026-11-29. Each vendor has
// one price for all its models. The tokens of the results are billed as other tokens.
const (
	// "$10 per 1,000 searches", platform.claude.com/docs/en/about-claude/pricing
	anthropicSearch = 10.0 / 1000
	// "Web search (all models): $10.00 / 1k calls", platform.openai.com/docs/pricing
	openaiSearch = 10.0 / 1000
	// "$14 / 1,000 search queries" for models from Gemini 3 on,
	// ai.google.dev/gemini-api/docs/pricing; the first 5,000 of a month are free, which is not
	// counted here
	geminiSearch = 14.0 / 1000
)

// SearchPrice returns the price of a web search that the vendor runs for a model that also has
// other tools, or 0 if the model has no such search. Other providers are not known to have one.
func SearchPrice(provider, model string) float64 {
	switch provider {
	case "anthropic":
		return anthropicSearch
	case "openai":
		// models whose pages do not name the tool
		without := []string{"gpt-4", "gpt-4-turbo", "gpt-4o-2024-05-13", "gpt-4.1-nano", "o1", "o1-pro", "o3-mini",
			"gpt-5-chat-latest"}
		if !slices.Contains(without, model) {
			return openaiSearch
		}
	case "gemini":
		// Gemini 2.5 refuses it beside functions; the others here are no models for tools
		if rest, ok := strings.CutPrefix(model, "gemini-"); ok && !strings.HasPrefix(rest, "2") &&
			!strings.HasPrefix(rest, "robotics") {
			return geminiSearch
		}
	}
	return 0
}
