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

// unused lists the members of permissions that are settings of Claude Code. They are accepted and have no effect: a mode is chosen on the
// command line.
func unused(name string) bool {
	return slices.Contains([]string{"defaultMode", "disableBypassPermissionsMode", "disableAutoMode", "skipDangerousModePermissionPrompt"}, name)
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
	return fmt.Errorf("%s: this is not JSON: %w; comments and commas at the end of a list are not allowed", r.at(offset), err)
}

// file reads the whole file.
func (r *reader) file() error {
	if err := r.broken(); err != nil {
		return err
	}
	found := false
	err := r.object(`a settings file is an object such as {"permissions": {"allow": ["Bash(go test:*)"]}}`, func(name string, offset int64) error {
		if name == "permissions" {
			found = true
			return r.object("permissions is an object with "+membersOfPermissions, r.member)
		}
		if !r.Foreign && (strings.EqualFold(name, "permissions") || strings.EqualFold(name, "permission") || name == "allow" || name == "ask" || name == "deny") {
			r.mistake(offset, `%q is not a member of a settings file; the rules go into "permissions": {"allow": [...], "ask": [...], "deny": [...]}`, name)
		}
		return r.skip()
	})
	if err != nil {
		return err
	}
	if !found && !r.Foreign && len(r.errs) == 0 {
		r.mistake(0, `the file has no rules; they go into "permissions": {"allow": [...], "ask": [...], "deny": [...]}`)
	}
	return nil
}

// object reads an object and calls member with each name, to read the value. A name must not come twice, because readers differ in which
// one they take.
func (r *reader) object(want string, member func(name string, offset int64) error) error {
	offset := r.next()
	token, err := r.dec.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('{') {
		r.mistake(offset, "%s", want)
		return r.rest(token)
	}
	seen := map[string]bool{}
	for r.dec.More() {
		offset := r.next()
		token, err := r.dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		if seen[name] {
			r.mistake(offset, "%q is there twice", name)
		}
		seen[name] = true
		if err := member(name, offset); err != nil {
			return err
		}
	}
	if _, err := r.dec.Token(); err != nil {
		return err
	}
	return nil
}

// array reads an array and calls element at each element, to read it.
func (r *reader) array(want string, element func(offset int64) error) error {
	offset := r.next()
	token, err := r.dec.Token()
	if err != nil {
		return err
	}
	if token != json.Delim('[') {
		r.mistake(offset, "%s", want)
		return r.rest(token)
	}
	for r.dec.More() {
		if err := element(r.next()); err != nil {
			return err
		}
	}
	if _, err := r.dec.Token(); err != nil {
		return err
	}
	return nil
}

// rest skips what is left of a value whose first token was read.
func (r *reader) rest(token json.Token) error {
	depth := 0
	for {
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
		var err error
		if token, err = r.dec.Token(); err != nil {
			return err
		}
	}
}

// skip skips a value.
func (r *reader) skip() error {
	var value json.RawMessage
	if err := r.dec.Decode(&value); err != nil {
		return err
	}
	return nil
}

// text reads a string. ok is false if the value is something else, which is a mistake.
func (r *reader) text(want string) (text string, ok bool, err error) {
	offset := r.next()
	var value any
	if err := r.dec.Decode(&value); err != nil {
		return "", false, err
	}
	if text, ok = value.(string); !ok {
		r.mistake(offset, "%s", want)
	}
	return text, ok, nil
}

// member reads a member of permissions.
func (r *reader) member(name string, offset int64) error {
	if verdict, ok := lists()[name]; ok {
		return r.array(name+" is a list of rules", func(offset int64) error { return r.rule(verdict, offset) })
	}
	switch {
	case name == "additionalDirectories":
		return r.array(name+" is a list of directories", func(offset int64) error { return r.directory(offset) })
	case unused(name):
		return r.skip()
	case r.Foreign:
		r.warn(offset, "%q of permissions is not known and has no effect", name)
	default:
		r.mistake(offset, "%q is not a member of permissions; its members are %s", name, membersOfPermissions)
	}
	return r.skip()
}

