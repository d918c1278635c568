package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// changesOf returns what a call would do to files, for a question: each file, with its changed
// lines, their numbers and those around them. Nothing of a line is left out.
func changesOf(who string, q permit.Question) string {
	if len(q.Changes) == 1 {
		return fmt.Sprintf("%s wants to %s:\n%s", who, changeOf(q.Dir, q.Changes[0]), changedLines(q.Changes[0].Diff))
	}
	text := fmt.Sprintf("%s wants to change %d files:\n", who, len(q.Changes))
	for _, c := range q.Changes {
		text += "  " + changeOf(q.Dir, c) + ":\n" + changedLines(c.Diff)
	}
	return text
}

// changeOf returns what happens to a file, in words. Names below the directory are relative to it.
func changeOf(dir string, c tool.Change) string {
	name := func(path string) string { return OneLine(relative(dir, path)) }
	switch c.Kind {
	case tool.Created:
		return "create " + name(c.Path)
	case tool.Deleted:
		return "delete " + name(c.Path)
	case tool.Moved:
		return fmt.Sprintf("move %s to %s", name(c.From), name(c.Path))
	}
	return "change " + name(c.Path)
}

// changedLines returns the lines of a unified diff with their numbers, whole.
func changedLines(diff string) string {
	list := diffLines(diff)
	digits, crlf := 1, true
	for _, l := range list {
		digits = max(digits, len(strconv.Itoa(l.number)))
		crlf = crlf && (l.sign == '@' || strings.HasSuffix(l.text, "\r"))
	}
	var b strings.Builder
	for _, l := range list {
		if l.sign == '@' {
			fmt.Fprintf(&b, "  %*s\n", digits, "⋮")
			continue
		}
		text := l.text
		if crlf { // all lines end so, and only a single one that does would matter
			text = strings.TrimSuffix(text, "\r")
		}
		line := fmt.Sprintf("  %*d %c %s", digits, l.number, l.sign, sanitize.Text(text))
		if text == "" {
			line = strings.TrimRight(line, " ")
		}
		b.WriteString(line + "\n")
		if l.open {
			fmt.Fprintf(&b, "  %*s \\ no line end\n", digits, "")
		}
	}
	return b.String()
}
