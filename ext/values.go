package ext

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/attractor-go/attractor/sanitize"
)

// Text returns a field as text, cleaned and without spaces at its ends, or "" if there is none. A
// value such as [file] is the text as it is written.
func (p *Front) Text(name string) string {
	f := p.ask(name)
	if f == nil {
		return ""
	}
	n := f.node
	switch {
	case n == nil:
		return sanitize.Text(f.raw)
	case n.Kind == yaml.ScalarNode && n.Anchor == "" && (n.Style&yaml.TaggedStyle == 0 ||
		strings.HasPrefix(n.Tag, "!!")):
		if n.Tag == "!!null" && n.Style == 0 {
			return ""
		}
		return strings.TrimSpace(sanitize.Text(n.Value))
	case n.Kind == yaml.ScalarNode || n.Kind == yaml.AliasNode || n.Style&yaml.FlowStyle != 0:
		return sanitize.Text(f.raw)
	}
	p.Mistake(f.line, "%s has to be text, not a list or fields of its own, so it has no effect", name)
	return ""
}

// Bool returns a field that is true or false. It returns otherwise if the field is missing or has
// another value.
func (p *Front) Bool(name string, otherwise bool) bool {
	value := p.Text(name)
	switch strings.ToLower(value) {
	case "":
		return otherwise
	case "true", "yes", "on":
		return true
	case "false", "no", "off":
		return false
	}
	p.Mistake(p.Line(name), "%s has to be true or false, not %s, so it has no effect", name, shown(value))
	return otherwise
}

// List returns a field that is a list, or text with commas between the items.
func (p *Front) List(name string) []string { return p.list(name, ",") }

// Words returns a field that is a list, or text with commas or spaces between the items. What
// stands in brackets belongs together, as in Bash(git add:*).
func (p *Front) Words(name string) []string { return p.list(name, ", \t\n") }

// list returns the items of a field. Text is divided at separators outside of brackets and quotes.
func (p *Front) list(name, separators string) (items []string) {
	f := p.ask(name)
	switch {
	case f == nil:
		return nil
	case f.node == nil:
		return divide(sanitize.Text(f.raw), separators)
	case f.node.Kind == yaml.AliasNode || f.node.Kind == yaml.ScalarNode:
		return divide(p.Text(name), separators)
	case f.node.Kind == yaml.MappingNode:
		p.Mistake(f.line, "%s has to be a list or text, not fields of its own, so it has no effect", name)
		return nil
	}
	for _, n := range f.node.Content {
		if n.Kind == yaml.ScalarNode && balanced(n.Value) {
			if item := strings.TrimSpace(sanitize.Text(n.Value)); item != "" {
				items = append(items, item)
			}
			continue
		}
		if inner, found := strings.CutPrefix(f.raw, "["); found && strings.HasSuffix(inner, "]") {
			return divide(sanitize.Text(strings.TrimSuffix(inner, "]")), ",")
		}
		p.Mistake(f.line, "%s has an item that is no text, which has no effect", name)
	}
	return items
}

// Map returns the values of a field that has fields of its own.
func (p *Front) Map(name string) map[string]string {
	f := p.ask(name)
	if f == nil || f.node != nil && f.node.Tag == "!!null" {
		return nil
	}
	if f.node == nil || f.node.Kind != yaml.MappingNode {
		p.Mistake(f.line, "%s has to be fields of its own, each on a line below it, so it has no effect", name)
		return nil
	}
	values := map[string]string{}
	for i := 0; i+1 < len(f.node.Content); i += 2 {
		if key, value := f.node.Content[i], f.node.Content[i+1]; key.Kind == yaml.ScalarNode &&
			value.Kind == yaml.ScalarNode {
			values[sanitize.Text(key.Value)] = sanitize.Text(value.Value)
		}
	}
	return values
}

// balanced reports whether all brackets in an item are closed.
func balanced(s string) bool { return strings.Count(s, "(") == strings.Count(s, ")") }

// divide returns the parts of text between separators that are outside of brackets and quotes. An
// item that stands in quotes is without them.
func divide(text, separators string) (items []string) {
	depth, from, quote := 0, 0, byte(0)
	add := func(to int) {
		item := strings.TrimSpace(text[from:to])
		if n := len(item); n > 1 && (item[0] == '"' || item[0] == '\'') && item[n-1] == item[0] {
			item = item[1 : n-1]
		}
		if item != "" {
			items = append(items, item)
		}
		from = to + 1
	}
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && strings.TrimSpace(text[from:i]) == "":
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth = max(0, depth-1)
		case depth == 0 && strings.IndexByte(separators, c) >= 0:
			add(i)
		}
	}
	if from < len(text) {
		add(len(text))
	}
	return items
}