func (r *reader) warn(offset int64, format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf("%s: %s", r.at(offset), fmt.Sprintf(format, args...)))
}

// directory reads an element of additionalDirectories. Only the user's own count.
func (r *reader) directory(int64) error {
	dir, ok, err := r.text("a directory is a string")
	if err != nil || !ok || r.Origin != User {
		return err
	}
	if rest, ok := strings.CutPrefix(dir, "~/"); ok && r.dirs.Home != "" {
		dir = r.dirs.Home + "/" + rest
	}
	if !filepath.IsAbs(dir) {
		dir = r.dirs.Work + "/" + dir
	}
	r.roots = append(r.roots, filepath.ToSlash(filepath.Clean(dir)))
	return nil
}

// rule reads an element of a list of rules.
func (r *reader) rule(verdict tool.Verdict, offset int64) error {
	var written struct {
		text            string
		reason          string
		match, notMatch []example
	}
	var err error
	if r.Data[offset] == '{' {
		err = r.object("", func(name string, offset int64) (err error) {
			switch name {
			case "rule":
				written.text, _, err = r.text("rule is a string such as Bash(git push:*)")
			case "reason":
				written.reason, _, err = r.text("reason is a string")
			case "match":
				written.match, err = r.examples(name)
			case "not_match":
				written.notMatch, err = r.examples(name)
			default:
				r.mistake(offset, "%q is not a member of a rule; its members are rule, reason, match and not_match", name)
				err = r.skip()
			}
			return err
		})
	} else {
		var ok bool
		if written.text, ok, err = r.text(`a rule is a string such as "Bash(git push:*)", or an object such as {"rule": "Bash(git push:*)", "match": ["git push origin"]}`); err == nil && !ok {
			return nil
		}
	}
	if err != nil {
		return err
	}
	parsed, err := parseRule(written.text, r.Dir, r.dirs)
	if err != nil {
		r.unknown(verdict, offset, err)
		return nil
	}
	parsed.verdict, parsed.where, parsed.reason = verdict, r.at(offset), written.reason
	r.check(parsed, written.match, true)
	r.check(parsed, written.notMatch, false)
	if verdict == tool.Allow && r.Origin == Project {
		return nil
	}
	r.rules = append(r.rules, parsed)
	return nil
}

// unknown reports a rule that cannot be read. In another program's file a rule that allows does no harm if it is ignored.
func (r *reader) unknown(verdict tool.Verdict, offset int64, err error) {
	if r.Foreign && (verdict == tool.Allow || errors.Is(err, errNoPattern)) {
		r.warn(offset, "the rule is ignored: %v", err)
		return
	}
	r.mistake(offset, "%v", err)
}

// example is an example of what a rule matches or does not match.
type example struct {
	text   string
	offset int64
}

// examples reads a list of examples.
func (r *reader) examples(name string) (list []example, err error) {
	err = r.array(name+" is a list of examples, such as [\"git push origin\"]", func(offset int64) error {
		text, ok, err := r.text("an example is a string")
		if ok {
			list = append(list, example{text, offset})
		}
		return err
	})
	return list, err
}

// check reports the examples about which a rule decides otherwise.
func (r *reader) check(parsed *rule, list []example, want bool) {
	for _, e := range list {
		got, err := parsed.example(e.text, r.dirs)
		switch {
		case err != nil:
			r.mistake(e.offset, "the rule %s cannot have the example %q: %v", parsed.text, e.text, err)
		case got && !want:
			r.mistake(e.offset, "the rule %s matches %q, which is an example of what it must not match", parsed.text, e.text)
		case !got && want:
			r.mistake(e.offset, "the rule %s does not match its example %q", parsed.text, e.text)
		}
	}
}
