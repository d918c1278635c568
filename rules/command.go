package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/rules/shell"
	"github.com/attractor-go/attractor/tool"
)

// matchesAny reports whether a deny or ask rule matches a command, also if the program has a path in front, and if options stand in front
// of a subcommand.
func (p *wordPattern) matchesAny(words []string) bool {
	if p.matches(joined(words), true) {
		return true
	}
	plain := append([]string{path.Base(words[0])}, words[1:]...)
	if plain[0] != words[0] && p.matches(joined(plain), true) {
		return true
	}
	for start := 1; start < len(plain); start++ {
		if option := plain[start]; len(option) < 2 || option[0] != '-' {
			break
		}
		// The option may have a value of its own.
		if p.matches(joined(slices.Concat(plain[:1], plain[start+1:])), true) {
			return true
		}
		if start+1 < len(plain) && !strings.HasPrefix(plain[start+1], "-") {
			if start++; p.matches(joined(slices.Concat(plain[:1], plain[start+1:])), true) {
				return true
			}
		}
	}
	return false
}

// exactly reports whether the rule is for this very script.
func (r *rule) exactly(script string) bool {
	_, ok := r.words.literal()
	return ok && r.text == "Bash("+exactPattern(script)+")"
}

// exampleCommand reports whether the rule matches an example: every command of it for a rule that allows, else any.
func (r *rule) exampleCommand(text string, dirs *Dirs) (bool, error) {
	script := shell.Parse(text, shell.Place{Dir: dirs.Work, Home: dirs.Home})
	matches := func(c shell.Command) bool {
		if r.verdict == tool.Allow {
			return c.Unclear == "" && r.words.matches(joined(c.Words), false)
		}
		return r.words.matchesAny(c.Words)
	}
	if r.verdict != tool.Allow {
		return slices.ContainsFunc(script.Commands, matches), nil
	}
	some := slices.ContainsFunc(script.Commands, func(c shell.Command) bool { return !c.Wraps })
	return script.Unclear == "" && some && !slices.ContainsFunc(script.Commands, func(c shell.Command) bool { return !c.Wraps && !matches(c) }), nil
}
