package shquote

import "strings"

// Words returns text that a POSIX shell reads as these words, one for each text, whatever the texts contain. A shell cannot hold a NUL.
func Words(texts ...string) string {
	words := make([]string, len(texts))
	for i, text := range texts {
		words[i] = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}
