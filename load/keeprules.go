package load

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/rules"
)

// KeptRule is a rule that a person has kept for later sessions, in the file of [UserRules].
type KeptRule struct {
	// Project is the project in which it counts, as [Project.KeptAs] names it. Empty means
	// everywhere.
	Project string `json:"project,omitempty"`
	Verdict string `json:"verdict"` // allow, ask or deny
	Rule    string `json:"rule"`
}

// KeptAs returns the name by which rules are kept for a project: the path of its root without
// symbolic links, and with slashes. For a linked work tree of git it is that of the main one. It is
// empty for a project on another machine, and if the path is not UTF-8.
func (p *Project) KeptAs() string {
	if p == nil || p.Here != "" || p.Snapshot == nil || p.Root == "" {
		return ""
	}
	if name := filepath.ToSlash(userfiles.RealPath(cmp.Or(p.main, p.Root))); utf8.ValidString(name) {
		return name
	}
	return ""
}

// KeepRules adds rules to the user's file and returns its name. It makes the file if there is none.
// Several processes may call it at once. A file that it does not understand stays as it is, and so
// does all else in it.
func KeepRules(ctx context.Context, getenv func(string) string, list ...KeptRule) (file string, err error) {
	for _, k := range list {
		if err := k.check(); err != nil {
			return "", err
		}
	}
	return changeKept(ctx, getenv, func(f *keptFile) error {
		for _, k := range list {
			if err := f.add(k); err != nil {
				return err
			}
		}
		return nil
	})
}

// ErrNotKept reports that a rule to remove was not there.
var ErrNotKept = errors.New("no such rule was kept")

// DropRule removes a rule from the user's file and returns its name. The error wraps [ErrNotKept]
// if it is not there. An empty Verdict means any.
func DropRule(ctx context.Context, getenv func(string) string, k KeptRule) (file string, err error) {
	return changeKept(ctx, getenv, func(f *keptFile) error { return f.remove(k) })
}

// KeptRules returns the rules that a person has kept: those for single projects in the order of
// their paths, and then those for everywhere.
func KeptRules(getenv func(string) string) (list []KeptRule, err error) {
	name, err := UserRules(getenv)
	if err != nil {
		return nil, err
	}
	source, err := ruleFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := parseKept(source.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	places := slices.Sorted(maps.Keys(f.places))
	for _, project := range append(places[1:], "") { // which is the first
		for _, verdict := range verdicts() {
			all, _ := f.places[project].rules(verdict) // a session tells the mistake
			for _, raw := range all {
				list = append(list, KeptRule{project, verdict, textOf(raw)})
			}
		}
	}
	return list, nil
}

// verdicts returns the names of the lists of rules.
func verdicts() []string { return []string{"allow", "ask", "deny"} }

// textOf returns the text of a rule, which is a string or the rule of an object.
func textOf(raw json.RawMessage) (text string) {
	var with struct{ Rule string }
	if json.Unmarshal(raw, &text) == nil || json.Unmarshal(raw, &with) != nil {
		return text
	}
	return with.Rule
}

// check returns an error unless a session would take the rule.
func (k KeptRule) check() error {
	if !slices.Contains(verdicts(), k.Verdict) {
		return fmt.Errorf("a rule allows, asks or denies, and not %s: allow, ask or deny", texts.Shown(k.Verdict))
	}
	_, err := rules.Load(rules.Dirs{Work: "/", Home: "/"}, OneRule("the rule", k.Verdict, k.Rule))
	return err
}

// OneRule returns a source with one rule that stands in no file. The list is allow, ask or deny;
// the name says in messages where the rule comes from.
func OneRule(name, list, rule string) rules.Source {
	data, _ := json.Marshal(map[string]any{"permissions": map[string][]string{list: {rule}}}) // strings always encode
	return rules.Source{Name: name, Data: data, Lineless: true}
}

// keptFile is the content of the user's file of rules.
type keptFile struct {
	rest   map[string]json.RawMessage // what else it holds
	places map[string]ruleLists       // by projects; those for everywhere have the empty name
}

// ruleLists holds lists of rules by their verdicts, and other permissions, such as defaultMode.
type ruleLists map[string]json.RawMessage

// rules returns the rules with a verdict.
func (l ruleLists) rules(verdict string) (list []json.RawMessage, err error) {
	if raw, ok := l[verdict]; ok {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("permissions.%s: %w", verdict, err)
		}
	}
	return list, nil
}

// set replaces the rules with a verdict.
func (l ruleLists) set(verdict string, list []json.RawMessage) (err error) {
	if len(list) == 0 {
		delete(l, verdict)
		return nil
	}
	l[verdict], err = texts.PlainJSON(list)
	return err
}

