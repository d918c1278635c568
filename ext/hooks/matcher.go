package hooks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/regex"
	"github.com/attractor-go/attractor/rules"
)

// matcher chooses what a hook is about. The zero value chooses everything.
type matcher struct {
	exact []string
	re    *regexp.Regexp
}

// newMatcher reads a matcher: empty or * for everything, names between |, or a regular expression.
// The expression may match a part of a name. UserPromptSubmit and Stop have nothing to choose from.
func newMatcher(text string, event Event) (m matcher, err error) {
	switch {
	case text == "" || text == "*" || event == UserPromptSubmit || event == Stop:
		return m, nil
	case strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-|, ") == "":
		for _, name := range strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == ',' }) {
			if name = strings.TrimSpace(name); name != "" {
				m.exact = append(m.exact, name)
			}
		}
		if m.exact == nil {
			return m, fmt.Errorf("it has no name; leave it out to match everything")
		}
		return m, nil
	}
	if m.re, err = regex.Compile(text); err != nil {
		return m, fmt.Errorf("it is no regular expression that is supported here (RE2, without look-ahead): %w", err)
	}
	return m, nil
}

// matches reports whether one of the names of a thing is chosen.
func (m *matcher) matches(things []string) bool {
	return len(m.exact) == 0 && m.re == nil || slices.ContainsFunc(things, m.one)
}

func (m *matcher) one(thing string) bool {
	if m.re != nil {
		return m.re.MatchString(thing)
	}
	return slices.ContainsFunc(m.exact, func(name string) bool {
		return name == thing || strings.HasPrefix(name, "mcp__") && rules.Covers(name, thing)
	})
}

// suspicious returns what a matcher probably means instead, or "".
func (m *matcher) suspicious() string {
	known := []string{"Bash", "Read", "Write", "Edit", "Grep", "Glob", "LS", "WebFetch", "Agent", "Task", "Skill",
		"TodoWrite"}
	for _, name := range m.exact {
		for _, k := range known {
			if name != k && strings.EqualFold(name, k) {
				return fmt.Sprintf("the matcher %s matches no tool: the name is %s", name, k)
			}
		}
	}
	return ""
}
