package shquote

import "strings"

// Words returns text that a POSIX shell reads as these words, one for each text, whatever the texts
// contain. A shell cannot hold a NUL.
func Words(texts ...string) string {
	words := make([]string, len(texts))
	for i, text := range texts {
		words[i] = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// Shown returns words as a person writes them for a shell: quoted where they need it.
func Shown(texts ...string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:\\"
	words := make([]string, len(texts))
	for i, text := range texts {
		if words[i] = text; strings.Trim(text, plain) != "" {
			words[i] = Words(text)
		}
	}
	return strings.Join(words, " ")
}
