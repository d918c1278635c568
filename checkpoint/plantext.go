package checkpoint

import (
	"fmt"
	"io/fs"
	"strings"
)

// Text returns the plan for people: at most that many lines of paths of each kind, and the numbers
// of the others.
func (p *Plan) Text(lines int) string {
	var b strings.Builder
	for _, kind := range p.kinds() {
		writeList(&b, kind.title, kind.names, lines)
	}
	if p.Git != nil {
		for _, step := range p.Git.Steps {
			fmt.Fprintf(&b, "In the repository: %s\n", step.Note)
		}
		for _, left := range p.Git.Left {
			fmt.Fprintf(&b, "Left alone in the repository: %s\n", left)
		}
	}
	var left []string
	for _, kept := range p.Left {
		left = append(left, kept.String())
	}
	writeList(&b, "Left alone", left, lines)
	if p.Done > 0 {
		fmt.Fprintf(&b, "Already as before: %s\n", paths(p.Done))
	}
	if p.Empty() {
		b.WriteString("There is nothing to put back.\n")
	}
	return b.String()
}

// planned holds the paths that get the same treatment.
type planned struct {
	title string
	names []string
}

// kinds returns the paths of the steps, each path once.
func (p *Plan) kinds() []planned {
	list := []planned{{title: "Put back"}, {title: "Make again"}, {title: "Remove"}, {title: "Permissions"}}
	seen := map[Name]bool{}
	for _, step := range p.Steps {
		if step.Op == OpOpen || seen[step.Path] || step.Op == OpChmod && step.isOpen() {
			continue
		}
		seen[step.Path] = true
		kind, name := 0, step.Path.Shown()
		switch {
		case step.Want == nil:
			kind = 2
		case step.Op == OpChmod:
			kind = 3
			name += fmt.Sprintf(" (%03o, now %03o)", step.Want.Mode.Perm(), step.Was.Mode.Perm())
		case step.Was == nil:
			kind = 1
		}
		if s := step.Want; s.ofType(fs.ModeDir) || s == nil && step.Was.ofType(fs.ModeDir) {
			name += "/"
		}
		list[kind].names = append(list[kind].names, name)
	}
	return list
}

// isOpen reports whether a step only restores the permissions that an OpOpen has changed.
func (s *Step) isOpen() bool { return s.Was != nil && s.Want != nil && *s.Was == *s.Want }

// writeList writes a title with the number of entries, and the first of these.
func writeList(b *strings.Builder, title string, entries []string, lines int) {
	if len(entries) == 0 {
		return
	}
	fmt.Fprintf(b, "%s: %s\n", title, paths(len(entries)))
	for _, entry := range entries[:min(len(entries), lines)] {
		fmt.Fprintf(b, "  %s\n", entry)
	}
	if more := len(entries) - lines; more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

func paths(n int) string {
	if n == 1 {
		return "1 path"
	}
	return fmt.Sprintf("%d paths", n)
}
