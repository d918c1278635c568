package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A person's own command runs without a question and is told to the model with the next message.
// What a rule denies does not run, in no mode.
func TestX9_OwnCommand(t *testing.T) {
	t.Parallel()
	url, asked := gatedModel(t, 0, say("I see."), say("Once more."))
	h := chatHome(t, url)
	cmd := chatting(h, "--deny-tool", "Bash(rm:*)", "--mode", "plan")
	cmd.Env = append(cmd.Env, "PRIVATE_TOKEN=hunter2hunter2hunter2")
	s := onScreen(t, cmd, 80, 40)
	s.expect(ready)
	if err := os.WriteFile(filepath.Join(h.dir, "key"), []byte("hunter2hunter2hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.send(`!echo made > new; printf 'one\ntwo\n'; cat key; exit 3`)
	s.expect("! exit code 3")
	s.expect("with your next message")
	if text := s.all(); !strings.Contains(text, "exit 3\none\ntwo\n[") || strings.Contains(text, "hunter2") {
		t.Errorf("the screen is\n%s", text)
	}
	s.send("!rm new")
	s.expect("a rule denies it")
	if _, err := os.Stat(filepath.Join(h.dir, "new")); err != nil {
		t.Error(err)
	}
	s.send("!")
	s.expect("! needs a command")
	s.press("C-u")
	s.send("what was that?")
	first := <-asked
	got := lastUser(first)
	for _, want := range []string{"$ echo made > new; printf", "one\ntwo\n", "Exit code: 3", "what was that?"} {
		if !strings.Contains(got, want) {
			t.Errorf("the model gets %q, which lacks %q", got, want)
		}
	}
	if strings.Contains(got, "rm new") || strings.Contains(got, "hunter2") {
		t.Errorf("the model gets %q", got)
	}
	s.typeText("!ls")
	s.press("Enter")
	s.expect("waits until nothing runs")
	s.press("C-u")
	first.answer()
	s.expect("I see.")
	s.expect("1 turn")
	if text := s.all(); strings.Count(text, "one\ntwo\n") != 1 || strings.Contains(text, "The user ran") {
		t.Errorf("the screen has the output again:\n%s", text)
	}
	s.send("!cat > /dev/null; echo begun; sleep 600")
	s.expect("begun\n")
	s.press("C-c")
	s.expect("! interrupted")
	s.expect("Ctrl-C again ends the conversation")
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// What nobody has typed is no command of the shell: the message of the command line, and a paste,
// be it sent before the session has begun or after.
func TestX9_OwnCommandIsTyped(t *testing.T) {
	t.Parallel()
	url, asked := gatedModel(t, 0, say("One."), say("Two."), say("Three."))
	h := chatHome(t, url)
	s := onScreen(t, chatting(h, "!echo one >made"), 80, 40)
	sent := func(want, answer string) {
		t.Helper()
		var request held
		s.until("a request", func() bool {
			select {
			case request = <-asked:
				return true
			default:
				return false
			}
		})
		if got := lastUser(request); !strings.Contains(got, want) {
			t.Errorf("the model gets %q", got)
		}
		request.answer()
		s.expect(answer)
	}
	sent("!echo one >made", "One.")
	s.paste("!echo two >made")
	s.expect("> !echo two >made")
	s.press("Enter")
	sent("!echo two >made", "Two.")
	s.paste("!echo three >made\n" + strings.Repeat("a line\n", 20))
	s.expect("[pasted 21 lines]")
	s.press("Enter")
	sent("!echo three >made", "Three.")
	if made := h.made(); strings.Contains(made, "made") {
		t.Errorf("made %s", made)
	}
}

// In a read-only session a person's own command runs only if it reads.
func TestX9_OwnCommandReadOnly(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil)
	h := chatHome(t, url)
	s := onScreen(t, chatting(h, "--read-only"), 80, 24)
	s.expect(ready)
	s.send("!echo made > new")
	s.expect("this session is read-only: ")
	if made := h.made(); strings.Contains(made, "new") {
		t.Errorf("made %s", made)
	}
}

// /init has the model write AGENTS.md, which asks as any change does. The session is known by the
// command, not by the text that the model gets.
func TestX9_Init(t *testing.T) {
	t.Parallel()
	url, asked := gatedModel(t, 0, say("", use("write_file",
		map[string]any{"file_path": "AGENTS.md", "content": "# Guide\n"})), say("Written."))
	h := chatHome(t, url)
	s := onScreen(t, chatting(h), 80, 40)
	s.expect(ready)
	s.send("/init heed the tests")
	first := <-asked
	if got := lastUser(first); !strings.Contains(got, "/init heed the tests\n") ||
		!strings.Contains(got, "Write the file AGENTS.md") {
		t.Errorf("the model gets %q", got)
	}
	first.answer()
	s.expect("Allow it?")
	s.send("y")
	(<-asked).answer()
	s.expect("Written.")
	s.expect("2 turns")
	s.press("C-d")
	s.ended()
	if data, err := os.ReadFile(filepath.Join(h.dir, "AGENTS.md")); string(data) != "# Guide\n" {
		t.Errorf("the file is %q, %v", data, err)
	}
	if task := h.sessions()[0].Task; !strings.HasPrefix(task, "/init heed the tests") {
		t.Errorf("the session is called %q", task)
	}
}

// /status, /permissions and /context say what the session is, what it may, and what fills the
// window.
func TestX9_WhatHolds(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "ls"})), say("Done."))
	h := chatHome(t, url)
	h.own(servers(t, "s=plain"))
	cmd := chatting(h, "--deny-tool", "Bash(rm:*)", "--allow-tool", "Edit(./docs/**)")
	s := onScreen(t, cmd, 100, 60)
	s.expect(ready)
	s.send("/permissions")
	s.expect("the mode is ask: what does more than read is asked about")
	for _, want := range []string{"denied, in every mode\n  Bash(rm:*)                   --deny-tool",
		"allowed\n  Edit(./docs/**)              --allow-tool"} {
		s.expect(want)
	}
	s.send("list the files")
	s.expect("2 turns")
	s.send("/status")
	s.expect("MCP server   s: connected")
	for _, want := range []string{"session      " + h.sessions()[0].ID, "directory    " + h.dir,
		"model        anthropic/claude-sonnet-5-5", "mode         ask", "sandbox      off", "used         ", " · $0."} {
		if text := s.all(); !strings.Contains(text, want) {
			t.Errorf("the screen lacks %q:\n%s", want, text)
		}
	}
	s.send("/context")
	s.expect("  free ")
	text := s.all()
	for _, want := range []string{"system prompt ", "tools ", "tools of MCP servers ", "your messages ",
		"answers and calls ", "results of calls ", "together "} {
		if !strings.Contains(text, "\n  "+want) {
			t.Errorf("the screen lacks %q:\n%s", want, text)
		}
	}
}

