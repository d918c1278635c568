package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/rules/shell"
	"github.com/attractor-go/attractor/tool"
)

// forms returns the forms of a command that deny and ask rules are compared with: as it is, without
// a path in front of the program, and without options in front of a subcommand. Each is joined.
// room is how many bytes there may be of the latter; forms reports whether they are more.
func forms(words []string, room int) (all []string, cut bool) {
	all = []string{joined(words)}
	plain := words
	if base := path.Base(words[0]); base != words[0] {
		plain = slices.Concat([]string{base}, words[1:])
		all = append(all, joined(plain))
	}
	program, rest := plain[0]+string(between), all[len(all)-1][len(plain[0])+1:]
	without := func(option string) {
		rest = rest[len(option)+1:]
		if room -= len(program) + len(rest); room >= 0 {
			all = append(all, program+rest)
		}
	}
	for start := 1; start < len(plain) && len(plain[start]) > 1 && plain[start][0] == '-' &&
		len(all) < maxForms && room >= 0; start++ {
		without(plain[start])
		if start+1 < len(plain) && !strings.HasPrefix(plain[start+1], "-") { // it may be the value of the option
			start++
			without(plain[start])
		}
	}
	return all, room < 0
}

// maxForms limits the forms of a command with very many options.
const maxForms = 40

// maxFormText limits the bytes of the forms of a call's commands.
const maxFormText = 1 << 20

// matchesAny reports whether a deny or ask rule matches one of the forms of a command.
func (p *wordPattern) matchesAny(forms []string) bool {
	return slices.ContainsFunc(forms, func(words string) bool { return p.matches(words, true) })
}

// exactly reports whether the rule is for this very script.
func (r *rule) exactly(script string) bool {
	_, ok := r.words.literal()
	return ok && r.text == "Bash("+exactPattern(script)+")"
}

// exampleCommand reports whether the rule matches an example: every command of it for a rule that
// allows, else any.
func (r *rule) exampleCommand(text string, dirs *Dirs) (bool, error) {
	script := shell.Parse(text, shell.Place{Dir: dirs.Work, Home: dirs.Home, Vars: dirs.Vars})
	matches := func(c shell.Command) bool {
		if r.verdict == tool.Allow {
			return c.Unclear == "" && r.words.matches(joined(c.Words), false)
		}
		all, _ := forms(c.Words, maxFormText)
		return r.words.matchesAny(all)
	}
	if r.verdict != tool.Allow {
		return slices.ContainsFunc(script.Commands, matches), nil
	}
	some := slices.ContainsFunc(script.Commands, func(c shell.Command) bool { return !c.Wraps })
	return script.Unclear == "" && some && !slices.ContainsFunc(script.Commands,
		func(c shell.Command) bool { return !c.Wraps && !matches(c) }), nil
}
