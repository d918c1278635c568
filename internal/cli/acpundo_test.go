//go:build unix

package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An editor shows what the session has changed, takes it back when its person says yes, and brings
// it back. The model is told.
func TestO4_UndoInAnEditor(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("", use("shell", object{"command": "echo two >a.txt; echo new >b.txt"})),
		say("Done."), say("I see."))
	h := newHome(t, url)
	h.file("a.txt", "one\n")
	e := h.newEditor("--yes")
	e.initialize()
	session := e.open(h.dir)
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(h.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return string(data)
	}
	e.prompt(session, "/undo")
	e.prompt(session, "/undo x")
	e.prompt(session, "change it")
	e.prompt(session, "/diff")
	e.choose("reject_once", "allow_once", "allow_once")
	e.prompt(session, "/undo")
	if read("a.txt") != "two\n" {
		t.Error("undone without a yes")
	}
	e.prompt(session, "/undo")
	if read("a.txt") != "one\n" || read("b.txt") != "" {
		t.Errorf("after /undo: %q, %q", read("a.txt"), read("b.txt"))
	}
	e.prompt(session, "/redo")
	if read("a.txt") != "two\n" || read("b.txt") != "new\n" {
		t.Errorf("after /redo: %q, %q", read("a.txt"), read("b.txt"))
	}
	e.prompt(session, "go on")
	if got := shown(server.Requests()[2].Messages); !strings.Contains(got, "undo") {
		t.Errorf("the model is not told: %s", got)
	}
	if len(e.asks) != 3 || !strings.Contains(at(e.asks[0].params, "toolCall", "content"), "b.txt") {
		t.Errorf("asked: %v", e.asks)
	}
	seen := shown(e.of(session))
	for _, want := range []string{"has changed nothing", "must be a number, from 0", "-one\\n+two",
		"Taken back: 2 paths", "A redo takes this back", "An undo takes this back",
		`"status":"failed"`, `"status":"completed"`} {
		if !strings.Contains(seen, want) {
			t.Errorf("the editor does not see %q in %s", want, seen)
		}
	}
	e.end()
}
