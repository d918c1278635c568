package rules

import (
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/tool"
)

// because returns the reason of the rule, or a general one.
func (r *rule) because(general string) string {
	if r.reason != "" {
		return fmt.Sprintf("%s (%s)", r.reason, r.text)
	}
	return fmt.Sprintf("%s: %s", general, r.text)
}

// first returns the first rule with a verdict, deny or ask, that matches a part of the call.
func (c *call) first(v tool.Verdict) *rule {
	for _, r := range c.of(v) {
		if r.matchesCall(c) {
			return r
		}
		for i := range c.parts {
			if r.touches(c, &c.parts[i]) {
				return r
			}
		}
	}
	return nil
}

// mayHide returns a rule that denies commands, if the call runs a program or a script that is not
// literal, or a script that is too long or cannot be parsed, and what does.
func (c *call) mayHide() (r *rule, text string) {
	at := slices.IndexFunc(c.of(tool.Deny), func(r *rule) bool { return r.words != nil })
	if at < 0 {
		return nil, ""
	}
	for i := range c.parts {
		switch p := &c.parts[i]; {
		case p.hides && p.cmd != nil:
			return c.of(tool.Deny)[at], shortened(p.cmd.Text)
		case p.hides:
			return c.of(tool.Deny)[at], p.asks
		}
	}
	return nil, ""
}

// mayChange returns a rule that denies or asks about changes of a file that a command names. What
// the command does to the file is not known.
func (c *call) mayChange() *rule {
	for _, r := range c.restricting {
		if r.path == nil || r.kind != edit {
			continue
		}
		for i := range c.parts {
			if slices.ContainsFunc(c.parts[i].files, func(f file) bool { return f.mention && c.hits(r, f) }) {
				return r
			}
		}
	}
	return nil
}

// matchesCall reports whether a rule without a pattern is about the call.
func (r *rule) matchesCall(c *call) bool {
	if r.words != nil {
		return r.words.all && c.kind == command
	}
	return r.plain() && (covers(r.name, c.name, c.kind) || c.kind == mcp && r.name == c.req.Call.Name)
}

// plain reports whether the rule is a name alone.
func (r *rule) plain() bool { return r.words == nil && r.path == nil && r.host == "" && r.arg == "" }

// touches reports whether a deny or ask rule matches a part of a call.
func (r *rule) touches(c *call, p *part) bool {
	switch {
	case r.words != nil:
		return r.words.matchesAny(p.forms)
	case r.host != "":
		return p.host != "" && r.matchesHost(p.host, true)
	case r.arg != "":
		return p.arg != "" && r.kind == c.kind && r.arg.match(p.arg)
	}
	return slices.ContainsFunc(p.files, func(f file) bool {
		return r.aboutFile(f) && (r.path == nil && !f.mention || c.hits(r, f))
	})
}

// hits reports whether the pattern of a deny or ask rule matches a file, as named or as it is after
// links.
func (c *call) hits(r *rule, f file) bool {
	if r.path == nil {
		return false
	}
	names := []string{f.place.name()}
	if c.resolve(f.place) && f.place.real != names[0] {
		names = append(names, f.place.real)
	}
	for _, name := range slices.Clip(names) {
		names = append(names, c.dirs.originals(name)...)
	}
	return slices.ContainsFunc(names, func(name string) bool { return r.matchesFile(name, true) })
}

// aboutFile reports whether the rule is about files that are used in this way.
func (r *rule) aboutFile(f file) bool {
	of := r.kind
	if r.plain() && (r.name == "Read" || covers(r.name, "", edit)) {
		of = kindOf(r.name)
	}
	return of == edit && f.writes || of == read && !f.writes
}

// allows returns the rule that allows a command, a host or a name.
func (c *call) allows(p *part) *rule {
	for _, r := range c.of(tool.Allow) {
		switch {
		case p.exact:
		case r.words != nil && p.forms != nil && r.words.matches(p.forms[0], false),
			r.host != "" && p.host != "" && r.matchesHost(p.host, false),
			r.arg != "" && p.arg != "" && r.kind == c.kind && r.arg.match(p.arg):
			return r
		}
	}
	return nil
}
