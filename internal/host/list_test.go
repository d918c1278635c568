package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sessions"
)

// whole is a store whose journals are opened to be listed.
type whole struct{ journal.Store }

// The list says the same whether it reads the beginnings of journals or opens them, whatever their state.
func TestK6_ListOfOddJournals(t *testing.T) {
	ctx := context.Background()
	path := t.TempDir()
	dir := journal.NewDir(path)
	if err := longsession.Write(ctx, dir, "plain", 3); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(path, "plain.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	alone := strings.Join(lines[:2], "")
	files := map[string]string{
		"empty": "", "header-half": lines[0][:500], "header-of-batch": lines[0], "header-and-half": lines[0] + lines[1][:30], "two": alone, "torn": string(text[:len(text)-10]), "nul": string(text) + "\x00\x00\x00",
		"nul-first": "\x00\x00" + string(text), "damaged-header": strings.Replace(string(text), "You work", "You walk", 1), "damaged-input": lines[0] + strings.Replace(lines[1], "Rename", "rename", 1) + lines[2],
		"damaged-last": string(text[:len(text)-20]) + "x" + string(text[len(text)-19:]), "no-json": "hello\n", "no-record": "{}\n" + string(text), "line-missing": lines[0] + strings.Join(lines[2:], ""),
	}
	for _, version := range []string{"version1", "version2"} {
		old, err := os.ReadFile(filepath.Join("../../agent/testdata/journals", version+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		files[version] = string(old)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(path, name+".jsonl"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(path, "directory.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, turn := range map[string]int{"fork": 0, "fork-early": 1} {
		log, err := agent.Fork(ctx, dir, "plain", turn, name)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close() // open for writing while it is listed
	}
	got, err := sessions.List(ctx, dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	want, err := sessions.List(ctx, whole{dir}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-opened +begun\n%s", diff)
	}
	var problems, tasks, locked int
	for _, s := range got {
		if s.Problem != "" {
			problems++
		}
		if s.Task != "" {
			tasks++
		}
		if s.Locked {
			locked++
		}
	}
	if problems < 4 || tasks < 9 || locked != 2 {
		t.Errorf("%d problems, %d tasks and %d locked sessions in %+v", problems, tasks, locked, got)
	}
}

// The store of sessions is in the home directory that the program names, not in that of the process.
func TestN8_StateOfTheNamedHome(t *testing.T) {
	home := t.TempDir()
	if state, err := userfiles.StateDir(variables("HOME", home)); err != nil || state != filepath.Join(home, ".local", "state") {
		t.Errorf("%s, %v", state, err)
	}
	if state, err := userfiles.StateDir(variables()); err == nil || err.Error() != "set XDG_STATE_HOME or HOME" {
		t.Errorf("%s, %v", state, err)
	}
}

// What names a session can be passed to commands: ids that are no UUIDs may begin alike.
func TestH_ShortIDs(t *testing.T) {
	for id, want := range map[string]string{"0192f0a1-7b3c-7000-8000-000000000001": "0192f0a1", "fix-login-1": "fix-login-1", "x": "x"} {
		if got := sessions.ShortID(id); got != want {
			t.Errorf("ShortID(%q) = %q, want %q", id, got, want)
		}
	}
}
