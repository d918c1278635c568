package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// In a conversation, /undo shows what it would put back and asks, /redo takes that back, and the
// model hears of it with the next message.
func TestO4_UndoInAConversation(t *testing.T) {
	t.Parallel()
	url, asked := gatedModel(t, 2, say("", use("shell", map[string]any{"command": "rm a.txt new*; echo new >b.txt"})),
		fakellm.Turn{Text: "All tidy."}, fakellm.Turn{Text: "I see."})
	h := chatHome(t, url)
	h.file("a.txt", "precious\n")
	h.file("new\nline", "a name that sessions refuse to make\n")
	before := treeOf(t, h.dir)
	s := onScreen(t, chatting(h, "--yes"), 80, 24)
	s.expect(ready)
	s.send("tidy up")
	s.expect("All tidy.")
	s.expect("2 turns")
	s.gone("working · ") // until then /undo is refused
	after := treeOf(t, h.dir)
	s.send("/undo x")
	s.expect("must be a number, from 0")
	s.send("/undo")
	s.expect("Do this?")
	s.send("n")
	s.expect("Nothing was changed")
	if now := treeOf(t, h.dir); now != after {
		t.Errorf("after no:\n%s", now)
	}
	s.send("/undo 0")
	s.expect("what was changed after turn 0")
	s.expect("Do this?")
	s.send("y")
	s.expect("A redo takes this back")
	if now := treeOf(t, h.dir); now != before {
		t.Errorf("after /undo:\n%s\nwant\n%s", now, before)
	}
	s.send("/redo")
	s.expect("the undo of")
	s.send("y")
	s.expect("An undo takes this back")
	s.send("what now?")
	next := <-asked // the screen has the same lines from before
	if now := treeOf(t, h.dir); now != after {
		t.Errorf("after /redo:\n%s\nwant\n%s", now, after)
	}
	if got := lastUser(next); !strings.Contains(got, "The user has taken back what was changed after turn 0") ||
		!strings.Contains(got, "a.txt") {
		t.Errorf("the model hears %q", got)
	}
	next.answer()
	s.expect("I see.")
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "a.txt")); err == nil {
		t.Error("what was taken away again is there")
	}
}

// In a conversation, /diff shows what commands and hooks have changed, too, if that is recorded,
// and else says why not.
func TestO4_DiffInAConversation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flag, first, then string }{
		{"--yes", "the session has changed nothing that is recorded", "+formatted"},
		{"--no-checkpoints", "the changes of this session are not recorded",
			"the changes of this session are not recorded"},
	} {
		t.Run(c.flag, func(t *testing.T) {
			t.Parallel()
			url, _ := serve(t, nil, say("",
				use("write_file", map[string]any{"file_path": "a.txt", "content": "written\n"})),
				say("", use("shell", map[string]any{"command": "echo formatted >a.txt"})), say("Done."))
			s := onScreen(t, chatting(chatHome(t, url), "--yes", c.flag), 100, 40)
			s.expect(ready)
			s.send("/diff")
			s.expect(c.first)
			s.send("go")
			s.expect("3 turns")
			s.gone("working · ")
			before := strings.Count(s.all(), c.then)
			s.send("/diff")
			s.until("the diff with "+c.then, func() bool { return strings.Count(s.all(), c.then) > before })
			s.press("C-d")
			if code := s.ended(); code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// When what was recorded is gone, /diff says so.
func TestO4_DiffWithoutTheStore(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("write_file", map[string]any{"file_path": "a.txt", "content": "written\n"})),
		say("Done."))
	h := chatHome(t, url)
	h.run(0, "run", "--yes", "go")
	store := filepath.Join(h.home, ".local", "state", "attractor", "checkpoints")
	if _, err := os.Stat(store); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(store); err != nil {
		t.Fatal(err)
	}
	s := onScreen(t, chatting(h, "--continue"), 100, 40)
	s.expect(ready)
	s.send("/diff")
	s.expect("is not kept any more")
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
