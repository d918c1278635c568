package rules

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/tool"
)

// rule holds one rule.
type rule struct {
	text    string
	where   string // FILE:LINE
	reason  string
	verdict tool.Verdict

	name string // of a tool
	kind kind   // of a rule with a pattern, or other
	// One of these holds the pattern. None is set for a rule that is a name alone.
	words *wordPattern
	path  *pathPattern
	real  *pathPattern // the path of a rule that denies or asks, without links; nil if it has none
	host  string
	arg   glob
}

// String returns the rule with its file.
func (r *rule) String() string { return fmt.Sprintf("%s (%s)", r.text, r.where) }

// matchesFile reports whether the pattern of a rule that denies or asks matches a file, as the rule
// names it or by where that leads.
func (r *rule) matchesFile(name string, fold bool) bool {
	return r.path.matches(name, fold) || r.real != nil && r.real.matches(name, fold)
}

// errNoPattern reports a pattern for a tool that takes none, for example because it does not exist
// here.
var errNoPattern = errors.New("takes no pattern")

var ruleForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^([A-Za-z_][A-Za-z0-9_.*-]*)(?:\((.*)\))?$`)
})

var listForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\)((?:[\s,]+[A-Za-z_][A-Za-z0-9_.*-]*)+)(?:\(|\s*,|\s*$)`)
})

// IsList reports whether a text looks like several rules in a row, such as Bash(rm:*),Edit(./x). As
// one rule it would match nothing.
func IsList(text string) bool {
	if ruleForm().FindStringSubmatch(strings.TrimSpace(text)) == nil {
		return false
	}
	for _, next := range listForm().FindAllStringSubmatch(text, -1) {
		names := strings.FieldsFunc(next[1], func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
		if slices.ContainsFunc(names, func(name string) bool { return kindOf(name) != other }) {
			return true
		}
	}
	return false
}

const rulesAllowed = "a rule is a tool's name such as Bash, Read, Edit, WebFetch or mcp__server__tool, or a name " +
	"with a pattern such as Bash(go test:*), Read(./secrets/**), Edit(src/**), WebFetch(domain:go.dev) or Agent(name)"

// parseRule reads a rule. dir is the directory where patterns that begin with / start.
func parseRule(text, dir string, dirs *Dirs) (*rule, error) {
	form := ruleForm().FindStringSubmatch(strings.TrimSpace(text))
	if form == nil {
		return nil, fmt.Errorf("%q is not a rule; %s", text, rulesAllowed)
	}
	r := &rule{text: strings.TrimSpace(text), name: form[1]}
	if err := r.checkName(); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(r.text, ")") {
		return r, nil
	}
	if err := r.pattern(form[2], dir, dirs); err != nil {
		return nil, fmt.Errorf("the pattern of %s cannot be used: %w", r.text, err)
	}
	return r, nil
}

// checkName returns an error for a name that is probably a mistake. Other names may be those of a
// host's own tools.
func (r *rule) checkName() error {
	if strings.Contains(r.name, "*") && !strings.HasPrefix(r.name, "mcp__") {
		return fmt.Errorf("%s has a star in a tool's name; only names that begin with mcp__ can have one", r.text)
	}
	if kindOf(r.name) != other {
		return nil
	}
	for _, known := range []string{"Bash", "Read", "Edit", "Write", "Grep", "Glob", "WebFetch", "WebSearch",
		"Agent", "Task", "Skill"} {
		if texts.Distance([]rune(strings.ToLower(known)), []rune(strings.ToLower(r.name))) < 2 {
			return fmt.Errorf("%s: there is no tool %s; did you mean %s?", r.text, r.name, known)
		}
	}
	return nil
}

// pattern reads what is in the parentheses.
func (r *rule) pattern(text, dir string, dirs *Dirs) error {
	switch r.kind = kindOf(r.name); r.kind {
	case command:
		p, err := parseWords(text)
		r.words = &p
		return err
	case read, edit:
		p, err := parsePath(strings.TrimSpace(text), dir, dirs)
		r.path = &p
		return err
	case fetch:
		return r.domain(strings.TrimSpace(text))
	case agents, skill:
		name := strings.TrimSpace(text)
		if name == "" {
			return errors.New("it is empty; give a name")
		}
		r.arg = starred(name)
		return nil
	}
	return fmt.Errorf("the tool %s %w; Bash takes commands, Read and Edit take files, WebFetch takes domain:NAME, "+
		"Agent and Skill take a name", r.name, errNoPattern)
}

// domain reads a pattern for a host.
func (r *rule) domain(text string) error {
	host, ok := strings.CutPrefix(text, "domain:")
	if !ok {
		return errors.New("for WebFetch it has to be domain:NAME")
	}
	bare := strings.TrimPrefix(host, "*.")
	if bare == "" || host != "*" && strings.ContainsAny(bare, "/*?@ \t\n\\") {
		return fmt.Errorf("%q is not the name of a host; give a name such as go.dev, or *.go.dev for the hosts "+
			"below it", host)
	}
	r.host = plainHost(host)
	return nil
}

// plainHost returns a host in lower case, without port and without the dot at the end.
func plainHost(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// matchesHost reports whether the rule matches a host. wide includes the hosts below it.
func (r *rule) matchesHost(host string, wide bool) bool {
	host = plainHost(host)
	if below, ok := strings.CutPrefix(r.host, "*."); ok {
		return strings.HasSuffix(host, "."+below)
	}
	return r.host == "*" || host == r.host || wide && strings.HasSuffix(host, "."+r.host)
}

// example reports whether the rule matches an example: a command, a path, a URL or a name.
func (r *rule) example(text string, dirs *Dirs) (bool, error) {
	switch {
	case r.words != nil:
		return r.exampleCommand(text, dirs)
	case r.path != nil:
		return r.path.matches(absolute(dirs, text), false), nil
	case r.host != "":
		host := text
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			host = u.Host
		}
		return r.matchesHost(host, r.verdict != tool.Allow), nil
	case r.arg != "":
		return r.arg.match(text), nil
	}
	return false, errors.New("a rule without a pattern needs no examples")
}
