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
	return changeKept(ctx, getenv, func(root object) error {
		for _, k := range list {
			if err := k.add(root); err != nil {
				return err
			}
		}
		return nil
	})
}

// ErrNotKept reports that a rule to remove was not there.
var ErrNotKept = errors.New("no such rule was kept")

// DropRule removes a rule from the user's file and returns its name. The error wraps [ErrNotKept] if
// it is not there. An empty Verdict means any.
func DropRule(ctx context.Context, getenv func(string) string, k KeptRule) (file string, err error) {
	return changeKept(ctx, getenv, k.remove)
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
	root, err := parseKept(source.Data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var projects map[string]struct{ Permissions object }
	if raw := root["projects"]; raw != nil {
		if err := json.Unmarshal(raw, &projects); err != nil {
			return nil, fmt.Errorf("%s: projects: %w", name, err)
		}
	}
	for _, project := range slices.Sorted(maps.Keys(projects)) {
		list = append(list, rulesIn(project, projects[project].Permissions)...)
	}
	var everywhere object
	if raw := root["permissions"]; raw != nil {
		if err := json.Unmarshal(raw, &everywhere); err != nil {
			return nil, fmt.Errorf("%s: permissions: %w", name, err)
		}
	}
	return append(list, rulesIn("", everywhere)...), nil
}

// verdicts returns the names of the lists of rules.
func verdicts() []string { return []string{"allow", "ask", "deny"} }

// rulesIn returns the rules of permissions.
func rulesIn(project string, permissions object) (list []KeptRule) {
	for _, verdict := range verdicts() {
		var all []json.RawMessage
		if json.Unmarshal(permissions[verdict], &all) != nil {
			continue // none, or a mistake that a session tells
		}
		for _, raw := range all {
			list = append(list, KeptRule{project, verdict, textOf(raw)})
		}
	}
	return list
}

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

// object is a JSON object.
type object map[string]json.RawMessage

// within calls change with the object of a name, and keeps it, unless it is empty then.
func (o object) within(name string, change func(object) error) error {
	inner := object{}
	if raw, ok := o[name]; ok {
		if err := json.Unmarshal(raw, &inner); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if inner == nil {
			return fmt.Errorf("%s is null, where an object is expected", name)
		}
	}
	if err := change(inner); err != nil {
		return err
	}
	if delete(o, name); len(inner) == 0 {
		return nil
	}
	raw, err := texts.PlainJSON(inner)
	o[name] = raw
	return err
}

// permissions calls change with the object that has the lists of rules of the place of k.
func (k KeptRule) permissions(root object, change func(object) error) error {
	if k.Project == "" {
		return root.within("permissions", change)
	}
	return root.within("projects", func(projects object) error {
		return projects.within(k.Project, func(of object) error { return of.within("permissions", change) })
	})
}

// add adds the rule to a file, unless it is there.
func (k KeptRule) add(root object) error {
	return k.permissions(root, func(lists object) error {
		list, err := lists.rules(k.Verdict)
		if err != nil || slices.ContainsFunc(list, func(raw json.RawMessage) bool { return textOf(raw) == k.Rule }) {
			return err
		}
		added, err := texts.PlainJSON(k.Rule)
		if err != nil {
			return err
		}
		lists[k.Verdict], err = texts.PlainJSON(append(list, added))
		return err
	})
}

// remove removes the rule from a file.
func (k KeptRule) remove(root object) error {
	found := false
	err := k.permissions(root, func(lists object) error {
		for _, verdict := range verdicts() {
			list, err := lists.rules(verdict)
			if err != nil || k.Verdict != "" && k.Verdict != verdict {
				continue
			}
			left := slices.DeleteFunc(slices.Clone(list), func(raw json.RawMessage) bool { return textOf(raw) == k.Rule })
			if len(left) == len(list) {
				continue
			}
			if found = true; len(left) == 0 {
				delete(lists, verdict)
			} else if lists[verdict], err = texts.PlainJSON(left); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !found {
		return ErrNotKept
	}
	return err
}

// rules returns a list of rules.
func (o object) rules(verdict string) (list []json.RawMessage, err error) {
	if raw, ok := o[verdict]; ok {
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("permissions.%s: %w", verdict, err)
		}
	}
	return list, nil
}

// changeKept changes the user's file of rules, which nobody else changes meanwhile, and returns its
// name.
func changeKept(ctx context.Context, getenv func(string) string, change func(object) error) (file string, err error) {
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
func rewriteKept(ctx context.Context, dir *env.Local, file string, change func(object) error) error {
	was, err := readKept(ctx, dir, file)
	if err != nil {
		return err
	}
	root, err := parseKept(was)
	if err == nil {
		err = change(root)
	}
	if errors.Is(err, ErrNotKept) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if root["permissions"] == nil {
		root["permissions"] = json.RawMessage("{}") // a file of rules has them
	}
	now, err := indentedJSON(root)
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

// parseKept returns the object in the file, which may be empty.
func parseKept(data []byte) (object, error) {
	root := object{}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) > 0 {
		if err := json.Unmarshal(data, &root); err != nil {
			return nil, err
		}
	}
	if root == nil {
		return nil, errors.New("it holds null where an object is expected")
	}
	return root, nil
}

// indentedJSON returns an object as a person reads it.
func indentedJSON(o object) ([]byte, error) {
	whole, err := texts.PlainJSON(o)
	if err != nil {
		return nil, err
	}
	var shown bytes.Buffer
	err = json.Indent(&shown, whole, "", "  ")
	shown.WriteByte('\n')
	return shown.Bytes(), err
}
