package script

import "mvdan.cc/sh/v3/syntax"

// Calculates reports whether a script expands more than commands and bare parameters, or cannot be
// read. Shells run commands in what they calculate, such as an index.
func Calculates(text string) bool {
	file, err := Parse(text)
	if err != nil {
		return true
	}
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ArithmExp:
			found = true
		case *syntax.ParamExp:
			found = found || !IsBare(n)
		}
		return !found
	})
	return found
}
