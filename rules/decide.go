package rules

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/rules/shell"
	"github.com/attractor-go/attractor/tool"
)

// Decision says what happens with a call, and why.
type Decision struct {
	Verdict tool.Verdict
	Rule    string // the rule that decided, with its file; "" if the built-in table did
	Reason  string // for the model, or for the person who is asked
	// Reasons has everything because of which the call asks, the gravest first. The first is
	// Reason. Touches are the files that it uses and that usually hold secrets, or that start or
	// protect something. Both are only set if the Verdict is Ask, and have at most 100 elements.
	Reasons []string
	Touches []Touched
	// Default says that no rule matched: the built-in table decided. An allow from a hook may
	// answer such a question, but no other.
	Default bool
	// Denied says that the call asks because it may also do what a rule denies: read a file, or run
	// a command that is not literal. Only a person may allow it.
	Denied bool
	// Reads says that the call changes and runs nothing, as far as the built-in table knows: a
	// command that only reads, for example. The calls of agents that it starts are judged
	// themselves.
	Reads bool
	// Script says that the call runs a script in the shell, and Secret that it names a file that
	// usually holds secrets.
	Script, Secret bool
	// Files says that the call is of a tool that reads or changes files of its environment, and
	// does nothing else.
	Files bool
	// Unclear says that the built-in table allows the call only because commands that only read run
	// where they can change nothing; see Dirs.Observed.
	Unclear bool
	// Edits says that the built-in table asks, and only because a file tool changes ordinary files
	// in the session's directories. If such a directory contains the home directory, only the
	// visible files of the home directory are ordinary in it.
	Edits bool
	// Suggest holds the rules to allow so that this question is not asked again. It is nil if none
	// is safe, or none would help.
	Suggest []string
}

// Authorize returns a function for [agent.Hooks] that decides about calls in an environment by the
// rules. Approve is asked where they say Ask.
//
// [agent.Hooks]: https://pkg.go.dev/github.com/attractor-go/attractor/agent#Hooks
func (s *Set) Authorize(e env.Environment) tool.Authorize {
	return func(ctx context.Context, req tool.Request) (tool.Decision, error) {
		d := s.Decide(ctx, e, req)
		return tool.Decision{Verdict: d.Verdict, Reason: d.Reason}, nil
	}
}

// Decide decides about a call in an environment. It reads files to see where links lead and what
// git would run, and changes nothing.
func (s *Set) Decide(ctx context.Context, e env.Environment, req tool.Request) Decision {
	d := s.decideWhere(ctx, e, req, false)
	if d.Verdict != tool.Ask || !d.Script || s.dirs.Observed == nil || !s.dirs.Observed() {
		return d
	}
	if observed := s.decideWhere(ctx, e, req, true); observed.Verdict == tool.Allow && observed.Default &&
		observed.Reads {
		observed.Unclear = true
		return observed
	}
	return d
}

// decideWhere is Decide. observed says that the call runs where it can change nothing.
func (s *Set) decideWhere(ctx context.Context, e env.Environment, req tool.Request, observed bool) Decision {
	c := s.newCall(ctx, e, req, observed)
	d := c.decide()
	if d.Verdict == tool.Ask {
		d.Reasons, d.Touches = c.reasons(d.Reason), c.touches()
	}
	d.Files = c.kind == read || c.kind == edit
	d.Reads, d.Script = c.reads(), c.kind == command && !c.own && req.Access.Asks == ""
	d.Secret = slices.ContainsFunc(c.parts, func(p part) bool {
		return slices.ContainsFunc(p.files, func(f file) bool { return c.holdsSecrets(f.place) })
	})
	return d
}

// decide returns the verdict about the call, with its rule and reason.
func (c *call) decide() Decision {
	if r := c.first(tool.Deny); r != nil {
		return Decision{Verdict: tool.Deny, Rule: r.String(), Reason: r.because("a rule denies it")}
	}
	if r, text := c.mayHide(); r != nil {
		return Decision{Verdict: tool.Ask, Rule: r.String(),
			Reason: r.because("a rule denies commands, and it is not known what all of it runs: " + text),
			Denied: true}
	}
	if r := c.first(tool.Ask); r != nil {
		return Decision{Verdict: tool.Ask, Rule: r.String(), Reason: r.because("a rule asks about it")}
	}
	if r := c.mayChange(); r != nil {
		return Decision{Verdict: tool.Ask, Rule: r.String(),
			Reason: r.because("the command names a file that a rule denies to change")}
	}
	if why := c.guarded(); why != "" {
		return Decision{Verdict: tool.Ask, Reason: why}
	}
	if r := c.whole(); r != nil {
		if why := c.deniedInTree(); why != "" {
			return Decision{Verdict: tool.Ask, Reason: why, Denied: true}
		}
		return Decision{Verdict: tool.Allow, Rule: r.String()}
	}
	return c.judge()
}

