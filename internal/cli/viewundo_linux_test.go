package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// told sends a line that must be accepted, and returns the text and the plan of its reply.
func (p *steered) told(line string) (text, plan string) {
	p.Helper()
	var reply struct {
		OK          bool
		Error, Text string
		Plan        string
	}
	_, answer := p.request(http.MethodPost, "do", line)
	if err := json.Unmarshal([]byte(answer), &reply); err != nil || !reply.OK {
		p.Fatalf("%s: %s", line, answer)
	}
	return reply.Text, reply.Plan
}

// hasAll checks that a text has others.
func hasAll(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
}

// content returns what a file has, or "none".
func (h *home) content(name string) string {
	h.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		return "none"
	}
	return string(data)
}

// The page of a session at rest shows what it has changed, without secrets, and an undo that has
// been confirmed takes that back but not what somebody else has changed. A plan is not carried out
// any more when the files have changed since. All who watch see the outcome, the model is told, and
// while an input runs the page is told to wait.
func TestO4_UndoInTheViewer(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-of-the-undo-1234567890"
	change := use("shell", map[string]any{"command": "echo two >a.txt; echo new $(cat pass) >b.txt; rm c.txt; rm pass"})
	url, asked := gatedModel(t, 2, say("", change), say("Done."), say("I see."))
	h := newHome(t, url)
	h.file("a.txt", "one\n")
	h.file("c.txt", "gone\n")
	h.file("pass", secret)
	h.file("odd\tname", "a name that sessions refuse to make\n")
	cmd := h.command("run", "--input", "json", "--view", "--yes")
	cmd.Env = append(cmd.Env, "DB_PASSWORD="+secret)
	file, err := os.Create(filepath.Join(h.home, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := startProgramTo(t, cmd, file)
	p.next("SESSION_START")
	said, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	page, other := openPage(t, string(said)), openPage(t, string(said))
	page.do(`{"type":"diff"}`, "the session has changed nothing that is recorded")
	page.do(`{"type":"undo"}`, "has changed nothing that could be taken back")
	page.do(`{"type":"redo"}`, "has no undo that could be taken back")
	p.say("user", map[string]any{"text": "go"})
	p.next("PROCESSING_END")
	page.watch()
	other.watch()

	diff, _ := page.told(`{"type":"diff"}`)
	hasAll(t, diff, "diff --git a/a.txt b/a.txt", "-one\n+two\n", "+new [secret DB_PASSWORD]")
	h.file("b.txt", "mine\n")
	text, plan := page.told(`{"type":"undo"}`)
	hasAll(t, text, "Put back: 1 path\n  a.txt", "Make again: 2 paths\n  c.txt\n  pass\n",
		"Left alone: 1 path\n  b.txt: changed by somebody else since")
	if diff+text != strings.ReplaceAll(diff+text, secret, "") {
		t.Error("the page gets the secret")
	}
	h.file("a.txt", "mine too\n")
	page.do(`{"type":"undo","plan":"`+plan+`"}`, "have changed since that plan")
	if a, c := h.content("a.txt"), h.content("c.txt"); a != "mine too\n" || c != "none" {
		t.Errorf("a stale plan was carried out: %q, %q", a, c)
	}
	h.file("a.txt", "two\n")
	h.file("other.txt", "none of the plan's\n")
	text, _ = page.told(`{"type":"undo","plan":"` + plan + `"}`)
	hasAll(t, text, "Taken back: 3 paths", "b.txt: changed by somebody else since", "A redo takes this back")
	if a, b, c := h.content("a.txt"), h.content("b.txt"), h.content("c.txt"); a != "one\n" || b != "mine\n" ||
		c != "gone\n" {
		t.Errorf("after the undo: %q, %q, %q", a, b, c)
	}
	for _, ev := range []gotEvent{page.live("UNDONE"), other.live("UNDONE"), p.next("UNDONE")} {
		hasAll(t, ev.Text, text)
	}
	text, _ = page.told(`{"type":"undo","plan":"` + plan + `"}`)
	hasAll(t, text, "There is nothing to put back")

	text, plan = other.told(`{"type":"redo"}`)
	hasAll(t, text, "the undo of", "Put back: 1 path\n  a.txt")
	other.told(`{"type":"redo","plan":"` + plan + `"}`)
	if a, c := h.content("a.txt"), h.content("c.txt"); a != "two\n" || c != "none" {
		t.Errorf("after the redo: %q, %q", a, c)
	}
	hasAll(t, page.live("UNDONE").raw, `"redo":true`, "An undo takes this back")
	page.do(`{"type":"undo","turn":99}`, "no turn 99")
	page.do(`{"type":"undo","turn":-1}`, "cannot be negative")
	p.say("undo", map[string]any{"turn": 0})
	p.reply(1, "")
	if reply := p.reply(2, ""); !strings.Contains(reply.Text, "after turn 0") || reply.Plan == "" {
		t.Errorf("the program gets %s", reply.raw)
	}

	p.say("user", map[string]any{"text": "and now?"})
	request := <-asked
	page.do(`{"type":"undo"}`, "an input is running: interrupt it or wait")
	page.told(`{"type":"diff"}`)
	hasAll(t, lastUser(request), "The user has taken back what was changed since input 1",
		"The user has taken back the undo of")
	request.answer()
	p.next("PROCESSING_END")
	p.close()
	p.end(0)
}

// If nothing is recorded, an undo and a diff say why.
func TestO4_NothingRecorded(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", touch("a")), say("Done."))
	p := newHome(t, url).converse("--yes", "--no-checkpoints")
	p.say("user", map[string]any{"text": "go"})
	p.next("PROCESSING_END")
	p.say("diff", nil)
	p.say("undo", nil)
	p.say("redo", nil)
	p.reply(1, "")
	for line := range int64(3) {
		p.reply(line+2, "without checkpoints (--no-checkpoints),")
	}
	p.close()
	p.end(0)
}

// The page of a conversation takes changes back while the terminal does nothing else, and the
// terminal shows what became of it. What is taken back at the terminal is seen on the page.
func TestO4_UndoInTheViewerOfAConversation(t *testing.T) {
	t.Parallel()
	url, asked := gatedModel(t, 2, say("", touch("made")), say("All made."), say("I see."))
	h := chatHome(t, url)
	s := onScreen(t, chatting(h, "--view", "--yes"), 160, 50)
	s.expect(ready)
	page := s.page()
	page.do(`{"type":"undo"}`, "nothing that could be taken back")
	s.send("make it")
	s.expect("All made.")
	s.gone("working · ")
	diff, _ := page.told(`{"type":"diff"}`)
	hasAll(t, diff, "new file mode 100644")
	_, plan := page.told(`{"type":"undo"}`)
	s.send("/undo")
	s.expect("Do this?")
	page.do(`{"type":"undo","plan":"`+plan+`"}`, "not yet: taking changes back")
	s.send("n")
	s.expect("Nothing was changed")
	text, _ := page.told(`{"type":"undo","plan":"` + plan + `"}`)
	s.expect("taking changes back (in the viewer)")
	s.expect("A redo takes this back")
	hasAll(t, page.live("UNDONE").Text, text)
	if h.content("made") != "none" {
		t.Error("the file is still there")
	}
	s.send("/redo")
	s.expect("the undo of")
	s.send("y")
	hasAll(t, page.live("UNDONE").raw, `"redo":true`)
	s.expect("An undo takes this back")
	s.gone("taking changes back · ")
	s.send("and now?")
	request := <-asked
	page.do(`{"type":"redo"}`, "an input is running")
	hasAll(t, lastUser(request), "The user has taken back")
	request.answer()
	s.expect("I see.")
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
