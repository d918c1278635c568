package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

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
	dec   *json.Decoder
	rules []*rule
	extra
	errs []error
}

// readSource returns the rules of a source and all its mistakes.
func readSource(source Source, dirs *Dirs) ([]*rule, extra, []error) {
	source.Data = bytes.TrimPrefix(source.Data, []byte("\ufeff"))
	r := &reader{Source: source, dirs: dirs, dec: json.NewDecoder(bytes.NewReader(source.Data))}
	if len(source.Data) > MaxFile {
		return nil, extra{}, []error{fmt.Errorf("%s: the file has more than %d bytes", source.Name, MaxFile)}
	}
	if err := r.file(); err != nil {
		r.errs = append(r.errs, err)
	}
	return r.rules, r.extra, r.errs
}

// at returns the name of the file with the line of an offset.
func (r *reader) at(offset int64) string {
	if r.Lineless {
		return r.Name
	}
	offset = min(max(offset, 0), int64(len(r.Data)))
	return fmt.Sprintf("%s:%d", r.Name, 1+bytes.Count(r.Data[:offset], []byte("\n")))
}

// next returns the offset of the next value or name.
func (r *reader) next() int64 {
	offset := r.dec.InputOffset()
	for offset < int64(len(r.Data)) && strings.IndexByte(" \t\r\n,:", r.Data[offset]) >= 0 {
		offset++
	}
	return offset
}

func (r *reader) mistake(offset int64, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: %s", r.at(offset), fmt.Sprintf(format, args...)))
}

// broken returns the error for text that is not JSON, or nil.
func (r *reader) broken() error {
	var whole json.RawMessage
	err := json.Unmarshal(r.Data, &whole)
	if err == nil {
		return nil
	}
	offset := int64(0)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		offset = syntax.Offset - 1
	}
	return fmt.Errorf("%s: this is not JSON: %w; comments and commas at the end of a list are not allowed",
		r.at(offset), err)
}

// file reads the whole file.
func (r *reader) file() error {
	if err := r.broken(); err != nil {
		return err
	}
	found := false
	for _, m := range r.object(r.value(),
		`a settings file is an object such as {"permissions": {"allow": ["Bash(go test:*)"]}}`) {
		switch {
		case m.name == "permissions":
			found = true
			r.permissions(m.value)
			continue
		case m.name == "projects" && !r.Foreign:
			found = true
			r.project(m)
			continue
		}
		r.misplaced(m, "a settings file")
	}
	if !found && !r.Foreign && len(r.errs) == 0 {
		r.mistake(0, `the file has no rules; they go into "permissions": {"allow": [...], "ask": [...], "deny": [...]}`)
	}
	return nil
}

// permissions reads an object with rules.
func (r *reader) permissions(v value) {
	for _, m := range r.object(v, "permissions is an object with "+membersOfPermissions) {
		r.member(m)
	}
}

// misplaced reports a member whose name says that it holds rules, where they would not count.
func (r *reader) misplaced(m member, of string) {
	if _, isList := lists()[m.name]; !r.Foreign && (isList || strings.EqualFold(m.name, "permissions") ||
		strings.EqualFold(m.name, "permission")) {
		r.mistake(m.offset, `%q is not a member of %s; the rules go into "permissions": {"allow": [...], "ask": [...], "deny": [...]}`, m.name, of)
	}
}

// project reads the rules for the Project, among those for all projects by their paths.
func (r *reader) project(all member) {
	if r.Project == "" && !r.Projects {
		r.mistake(all.offset, `"projects" counts only in your own file of rules, which attractor rules add writes; put the rules into "permissions"`)
	}
	if r.Project == "" {
		return
	}
	dir := r.Dir
	defer func() { r.Dir = dir }()
	r.Dir = r.Project
	for _, of := range r.object(all.value,
		`projects is an object such as {"/home/me/project": {"permissions": {"allow": ["Bash(make:*)"]}}}`) {
		if of.name != r.Project {
			continue
		}
		for _, m := range r.object(of.value,
			`a project is an object such as {"permissions": {"allow": ["Bash(make:*)"]}}`) {
			if m.name == "permissions" {
				r.permissions(m.value)
				continue
			}
			r.misplaced(m, "a project")
		}
	}
}

// value is a value in the file.
type value struct {
	offset int64
	plain  any // a string, for example; an object or a list if it is a json.Delim
	inside []member
}

// member is a member of an object, or an element of a list without a name.
type member struct {
	name   string
	offset int64
	value  value
}

