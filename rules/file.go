package rules

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/tool"
)

// lists returns the verdicts of the members of permissions that hold rules.
func lists() map[string]tool.Verdict {
	return map[string]tool.Verdict{"allow": tool.Allow, "ask": tool.Ask, "deny": tool.Deny}
}

// unused lists the members of permissions that are settings of Claude Code. They are accepted and
// have no effect: a mode is chosen on the command line.
func unused(name string) bool {
	return slices.Contains([]string{"defaultMode", "disableBypassPermissionsMode", "disableAutoMode",
		"skipDangerousModePermissionPrompt"}, name)
}

const membersOfPermissions = "allow, ask, deny, additionalDirectories and defaultMode"

// extra holds what a source has besides rules.
type extra struct {
	warnings []string
	roots    []string // additionalDirectories
}

// reader reads one source. It goes on after a mistake, so that all are found.
type reader struct {
	Source
	dirs  *Dirs
	rules []*rule
	extra
	errs []error
}

// readSource returns the rules of a source and all its mistakes.
func readSource(source Source, dirs *Dirs) ([]*rule, extra, []error) {
	if len(source.Data) > MaxFile {
		return nil, extra{}, []error{fmt.Errorf("%s: the file has more than %d bytes", source.Name, MaxFile)}
	}
	root, err := texts.ReadJSON(source.Data)
	if err != nil {
		return nil, extra{}, []error{fmt.Errorf("%s: %w", source.Name, err)}
	}
	r := &reader{Source: source, dirs: dirs}
	r.file(&root)
	return r.rules, r.extra, r.errs
}

// at returns the name of the file with a line.
func (r *reader) at(line int) string {
	if r.Lineless {
		return r.Name
	}
	return fmt.Sprintf("%s:%d", r.Name, line)
}

func (r *reader) mistake(line int, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: %s", r.at(line), fmt.Sprintf(format, args...)))
}

// file reads the whole file.
func (r *reader) file(root *texts.JSON) {
	found := false
	for _, m := range r.object(root,
		`a settings file is an object such as {"permissions": {"allow": ["Bash(go test:*)"]}}`) {
		switch {
		case m.Name == "permissions":
			found = true
			r.permissions(&m.JSON)
			continue
		case m.Name == "projects" && !r.Foreign:
			found = true
			r.project(&m)
			continue
		}
		r.misplaced(&m, "a settings file")
	}
	if !found && !r.Foreign && len(r.errs) == 0 {
		r.mistake(1, `the file has no rules; they go into "permissions": {"allow": [...], "ask": [...], "deny": [...]}`)
	}
}

// permissions reads an object with rules.
func (r *reader) permissions(v *texts.JSON) {
	for _, m := range r.object(v, "permissions is an object with "+membersOfPermissions) {
		r.member(&m)
	}
}

// misplaced reports a member whose name says that it holds rules, where they would not count.
func (r *reader) misplaced(m *texts.Member, of string) {
	if _, isList := lists()[m.Name]; !r.Foreign && (isList || strings.EqualFold(m.Name, "permissions") ||
		strings.EqualFold(m.Name, "permission")) {
		r.mistake(m.Line, `%q is not a member of %s; the rules go into "permissions": {"allow": [...], "ask": [...], "deny": [...]}`, m.Name, of)
	}
}

// project reads the rules for the Project, among those for all projects by their paths.
func (r *reader) project(all *texts.Member) {
	if r.Project == "" && !r.Projects {
		r.mistake(all.Line, `"projects" counts only in your own file of rules, which attractor rules add writes; put the rules into "permissions"`)
	}
	if r.Project == "" {
		return
	}
	dir := r.Dir
	defer func() { r.Dir = dir }()
	r.Dir = r.Project
	for _, of := range r.object(&all.JSON,
		`projects is an object such as {"/home/me/project": {"permissions": {"allow": ["Bash(make:*)"]}}}`) {
		if of.Name != r.Project {
			continue
		}
		for _, m := range r.object(&of.JSON,
			`a project is an object such as {"permissions": {"allow": ["Bash(make:*)"]}}`) {
			if m.Name == "permissions" {
				r.permissions(&m.JSON)
				continue
			}
			r.misplaced(&m, "a project")
		}
	}
}

// object returns the members of an object. A name must not come twice, because readers differ in
// which one they take.
func (r *reader) object(v *texts.JSON, want string) []texts.Member {
	if v.Kind != texts.Object {
		r.mistake(v.Line, "%s", want)
	}
	seen := map[string]bool{}
	for _, m := range v.Members {
		if seen[m.Name] {
			r.mistake(m.Line, "%q is there twice", m.Name)
		}
		seen[m.Name] = true
	}
	return v.Members
}

