package house_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// readBy holds the package whose tests read each collection of cases. Those tests count the cases
// that they skip.
var readBy = map[string]string{
	"apply_patch": "patch", "edit_matching": "tool/coding", "glob_gitignore": "search", "path_escape": "env",
	"provider_errors": "llm/internal/api", "provider_streams": "llm/gemini", "secrets_env": "env",
	"shell_safety": "rules", "sse": "llm/internal/sse",
	"ssrf":            "tool/webfetch",
	"terminal_escape": "sanitize", "tool_call_json": "tool",
}

// waiting holds the subjects of the collections that no test reads yet.
var waiting = map[string]string{}

// TestI18_NoCorpusIsDropped checks that every collection next to the work tree is read by a test or
// listed in waiting.
func TestI18_NoCorpusIsDropped(t *testing.T) {
	const corpora = "../shared/corpora"
	entries, err := os.ReadDir(corpora)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the corpora are not beside the work tree: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		switch subject, by := waiting[name], readBy[name]; {
		case !e.IsDir():
		case subject != "":
			cases, err := os.ReadFile(filepath.Join(corpora, name, "cases.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %d cases are not read yet; they wait for %s", name, bytes.Count(cases, []byte("\n")), subject)
		case by == "":
			t.Errorf("no test reads the collection %s: add it to readBy or to waiting", name)
		case !mentions(t, by, name):
			t.Errorf("the tests of %s do not read the collection %s", by, name)
		}
	}
}

// mentions reports whether a test file of the package contains the name.
func mentions(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(name)) {
			return true
		}
	}
	return false
}
