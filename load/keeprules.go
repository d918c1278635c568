package load

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/atomicfile"
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
	return changeKept(ctx, getenv, func(f keptFile) error {
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
	return changeKept(ctx, getenv, func(f keptFile) error { return f.remove(k) })
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
	projects, err := objectIn(f, "projects")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, project := range append(slices.Sorted(maps.Keys(projects)), "") {
		place, err := f.place(project)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, verdict := range verdicts() {
			all, _ := rulesIn(place, verdict) // a session tells the mistake
			for _, one := range all {
				list = append(list, KeptRule{project, verdict, textOf(one)})
			}
		}
	}
	return list, nil
}

// verdicts returns the names of the lists of rules.
func verdicts() []string { return []string{"allow", "ask", "deny"} }

// textOf returns the text of a rule, which is a string or the rule of an object.
func textOf(rule any) (text string) {
	if object, is := rule.(map[string]any); is {
		rule = object["rule"]
	}
	text, _ = rule.(string)
	return text
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

// keptFile is the content of the user's file of rules, as it was decoded.
type keptFile map[string]any

// parseKept returns the content of the file, which may be empty.
func parseKept(data []byte) (f keptFile, err error) {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(data) == 0 {
		return keptFile{}, nil
	}
	if _, err := texts.ReadJSON(data); err != nil { // the decoder would overlook what follows
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&f); err != nil {
		return nil, err
	}
	if f == nil {
		return nil, errors.New("it holds null where an object is expected")
	}
	return f, nil
}

// objectIn returns a member that is an object, which it makes if there is none.
func objectIn(in map[string]any, name string) (map[string]any, error) {
	if _, has := in[name]; !has {
		in[name] = map[string]any{}
	}
	object, is := in[name].(map[string]any)
	if !is {
		return nil, fmt.Errorf("%s must be an object", texts.Shown(name))
	}
	return object, nil
}

// place returns the permissions of a project, or those for everywhere if it is empty.
func (f keptFile) place(project string) (map[string]any, error) {
	if project == "" {
		return objectIn(f, "permissions")
	}
	projects, err := objectIn(f, "projects")
	if err != nil {
		return nil, err
	}
	of, err := objectIn(projects, project)
	if err != nil {
		return nil, err
	}
	return objectIn(of, "permissions")
}

// rulesIn returns the rules with a verdict.
func rulesIn(place map[string]any, verdict string) ([]any, error) {
	list, is := place[verdict].([]any)
	if _, has := place[verdict]; has && !is {
		return nil, fmt.Errorf("permissions.%s must be an array", verdict)
	}
	return list, nil
}

// text returns the file as a person reads it.
func (f keptFile) text() ([]byte, error) {
	if _, err := objectIn(f, "permissions"); err != nil { // a file of rules has them
		return nil, err
	}
	whole, err := texts.PlainJSON(f)
	if err != nil {
		return nil, err
	}
	var shown bytes.Buffer
	err = json.Indent(&shown, whole, "", "  ")
	shown.WriteByte('\n')
	return shown.Bytes(), err
}

// add adds a rule, unless it is there.
func (f keptFile) add(k KeptRule) error {
	place, err := f.place(k.Project)
	if err != nil {
		return err
	}
	list, err := rulesIn(place, k.Verdict)
	if err == nil && !slices.ContainsFunc(list, k.isIn) {
		place[k.Verdict] = append(list, k.Rule)
	}
	return err
}

// isIn reports whether an element of a list has the rule.
func (k KeptRule) isIn(rule any) bool { return textOf(rule) == k.Rule }

// remove removes a rule.
func (f keptFile) remove(k KeptRule) error {
	place, err := f.place(k.Project)
	if err != nil {
		return err
	}
	found := false
	for _, verdict := range verdicts() {
		list, err := rulesIn(place, verdict)
		if err != nil || k.Verdict != "" && k.Verdict != verdict || !slices.ContainsFunc(list, k.isIn) {
			continue
		}
		found = true
		if place[verdict] = slices.DeleteFunc(list, k.isIn); len(place[verdict].([]any)) == 0 {
			delete(place, verdict)
		}
	}
	if !found {
		return ErrNotKept
	}
	if projects, _ := f["projects"].(map[string]any); k.Project != "" && len(place) == 0 {
		of, _ := projects[k.Project].(map[string]any)
		delete(of, "permissions")
		if len(of) == 0 {
			delete(projects, k.Project)
		}
	}
	return nil
}

// changeKept changes the user's file of rules, which nobody else changes meanwhile, and returns its
// name.
func changeKept(ctx context.Context, getenv func(string) string,
	change func(keptFile) error) (file string, err error) {
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
	return file, rewriteKept(file, change)
}

// rewriteKept changes the file, which the caller has locked.
func rewriteKept(file string, change func(keptFile) error) error {
	was, err := userfiles.ReadSettings(file, rules.MaxFile+1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(was) > rules.MaxFile {
		return fmt.Errorf("%s has more than %d bytes", file, rules.MaxFile)
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
	return atomicfile.Write(file, now)
}