// /export writes the session as Markdown or as a page, without secrets, and replaces no file that
// the person names.
func TestX9_Export(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("The answer is hunter2hunter2hunter2."))
	h := chatHome(t, url)
	if err := os.WriteFile(filepath.Join(h.dir, "mine"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := chatting(h)
	cmd.Env = append(cmd.Env, "PRIVATE_TOKEN=hunter2hunter2hunter2")
	s := onScreen(t, cmd, 100, 40)
	s.expect(ready)
	s.send("what is it?")
	s.expect("1 turn")
	s.send("/export")
	s.expect("the session is in " + h.dir + "/session-")
	s.send("/export page.html")
	s.expect(h.dir + "/page.html, without")
	s.send("/export mine")
	s.expect("mine exists; name another file")
	s.send("/export lost/page.html")
	s.expect("lost/page.html: no such file or directory")
	s.send("/export")
	s.until("the second file", func() bool { return strings.Count(s.all(), h.dir+"/session-") == 2 })
	name := "session-" + h.sessions()[0].ID[:8] + ".md"
	for file, want := range map[string]string{name: "what is it?", "page.html": "what is it?", "mine": "mine"} {
		text := h.content(file)
		if !strings.Contains(text, want) || strings.Contains(text, "hunter2") {
			t.Errorf("%s is %q", file, text)
		}
	}
	name, mine := filepath.Join(h.dir, name), filepath.Join(h.dir, "mine")
	if err := errors.Join(os.Remove(name), os.Symlink(mine, name)); err != nil {
		t.Fatal(err)
	}
	s.send("/export")
	s.expect("md leads through a symbolic link")
	if text := h.content("mine"); text != "mine" {
		t.Errorf("through a link was written %q", text)
	}
	away := t.TempDir()
	if err := os.Symlink(away, filepath.Join(h.dir, "out")); err != nil {
		t.Fatal(err)
	}
	s.send("/export out/page.html")
	s.expect("page.html leads through a symbolic link")
	if list, err := os.ReadDir(away); err != nil || len(list) > 0 {
		t.Errorf("made %v, %v", list, err)
	}
}

// A session that a conversation has open and that rests is not shown as one that works. While it
// works, Escape says what interrupts it.
func TestX9_OpenAtRest(t *testing.T) {
	t.Parallel()
	url, asked := gatedModel(t, 0, say("I see."))
	h := chatHome(t, url)
	s := onScreen(t, chatting(h), 80, 40)
	s.expect(ready)
	s.send("go")
	first := <-asked
	s.press("Escape")
	s.expect("Ctrl-C interrupts what runs")
	id := h.sessions()[0].ID
	if out := h.run(0, "sessions", "show", id).stdout; !strings.Contains(out, "running in process ") {
		t.Errorf("while it works: %s", out)
	}
	first.answer()
	s.expect("1 turn")
	if out := h.run(0, "sessions", "show", id).stdout; !strings.Contains(out, "at rest in process ") {
		t.Errorf("at rest: %s", out)
	}
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
