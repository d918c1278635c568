package cli

import (
	"errors"
	"strings"
)

// splitWords returns the words of a command as a shell reads them: quotes and backslashes keep
// characters together. Nothing else has a meaning, and nothing is replaced. An empty command has no
// words.
func splitWords(text string) ([]string, error) {
	words, word := []string{}, strings.Builder{}
	begun, quote := false, rune(0)
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				word.WriteByte('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begun, escaped = true, true
		case r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			begun, quote = true, r
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if begun {
				words = append(words, word.String())
			}
			begun = false
			word.Reset()
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote or a backslash at its end is left open")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