// reads reports whether the call changes and runs nothing.
func (c *call) reads() bool {
	asks := func(p part) bool { return p.asks != "" }
	switch c.kind {
	case command:
		return !c.blind && !slices.ContainsFunc(c.parts, func(p part) bool {
			return asks(p) || slices.ContainsFunc(p.files, func(f file) bool {
				return f.writes && f.place.named != "/dev/null"
			})
		})
	case input:
		return !slices.ContainsFunc(c.parts, asks)
	case agents, inner:
		return true
	}
	return c.req.Access.Effect == tool.ReadOnly
}

// deniedInTree returns the question about a file that a rule denies and that the call uses with
// everything in a directory, or "".
func (c *call) deniedInTree() string {
	for _, p := range c.parts {
		for _, f := range p.files {
			if found := c.deniedIn(f); found.why != "" {
				return found.why
			}
		}
	}
	return ""
}

// deniedIn returns the question about a file that a rule denies in a tree that is used.
func (c *call) deniedIn(f file) (none finding) {
	if !f.tree || len(c.of(tool.Deny)) == 0 {
		return none
	}
	if found := c.tree(f); found.rule != nil && found.rule.verdict == tool.Deny {
		return found
	}
	return none
}

// call holds a call while it is judged.
type call struct {
	*Set
	ctx      context.Context
	env      env.Environment
	req      tool.Request
	kind     kind
	name     string // of the tool, as rules have it
	own      bool   // a tool of the program's says which command it runs, and may do more
	dir      string // the working directory
	script   string // of a command
	parts    []part
	observed bool     // the call runs where it can change nothing
	blind    bool     // it is not known what the script runs
	formText int      // the bytes of the forms of its commands
	settings []string // the variables that a reason names
	trees    map[treeKey]finding
	led      map[string]led      // by the paths that leads was asked about
	marks    map[string][]string // of environments of python, by directory

	// The following find something once.
	links       func() []string            // namedLinks
	secretLinks func() []string            // where links lead that have the names of secrets
	questions   func() ([]question, *rule) // ask
}

// part is one thing that a call does. All parts of a call have to be allowed.
type part struct {
	cmd   *shell.Command
	forms []string // of the command; the first is the command as it is
	host  string
	arg   string // the name of an agent or a skill
	files []file
	// asks says why the built-in table asks about the part; "" means that it allows it.
	asks string
	// hides says that it is not known what all the part runs.
	hides bool
	// exact says that only a rule for the whole script, or for all commands, can allow the part.
	exact bool
	// suggest holds the rules that would allow the part.
	suggest []string
}

// file is a file that a part of a call uses.
type file struct {
	place   *place
	writes  bool
	mention bool // a word of a command that may be the name of a file
	// what a known program changes. A rule that allows the command allows it too, except for
	// delicate files
	known   bool
	tree    bool // everything in the directory is read too, or changed
	visible bool // but no hidden files
	links   bool // and what symbolic links in it lead to
	names   bool // only names and attributes are read
}

// guarded returns why the call needs a person's approval each time, or "".
func (c *call) guarded() string {
	for _, g := range c.req.Access.Guarded {
		return fmt.Sprintf("%s: %s", g.Path, g.Why)
	}
	for _, p := range c.parts {
		for _, f := range p.files {
			if !f.writes || f.known {
				continue
			}
			if why := env.Guarded(c.ctx, c.env, f.place.named); why != "" {
				return fmt.Sprintf("%s: %s", f.place.named, why)
			}
		}
	}
	return ""
}

// whole returns a rule that allows the call as a whole: by the name of the tool, or by the very
// script.
func (c *call) whole() *rule {
	for _, r := range c.of(tool.Allow) {
		switch {
		case c.own && r.name != c.name: // which is about the command alone
		case r.matchesCall(c):
			if !c.blind || !c.restricted() {
				return r
			}
		case r.words != nil && c.kind == command && c.script != "" && r.exactly(c.script):
			return r
		}
	}
	return nil
}

// restricted reports whether a deny or ask rule could match a command that is hidden in a script.
func (c *call) restricted() bool {
	return slices.ContainsFunc(c.restricting, func(r *rule) bool { return r.words != nil || r.path != nil })
}

