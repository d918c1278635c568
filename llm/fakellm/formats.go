package fakellm

import "strings"

// formatOf returns the API that a path belongs to. The response to an unknown path has Anthropic's
// format.
func formatOf(path string, words int) (f format, known bool) {
	switch {
	case strings.HasSuffix(path, "/v1/messages"):
		return anthropic{words: words}, true
	case strings.HasSuffix(path, "/responses"):
		return &openai{words: words}, true
	case strings.HasSuffix(path, "/chat/completions"):
		return &chat{words: words}, true
	case (strings.Contains(path, "/v1beta/") || strings.Contains(path, "/models/")) && strings.Contains(path, ":"):
		return geminiOf(path, words)
	}
	return anthropic{words: words}, false
}