// value reads the next value. The file has been found to be JSON, so that no error can occur.
func (r *reader) value() value {
	v := value{offset: r.next()}
	v.plain, _ = r.dec.Token()
	if _, ok := v.plain.(json.Delim); !ok {
		return v
	}
	for r.dec.More() {
		m := member{offset: r.next()}
		if v.plain == json.Delim('{') {
			name, _ := r.dec.Token()
			m.name, _ = name.(string)
		}
		m.value = r.value()
		v.inside = append(v.inside, m)
	}
	_, _ = r.dec.Token() // its end
	return v
}

// object returns the members of an object. A name must not come twice, because readers differ in
// which one they take.
func (r *reader) object(v value, want string) []member {
	if v.plain != json.Delim('{') {
		r.mistake(v.offset, "%s", want)
		return nil
	}
	seen := map[string]bool{}
	for _, m := range v.inside {
		if seen[m.name] {
			r.mistake(m.offset, "%q is there twice", m.name)
		}
		seen[m.name] = true
	}
	return v.inside
}

// array returns the elements of a list.
func (r *reader) array(v value, want string) []member {
	if v.plain != json.Delim('[') {
		r.mistake(v.offset, "%s", want)
		return nil
	}
	return v.inside
}

// text returns a string. ok is false if the value is something else, which is a mistake.
func (r *reader) text(v value, want string) (text string, ok bool) {
	if text, ok = v.plain.(string); !ok {
		r.mistake(v.offset, "%s", want)
	}
	return text, ok
}

// member reads a member of permissions.
func (r *reader) member(m member) {
	verdict, isList := lists()[m.name]
	switch {
	case isList:
		for _, element := range r.array(m.value, m.name+" is a list of rules") {
			r.rule(verdict, element.value)
		}
	case m.name == "additionalDirectories":
		for _, element := range r.array(m.value, m.name+" is a list of directories") {
			r.directory(element.value)
		}
	case unused(m.name):
	case r.Foreign:
		r.warn(m.offset, "%q of permissions is not known and has no effect", m.name)
	default:
		r.mistake(m.offset, "%q is not a member of permissions; its members are %s", m.name, membersOfPermissions)
	}
}

func (r *reader) warn(offset int64, format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf("%s: %s", r.at(offset), fmt.Sprintf(format, args...)))
}

// directory reads an element of additionalDirectories. Only the user's own count.
func (r *reader) directory(v value) {
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
func (r *reader) rule(verdict tool.Verdict, v value) {
	var text, reason string
	var match, notMatch []member
	ok := true
	if v.plain == json.Delim('{') {
		for _, m := range r.object(v, "") {
			switch m.name {
			case "rule":
				text, _ = r.text(m.value, "rule is a string such as Bash(git push:*)")
			case "reason":
				reason, _ = r.text(m.value, "reason is a string")
			case "match":
				match = r.array(m.value, `match is a list of examples, such as ["git push origin"]`)
			case "not_match":
				notMatch = r.array(m.value, `not_match is a list of examples, such as ["git push origin"]`)
			default:
				r.mistake(m.offset, "%q is not a member of a rule; its members are rule, reason, match and not_match",
					m.name)
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
		r.unknown(verdict, v.offset, err)
		return
	}
	parsed.verdict, parsed.where, parsed.reason = verdict, r.at(v.offset), reason
	r.check(parsed, match, true)
	r.check(parsed, notMatch, false)
	if verdict == tool.Allow && r.Origin == Project {
		return
	}
	r.rules = append(r.rules, parsed)
}

// unknown reports a rule that cannot be read. In another program's file a rule that allows does no
// harm if it is ignored.
func (r *reader) unknown(verdict tool.Verdict, offset int64, err error) {
	if r.Foreign && (verdict == tool.Allow || errors.Is(err, errNoPattern)) {
		r.warn(offset, "the rule is ignored: %v", err)
		return
	}
	r.mistake(offset, "%v", err)
}

// check reports the examples about which a rule decides otherwise.
func (r *reader) check(parsed *rule, list []member, want bool) {
	for _, e := range list {
		text, ok := r.text(e.value, "an example is a string")
		if !ok {
			continue
		}
		got, err := parsed.example(text, r.dirs)
		switch {
		case err != nil:
			r.mistake(e.offset, "the rule %s cannot have the example %q: %v", parsed.text, text, err)
		case got && !want:
			r.mistake(e.offset, "the rule %s matches %q, which is an example of what it must not match", parsed.text,
				text)
		case !got && want:
			r.mistake(e.offset, "the rule %s does not match its example %q", parsed.text, text)
		}
	}
}
