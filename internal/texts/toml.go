package texts

import (
	"fmt"
	"strings"
)

// CheckTOML returns an error if tables, lists or the parts of a name are too deep inside each other
// in TOML, together with the line. A parser takes a time that grows with the square of that depth.
func CheckTOML(text string) (line int, err error) {
	open := []int{0} // how deep the line is, and what is inside of each bracket before it
	depth := 0
	for i := 0; i < len(text); i++ {
		last := len(open) - 1
		switch text[i] {
		case '"', '\'', '#':
			n := tomlText(text[i:])
			if n < 0 {
				return 0, nil // the parser says what is wrong
			}
			i += n - 1
		case '.':
			open[last]++
			depth++
		case '[', '{':
			open = append(open, 1)
			depth++
		case ']', '}':
			if last > 0 {
				depth -= open[last]
				open = open[:last]
			}
		case ',', '\n': // the next name begins
			depth -= open[last] - min(last, 1)
			open[last] = min(last, 1)
		}
		if depth > maxNesting {
			return 1 + strings.Count(text[:i], "\n"),
				fmt.Errorf("more than %d tables, lists and parts of names are inside each other", maxNesting)
		}
	}
	return 0, nil
}

// tomlText returns the length of the string or comment with which a text begins, or -1 if it has no
// end.
func tomlText(text string) int {
	if text[0] == '#' {
		comment, _, _ := strings.Cut(text, "\n")
		return len(comment)
	}
	quote := text[:1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(text, long) {
		quote = long
	}
	for i := len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote[0] == '"':
			i++
		case text[i] == '\n' && len(quote) == 1:
			return -1
		case strings.HasPrefix(text[i:], quote):
			for len(quote) == 3 && strings.HasPrefix(text[i+1:], quote) { // quotes before the end belong to the text
				i++
			}
			return i + len(quote)
		}
	}
	return -1
}
