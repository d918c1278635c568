package script

import (
	"maps"

	"mvdan.cc/sh/v3/syntax"
)

// Literals returns what a script says literally about its variables: those that it sets exactly
// once, to a literal value, and the literal words that its loops go through, which may be patterns
// of file names.
func Literals(text string) (constants map[string]string, items []string) {
	constants = map[string]string{}
	file, err := Parse(text)
	if err != nil {
		return constants, nil
	}
	times := map[string]int{}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name == nil {
				break
			}
			times[n.Name.Value]++
			if text, ok := literalText(n.Value); ok && !n.Append && n.Index == nil {
				constants[n.Name.Value] = text
			}
		case *syntax.WordIter:
			times[n.Name.Value] = 2
			for _, item := range n.Items {
				if text, ok := literalText(item); ok {
					items = append(items, text)
				}
			}
		}
		return true
	})
	maps.DeleteFunc(constants, func(name, _ string) bool { return times[name] != 1 })
	return constants, items
}

// literalText returns the text of a word after the removal of quotes, if it is literal or a
// pattern.
func literalText(n *syntax.Word) (text string, ok bool) {
	if n == nil {
		return "", false
	}
	w := ReadWord(n, "")
	return w.Text, w.Unclear == "" && !w.Number
}