// array returns the elements of a list.
func (r *reader) array(v *texts.JSON, want string) []texts.JSON {
	if v.Kind != texts.Array {
		r.mistake(v.Line, "%s", want)
	}
	return v.Items
}

// text returns a string. ok is false if the value is something else, which is a mistake.
func (r *reader) text(v *texts.JSON, want string) (text string, ok bool) {
	if text, ok = v.Value.(string); !ok {
		r.mistake(v.Line, "%s", want)
	}
	return text, ok
}

// member reads a member of permissions.
func (r *reader) member(m *texts.Member) {
	verdict, isList := lists()[m.Name]
	switch {
	case isList:
		for _, element := range r.array(&m.JSON, m.Name+" is a list of rules") {
			r.rule(verdict, &element)
		}
	case m.Name == "additionalDirectories":
		for _, element := range r.array(&m.JSON, m.Name+" is a list of directories") {
			r.directory(&element)
		}
	case unused(m.Name):
	case r.Foreign:
		r.warn(m.Line, "%q of permissions is not known and has no effect", m.Name)
	default:
		r.mistake(m.Line, "%q is not a member of permissions; its members are %s", m.Name, membersOfPermissions)
	}
}

func (r *reader) warn(line int, format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf("%s: %s", r.at(line), fmt.Sprintf(format, args...)))
}

// directory reads an element of additionalDirectories. Only the user's own count.
func (r *reader) directory(v *texts.JSON) {
	dir, ok := r.text(v, "a directory is a string")
	if !ok || r.Origin != User {
		return
	}
	if rest, ok := strings.CutPrefix(dir, "~/"); ok && r.dirs.Home != "" {
		dir = r.dirs.Home + "/" + rest
	}
	if !filepath.IsAbs(dir) {
		dir = r.dirs.Work + "/" + dir
	}
	r.roots = append(r.roots, filepath.ToSlash(filepath.Clean(dir)))
}

// rule reads an element of a list of rules: a string, or an object with examples.
func (r *reader) rule(verdict tool.Verdict, v *texts.JSON) {
	var text, reason string
	var match, notMatch []texts.JSON
	ok := true
	if v.Kind == texts.Object {
		for _, m := range r.object(v, "") {
			switch m.Name {
			case "rule":
				text, _ = r.text(&m.JSON, "rule is a string such as Bash(git push:*)")
			case "reason":
				reason, _ = r.text(&m.JSON, "reason is a string")
			case "match":
				match = r.array(&m.JSON, `match is a list of examples, such as ["git push origin"]`)
			case "not_match":
				notMatch = r.array(&m.JSON, `not_match is a list of examples, such as ["git push origin"]`)
			default:
				r.mistake(m.Line, "%q is not a member of a rule; its members are rule, reason, match and not_match",
					m.Name)
			}
		}
	} else {
		text, ok = r.text(v, `a rule is a string such as "Bash(git push:*)", or an object such as {"rule": "Bash(git push:*)", "match": ["git push origin"]}`)
	}
	if !ok {
		return
	}
	parsed, err := parseRule(text, r.Dir, r.dirs)
	if err != nil {
		r.unknown(verdict, v.Line, err)
		return
	}
	parsed.verdict, parsed.where, parsed.reason = verdict, r.at(v.Line), reason
	r.check(parsed, match, true)
	r.check(parsed, notMatch, false)
	if verdict == tool.Allow && r.Origin == Project {
		return
	}
	r.rules = append(r.rules, parsed)
}

// unknown reports a rule that cannot be read. In another program's file a rule that allows does no
// harm if it is ignored.
func (r *reader) unknown(verdict tool.Verdict, line int, err error) {
	if r.Foreign && (verdict == tool.Allow || errors.Is(err, errNoPattern)) {
		r.warn(line, "the rule is ignored: %v", err)
		return
	}
	r.mistake(line, "%v", err)
}

// check reports the examples about which a rule decides otherwise.
func (r *reader) check(parsed *rule, list []texts.JSON, want bool) {
	for _, e := range list {
		text, ok := r.text(&e, "an example is a string")
		if !ok {
			continue
		}
		got, err := parsed.example(text, r.dirs)
		switch {
		case err != nil:
			r.mistake(e.Line, "the rule %s cannot have the example %q: %v", parsed.text, text, err)
		case got && !want:
			r.mistake(e.Line, "the rule %s matches %q, which is an example of what it must not match", parsed.text,
				text)
		case !got && want:
			r.mistake(e.Line, "the rule %s does not match its example %q", parsed.text, text)
		}
	}
}
