package load_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/rules"
)

// everywhere returns a rule that allows everywhere.
func everywhere(rule string) load.KeptRule { return load.KeptRule{Verdict: "allow", Rule: rule} }

// KeepRules adds rules to the user's file, which later sessions use. It keeps what else the file
// holds, and leaves a file that it does not understand alone. Concurrent calls lose nothing.
func TestL3_KeepRules(t *testing.T) {
	state := t.TempDir()
	getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": state, "HOME": state}[name] }
	file := filepath.Join(state, "attractor", "rules.json")
	errs := make(chan error)
	names := []string{"Bash(one:*)", "Bash(two:*)", "Bash(three < 'four' & five)", "Edit(./**)"}
	for _, name := range names {
		go func() {
			where, err := load.KeepRules(t.Context(), getenv, everywhere(name), everywhere("Bash(all:*)"))
			if err == nil && where != file {
				err = errors.New(where)
			}
			errs <- err
		}()
	}
	for range names {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	read := func() (all struct {
		Hooks       any
		Permissions struct{ Allow, Deny []string }
	}) {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := slices.Sorted(slices.Values(append(names, "Bash(all:*)")))
	if got := slices.Sorted(slices.Values(read().Permissions.Allow)); !slices.Equal(got, want) {
		t.Errorf("the file has %q, want %q", got, want)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	for content, kept := range map[string]bool{"\ufeff{}": true,
		`{"permissions":{"deny":["Bash(x)"]},"hooks":{}}`: true, "": true, "{": false, `{"permissions":null}`: false,
		`{"permissions":{"allow":3}}`: false} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := load.KeepRules(t.Context(), getenv, everywhere("Bash(y)"))
		if (err == nil) != kept {
			t.Errorf("%q: %v", content, err)
		}
		if data, _ := os.ReadFile(file); !kept && string(data) != content {
			t.Errorf("%q became %q", content, data)
		}
		if !kept {
			continue
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 ||
			!slices.Contains(read().Permissions.Allow, "Bash(y)") {
			t.Errorf("%q: the rule was not added, or others can read the file: %v, %v", content, info.Mode(), err)
		}
	}
}

// The file may have permissions that are no rules, which stay as they are. A list that is a mistake
// hides no other one.
func TestL3_KeptRulesBesideOthers(t *testing.T) {
	state := t.TempDir()
	getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": state, "HOME": state}[name] }
	file := filepath.Join(state, "attractor", "rules.json")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	content := `{"permissions":{"additionalDirectories":["Edit"],"allow":["Edit"],"defaultMode":"plan","deny":3}}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if list, err := load.KeptRules(getenv); err != nil || !slices.Equal(list, []load.KeptRule{everywhere("Edit")}) {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := load.KeepRules(t.Context(), getenv, everywhere("Bash(y)")); err != nil {
		t.Error(err)
	}
	if _, err := load.DropRule(t.Context(), getenv, load.KeptRule{Rule: "Edit"}); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(file)
	var left bytes.Buffer
	if err = errors.Join(err, json.Compact(&left, data)); err != nil {
		t.Fatal(err)
	}
	want := `{"permissions":{"additionalDirectories":["Edit"],"allow":["Bash(y)"],"defaultMode":"plan","deny":3}}`
	if left.String() != want {
		t.Errorf("the file has %s, want %s", &left, want)
	}
}

// What else a person has written about a project stays when its last rule is removed.
func TestL3_DroppedRuleLeavesTheRest(t *testing.T) {
	state := t.TempDir()
	getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": state, "HOME": state}[name] }
	file := filepath.Join(state, "attractor", "rules.json")
	content := `{"projects":{"/p":{"note":"mine","permissions":{"allow":["Edit"]}}}}`
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := load.DropRule(t.Context(), getenv, load.KeptRule{Project: "/p", Rule: "Edit"}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(data, []byte(`"note"`)) || bytes.Contains(data, []byte("Edit")) {
		t.Errorf("the file has %s, %v", data, err)
	}
}

// Rules that were kept for a project count there, by its real path and in its linked work trees,
// and nowhere else. They can be listed and removed.
func TestX2_RulesOfAProject(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": home, "HOME": home}[name] }
	one, other := filepath.Join(home, "one"), filepath.Join(home, "other")
	for _, dir := range []string{filepath.Join(one, "sub"), other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(home, "link")
	if err := os.Symlink(one, link); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-q", one}, {"-C", one, "-c", "user.name=a", "-c", "user.email=a@b",
		"commit", "-qm", "x", "--allow-empty"},
		{"-C", one, "worktree", "add", "-q", filepath.Join(home, "tree")}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %s", err, out)
		}
	}
	project := func(dir string) *load.Project {
		t.Helper()
		p, err := load.ReadProject(dir, getenv, false)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	name := project(link).KeptAs()
	kept := []load.KeptRule{{Project: name, Verdict: "allow", Rule: "Edit(/sub/**)"},
		{Project: name, Verdict: "allow", Rule: "Bash(make:*)"},
		{Project: name, Verdict: "deny", Rule: "Bash(make x)"}, {Verdict: "allow", Rule: "Bash(all:*)"}}
	if _, err := load.KeepRules(t.Context(), getenv, kept...); err != nil {
		t.Fatal(err)
	}
	if list, err := load.KeptRules(getenv); err != nil || !slices.Equal(list, kept) {
		t.Errorf("%v, %v, want %v", list, err, kept)
	}
	decide := func(dir string, q rules.Query) string {
		t.Helper()
		local, err := env.NewLocal(dir, env.LocalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer local.Close()
		set, err := load.ReadRules(local, project(dir), nil, getenv)
		if err != nil {
			t.Fatal(err)
		}
		req, err := q.Request()
		if err != nil {
			t.Fatal(err)
		}
		return set.Decide(t.Context(), local, req).Verdict.String()
	}
	for _, c := range []struct{ dir, command, path, want string }{
		{one, "make y", "", "allow"}, {link, "make y", "", "allow"}, {filepath.Join(one, "sub"), "make y", "", "allow"},
		{filepath.Join(home, "tree"), "make y", "", "allow"}, {one, "make x", "", "deny"}, {other, "make y", "", "ask"},
		{other, "all", "", "allow"},
		{one, "", "sub/f", "allow"}, {one, "", "f", "ask"}, {filepath.Join(one, "sub"), "", "f", "allow"},
	} {
		q := rules.Query{Command: c.command}
		if c.path != "" {
			q = rules.Query{Tool: "Edit", Path: c.path}
		}
		if got := decide(c.dir, q); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	for _, k := range append(kept, load.KeptRule{Verdict: "", Rule: "Bash(all:*)"}) {
		_, err := load.DropRule(t.Context(), getenv, k)
		if k.Verdict == "" != errors.Is(err, load.ErrNotKept) {
			t.Errorf("%v: %v", k, err)
		}
	}
	if list, err := load.KeptRules(getenv); err != nil || len(list) != 0 {
		t.Errorf("left: %v, %v", list, err)
	}
	if got := decide(one, rules.Query{Command: "make y"}); got != "ask" {
		t.Errorf("without rules: %s", got)
	}
	for _, k := range []load.KeptRule{{Verdict: "allow", Rule: "Bash("}, {Verdict: "allowed", Rule: "Bash(x)"},
		{Verdict: "allow"}} {
		if _, err := load.KeepRules(t.Context(), getenv, k); err == nil {
			t.Errorf("%v was kept", k)
		}
	}
}

// A file of the project cannot say what counts for single projects.
func TestX2_ProjectsOfAProject(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"XDG_STATE_HOME": home, "HOME": home}[name] }
	dir := filepath.Join(home, "one")
	if err := os.MkdirAll(filepath.Join(dir, ".attractor"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"permissions": {}, "projects": {"` + dir + `": {"permissions": {"allow": ["Bash(make:*)"]}}}}`
	if err := os.WriteFile(filepath.Join(dir, ".attractor", "rules.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	project, err := load.ReadProject(dir, getenv, true)
	if err != nil {
		t.Fatal(err)
	}
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	if _, err := load.ReadRules(local, project, nil, getenv); err == nil ||
		!strings.Contains(err.Error(), `"projects" counts only in your own file of rules`) {
		t.Errorf("the error is %v", err)
	}
}
