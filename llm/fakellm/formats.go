package fakellm

import "strings"

// formatOf finds whose API a path belongs to. An unknown path is answered in Anthropic's words.
func formatOf(path string, words int) (f format, known bool) {
	switch {
	case strings.HasSuffix(path, "/v1/messages"):
		return anthropic{words: words}, true
	}
	return anthropic{words: words}, false
}
