package lsp

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
)

// severity is that of the protocol. Hints and information are not kept.
type severity int

const (
	isError   severity = 1
	isWarning severity = 2
)

// diagnostic is one error or warning.
type diagnostic struct {
	path      string
	line, col int // from 1; columns in UTF-16
	severity  severity
	code      string
	message   string  // one line
	of        *runner // whose server has told of it, once it is part of a job
}

// verdict holds the diagnostics of a file, if the server says what they are.
type verdict struct {
	list  []diagnostic
	known bool
}

// The limits of what is kept and shown.
const (
	maxPerFile    = 500 // diagnostics of one file
	maxMessageLen = 400 // bytes of one message
	maxShown      = 20  // lines of a result
)

// identity holds what makes two diagnostics of a file the same. Places in the message count no more
// than that of the diagnostic itself.
type identity struct {
	severity      severity
	code, message string
}

func (d *diagnostic) identity() identity {
	return identity{d.severity, d.code, place().ReplaceAllString(d.message, ":")}
}

// place matches the number after a colon, as in "other declaration in a.go:12:3".
var place = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`:\d+`) })

// added returns the diagnostics that are in now and were not in old. Of several that are the same,
// only as many as are new count, preferably those at lines that had none. moved returns the new
// number of an old line.
func added(old, now []diagnostic, moved func(line int) int) (fresh []diagnostic) {
	lines := map[identity][]int{}
	for i := range old {
		id := old[i].identity()
		lines[id] = append(lines[id], moved(old[i].line))
	}
	var open []int // diagnostics at new lines
	for i := range now {
		id := now[i].identity()
		if at := slices.Index(lines[id], now[i].line); at >= 0 {
			lines[id] = slices.Delete(lines[id], at, at+1)
			continue
		}
		open = append(open, i)
	}
	for _, i := range slices.Backward(open) { // what was added is rather the first of them
		id := now[i].identity()
		if n := len(lines[id]); n > 0 {
			lines[id] = lines[id][:n-1]
			continue
		}
		fresh = append(fresh, now[i])
	}
	slices.Reverse(fresh)
	return fresh
}

// movedLines returns a function from the lines of an old text to those of a new one. It is exact
// for lines before and after the change.
func movedLines(old, now string) func(int) int {
	head := 0
	for head < min(len(old), len(now)) && old[head] == now[head] {
		head++
	}
	end := 0
	for end < min(len(old), len(now))-head && old[len(old)-1-end] == now[len(now)-1-end] {
		end++
	}
	lastSame := len(old) - end
	from := 1 + strings.Count(old[:lastSame], "\n") // the first line that is wholly after the change
	if lastSame > 0 && old[lastSame-1] != '\n' {
		from++
	}
	by := strings.Count(now, "\n") - strings.Count(old, "\n")
	return func(line int) int {
		if line >= from {
			return line + by
		}
		return line
	}
}

// unmoved is for files that have not changed.
func unmoved(line int) int { return line }

// describe returns the lines for a result: errors first, each with its path relative to dir, or "".
func describe(title string, list []diagnostic, dir string) string {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b diagnostic) int {
		return cmp.Or(cmp.Compare(a.severity, b.severity), cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line),
			cmp.Compare(a.col, b.col))
	})
	var b strings.Builder
	b.WriteString("[" + title + "]")
	for _, d := range list[:min(len(list), maxShown)] {
		kind := "error"
		if d.severity != isError {
			kind = "warning"
		}
		fmt.Fprintf(&b, "\n%s:%d:%d: %s: %s", shown(d.path, dir), d.line, d.col, kind, d.message)
	}
	if rest := list[min(len(list), maxShown):]; len(rest) > 0 {
		errs := 0
		for i := range rest {
			if rest[i].severity == isError {
				errs++
			}
		}
		fmt.Fprintf(&b, "\n[Not shown: %d more errors and %d warnings.]", errs, len(rest)-errs)
	}
	return b.String()
}

// clean returns text of a server on one line, without invisible characters, and at most about max
// bytes of it.
func clean(text string, max int) string {
	valid := strings.ToValidUTF8(texts.Cut(text, max, " [...]"), "")
	return sanitize.Text(strings.Join(strings.Fields(valid), " "))
}

// shown returns a path as the tools show it.
func shown(name, dir string) string {
	if rel, inside := strings.CutPrefix(name, strings.TrimSuffix(dir, "/")+"/"); inside {
		name = rel
	}
	return texts.Shown(path.Clean(name))
}
