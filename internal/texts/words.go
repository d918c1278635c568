package texts

import "strings"

// Words returns the words of a text as a shell divides them: quotes hold words together. An
// apostrophe in a word is text.
func Words(text string) (words []string) {
	var b strings.Builder
	begun := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		end := -1
		if c == '"' || c == '\'' && !begun {
			end = strings.IndexByte(text[i+1:], c)
		}
		switch {
		case end >= 0:
			b.WriteString(text[i+1 : i+1+end])
			begun = true
			i += end + 1
		case strings.IndexByte(" \t\r\n", c) < 0:
			b.WriteByte(c)
			begun = true
		case begun:
			words = append(words, b.String())
			b.Reset()
			begun = false
		}
	}
	if begun {
		words = append(words, b.String())
	}
	return words
}