// judge decides part by part, by the rules that allow and by the built-in table.
func (c *call) judge() Decision {
	d := Decision{Verdict: tool.Allow, Default: true}
	safe, edits := true, c.kind == edit
	asks, allowed := c.questions()
	if allowed != nil {
		d.Rule = allowed.String()
	}
	for _, q := range asks {
		d.Verdict, d.Reason = tool.Ask, cmp.Or(d.Reason, q.why)
		safe, edits = safe && q.suggest != nil, edits && q.edit
		if q.rule != nil {
			d.Default, d.Denied = false, d.Denied || q.rule.verdict == tool.Deny
		}
		for _, s := range q.suggest {
			if !slices.Contains(d.Suggest, s) {
				d.Suggest = append(d.Suggest, s)
			}
		}
	}
	if d.Verdict == tool.Allow {
		d.Default = d.Rule == ""
		return d
	}
	d.Rule, d.Edits = "", edits && d.Default
	switch {
	case c.own && safe:
		d.Suggest = []string{c.name}
	case c.own:
		d.Suggest = nil
	case !safe:
		d.Suggest = c.exactly()
	}
	return d
}

// part returns the rule that allows a part, if there is one, and the questions about it.
func (c *call) part(p *part) (allowed *rule, asks []question) {
	if p.forms != nil || p.host != "" || p.arg != "" {
		allowed = c.allows(p)
	}
	if allowed == nil && p.asks != "" {
		asks = append(asks, p.question())
	}
	for _, f := range p.files {
		by, found := c.file(f, allowed != nil)
		_, isDelicate := c.delicate(f)
		q := question{finding: found, grave: aboutPlace}
		switch {
		case found.why == "":
			allowed = cmp.Or(allowed, by)
			continue
		case found.rule != nil:
			q.grave = aboutRule
		case isDelicate:
			q.grave = aboutTouched
		case f.writes:
			q.grave = aboutChange
			q.edit = !f.tree && c.within(f.place) && !c.personal(f.place.real)
			if q.edit && (c.hidden(f.place.real) || c.linkedStart(f.place.real)) {
				q.edit = false
				q.why += ", and hidden files may start programs"
			}
		}
		asks = append(asks, q)
	}
	return allowed, asks
}

// file returns the rule that allows the use of a file, or the question about it. byRule says that a
// rule allows the command, with the files that it reads, unless these need a rule of their own.
func (c *call) file(f file, byRule bool) (allowed *rule, asks finding) {
	d, isDelicate := c.delicate(f)
	if f.known && f.tree {
		if found := c.tree(f); found.why != "" {
			return nil, found
		}
	}
	for _, r := range c.of(tool.Allow) {
		if !r.aboutFile(f) {
			continue
		}
		if r.path == nil || (!isDelicate || r.path.names(d)) && c.resolve(f.place) &&
			r.path.matches(f.place.real, false) {
			if found := c.deniedIn(f); found.why != "" {
				return nil, found
			}
			return r, asks
		}
	}
	switch {
	case isDelicate:
		return nil, finding{why: f.place.named + ": " + d.why, suggest: c.suggestFile(f, true)}
	case f.mention, f.known, byRule && !f.writes:
		return nil, asks
	case f.writes:
		return nil, finding{why: "it changes " + f.place.named, suggest: c.suggestFile(f, false)}
	case !c.within(f.place):
		return nil, finding{why: f.place.named + " is not in the session's directories",
			suggest: c.suggestFile(f, false)}
	case f.tree:
		return nil, c.tree(f)
	}
	return nil, asks
}

// delicate says why a file needs a rule that names it, if it does.
func (c *call) delicate(f file) (d delicate, ok bool) {
	names := []string{f.place.name()}
	known := !f.mention && c.resolve(f.place)
	if known && f.place.real != names[0] {
		names = append(names, f.place.real)
	}
	for _, name := range names {
		if kernelFile(name) {
			return delicate{why: "files of the kernel and devices show what other programs do, or never end"}, true
		}
		if d, ok = secretFile(name); ok && !f.names {
			return d, true
		}
		if f.writes {
			if d, ok = startingFile(c.below(name)); ok {
				return d, true
			}
		}
	}
	if known && f.writes {
		if d, ok = c.python(f.place.real); ok {
			return d, true
		}
	}
	if known && !f.names {
		return c.linkedSecret(f.place.real)
	}
	return d, false
}
