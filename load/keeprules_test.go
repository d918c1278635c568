package load_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attractor-go/attractor/load"
)

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
			where, err := load.KeepRules(t.Context(), getenv, []string{name, "Bash(all:*)"})
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
		_, err := load.KeepRules(t.Context(), getenv, []string{"Bash(y)"})
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