// ofProject is what the file has of a project.
type ofProject struct {
	Permissions ruleLists `json:"permissions"`
}

// parseKept returns the content of the file, which may be empty.
func parseKept(data []byte) (*keptFile, error) {
	f := &keptFile{rest: map[string]json.RawMessage{}, places: map[string]ruleLists{}}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) > 0 {
		if err := json.Unmarshal(data, &f.rest); err != nil {
			return nil, err
		}
	}
	projects, everywhere := map[string]ofProject{}, ruleLists{}
	for name, to := range map[string]any{"projects": &projects, "permissions": &everywhere} {
		if raw, ok := f.rest[name]; ok {
			d := json.NewDecoder(bytes.NewReader(raw))
			d.DisallowUnknownFields() // which would be lost
			if err := d.Decode(to); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if f.rest == nil || projects == nil || everywhere == nil {
		return nil, errors.New("it holds null where an object is expected")
	}
	for name, of := range projects {
		f.places[name] = of.Permissions
	}
	f.places[""] = everywhere
	return f, nil
}

// text returns the file as a person reads it.
func (f *keptFile) text() ([]byte, error) {
	projects := map[string]ofProject{}
	for name, lists := range f.places {
		if name != "" && len(lists) > 0 {
			projects[name] = ofProject{lists}
		}
	}
	all := map[string]any{}
	for name, raw := range f.rest {
		all[name] = raw
	}
	all["permissions"] = f.places[""] // a file of rules has them
	if delete(all, "projects"); len(projects) > 0 {
		all["projects"] = projects
	}
	whole, err := texts.PlainJSON(all)
	if err != nil {
		return nil, err
	}
	var shown bytes.Buffer
	err = json.Indent(&shown, whole, "", "  ")
	shown.WriteByte('\n')
	return shown.Bytes(), err
}

// add adds a rule, unless it is there.
func (f *keptFile) add(k KeptRule) error {
	if f.places[k.Project] == nil {
		f.places[k.Project] = ruleLists{}
	}
	list, err := f.places[k.Project].rules(k.Verdict)
	if err != nil || slices.ContainsFunc(list, k.isIn) {
		return err
	}
	added, err := texts.PlainJSON(k.Rule)
	if err != nil {
		return err
	}
	return f.places[k.Project].set(k.Verdict, append(list, added))
}

// isIn reports whether an element of a list has the rule.
func (k KeptRule) isIn(raw json.RawMessage) bool { return textOf(raw) == k.Rule }

// remove removes a rule.
func (f *keptFile) remove(k KeptRule) error {
	found := false
	lists := f.places[k.Project]
	for _, verdict := range verdicts() {
		list, err := lists.rules(verdict)
		if err != nil || k.Verdict != "" && k.Verdict != verdict || !slices.ContainsFunc(list, k.isIn) {
			continue
		}
		found = true
		if err := lists.set(verdict, slices.DeleteFunc(list, k.isIn)); err != nil {
			return err
		}
	}
	if !found {
		return ErrNotKept
	}
	return nil
}

// changeKept changes the user's file of rules, which nobody else changes meanwhile, and returns its
// name.
func changeKept(ctx context.Context, getenv func(string) string, change func(*keptFile) error) (file string,
	err error) {
	if file, err = UserRules(getenv); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	dir, err := env.NewLocal(filepath.Dir(file), env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	unlock, err := dir.Lock(ctx, file)
	if err != nil {
		return "", err
	}
	defer unlock()
	return file, rewriteKept(ctx, dir, file, change)
}

// rewriteKept changes the file, which the caller has locked.
func rewriteKept(ctx context.Context, dir *env.Local, file string, change func(*keptFile) error) error {
	was, err := readKept(ctx, dir, file)
	if err != nil {
		return err
	}
	content, err := parseKept(was)
	if err == nil {
		err = change(content)
	}
	if errors.Is(err, ErrNotKept) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	now, err := content.text()
	if err != nil {
		return err
	}
	if len(now) > rules.MaxFile {
		return fmt.Errorf("%s would have more than %d bytes; attractor rules remove makes room", file, rules.MaxFile)
	}
	hash := env.NoFile
	if was != nil {
		hash = env.HashOf(was)
	}
	if err := dir.Replace(ctx, file, hash, now, 0o600); err != nil {
		return err
	}
	return dir.Chmod(ctx, file, 0o600)
}

// readKept returns the content of the file, or nil if it does not exist.
func readKept(ctx context.Context, dir *env.Local, file string) (data []byte, err error) {
	f, err := dir.Open(ctx, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if data, err = io.ReadAll(io.LimitReader(f, rules.MaxFile+1)); len(data) > rules.MaxFile {
		return nil, fmt.Errorf("%s has more than %d bytes", file, rules.MaxFile)
	}
	return data, err
}
