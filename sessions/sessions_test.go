package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sessions"
)

// whole is a store whose journals are opened to be listed.
type whole struct{ journal.Store }

// The list says the same whether it reads the beginnings of journals or opens them, whatever their
// state.
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
		"empty": "", "header-half": lines[0][:500], "header-of-batch": lines[0],
		"header-and-half": lines[0] + lines[1][:30], "two": alone, "torn": string(text[:len(text)-10]),
		"nul":       string(text) + "\x00\x00\x00",
		"nul-first": "\x00\x00" + string(text), "damaged-header": strings.Replace(string(text), "You work", "You walk",
			1), "damaged-input": lines[0] + strings.Replace(lines[1], "Rename", "rename", 1) + lines[2],
		"damaged-last": string(text[:len(text)-20]) + "x" + string(text[len(text)-19:]), "no-json": "hello\n",
		"no-record": "{}\n" + string(text), "line-missing": lines[0] + strings.Join(lines[2:], ""),
	}
	for _, version := range []string{"version1", "version2"} {
		old, err := os.ReadFile(filepath.Join("../agent/testdata/journals", version+".jsonl"))
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
		log, err := agent.Fork(ctx, dir, "plain", turn, name, "")
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

// Find accepts a prefix that fits one id. A complete id is found even if it is the prefix of
// another.
func TestJ12_FindByPrefix(t *testing.T) {
	store := journal.NewDir(t.TempDir())
	for _, id := range []string{"abc", "abcd", "b"} {
		log, err := store.Create(t.Context(), id)
		if err == nil {
			err = log.Append(t.Context(), 1, journal.Record{Kind: "x", Data: []byte("{}")})
		}
		if err := errors.Join(err, log.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string]string{"abc": "abc", "abcd": "abcd", "b": "b", "bc": "", "ab": "", "": "",
		"c": ""} {
		got, err := sessions.Find(t.Context(), store, prefix)
		if got != want || (want == "") != errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("%q: %q, %v, want %q", prefix, got, err, want)
		}
	}
}

// A prefix of many ids is refused with some of them and the number of the others.
func TestJ12_FindNamesFew(t *testing.T) {
	store := journal.NewDir(t.TempDir())
	for i := range 11 { // many00 to many10
		log, err := store.Create(t.Context(), fmt.Sprintf("many%02d", i))
		if err == nil {
			err = log.Append(t.Context(), 1, journal.Record{Kind: "x", Data: []byte("{}")})
		}
		if err := errors.Join(err, log.Close()); err != nil {
			t.Fatal(err)
		}
	}
	_, err := sessions.Find(t.Context(), store, "many")
	if err == nil || !strings.Contains(err.Error(), "many07 and 3 more") || strings.Contains(err.Error(), "many08") {
		t.Errorf("%v", err)
	}
	_, err = sessions.Find(t.Context(), store, "many0")
	if err == nil || !strings.Contains(err.Error(), "many07 and 2 more") {
		t.Errorf("%v", err)
	}
}

// What names a session can be passed to commands: ids that are no UUIDs may begin alike.
func TestH_ShortIDs(t *testing.T) {
	for id, want := range map[string]string{"0192f0a1-7b3c-7000-8000-000000000001": "0192f0a1",
		"fix-login-1": "fix-login-1", "x": "x"} {
		if got := sessions.ShortID(id); got != want {
			t.Errorf("ShortID(%q) = %q, want %q", id, got, want)
		}
	}
}
