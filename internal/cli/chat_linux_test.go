package cli

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// chatHome returns a home with a directory whose name has always the same length.
func chatHome(t *testing.T, url string) *home {
	t.Helper()
	h := newHome(t, url)
	h.dir = shortTemp(t)
	return h
}

// chatting returns a chat with the model of a home.
func chatting(h *home, args ...string) *exec.Cmd {
	cmd := attractorCommand(h.T, append([]string{"chat"}, args...)...)
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "TERM=xterm", "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home,
		"ANTHROPIC_API_KEY=key-of-a-test", "ANTHROPIC_BASE_URL="+h.url)
	return cmd
}

// held is a request that waits for its answer.
type held struct {
	*fakellm.Request
	answer func()
}

// gatedModel serves a script. After so many requests, each waits until the test answers it.
func gatedModel(t *testing.T, from int, turns ...fakellm.Turn) (url string, asked <-chan held) {
	t.Helper()
	requests, ended := make(chan held, 100), make(chan struct{})
	script := fakellm.Script(turns...)
	web := httptest.NewServer(fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		if r.N > from {
			gate := make(chan struct{})
			requests <- held{r, func() { close(gate) }}
			select {
			case <-gate:
			case <-ended:
			}
		}
		return script(r)
	}, fakellm.Options{}))
	t.Cleanup(func() { close(ended); web.Close() })
	return web.URL, requests
}

// lastUser returns the texts of people and of the host since the model's last answer.
func lastUser(r held) string {
	var texts []string
	for _, m := range r.Messages {
		switch m.Role {
		case llm.RoleAssistant:
			texts = nil
		default:
			texts = append(texts, m.Parts.Text())
		}
	}
	return strings.Join(texts, "\n")
}

// ready is on the screen when a conversation has begun.
const ready = "/help"

// A conversation as a person sees it, at two sizes: an answer, calls, a question with its answer,
// and the end, which says how to go on.
func TestN3_Conversation(t *testing.T) {
	for name, size := range map[string][2]int{"80x24": {80, 24}, "200x50": {200, 50}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := serve(t, nil, say("I read the file.", use("read_file", map[string]any{"file_path": "a.txt"})),
				say("Now I change it.", use("edit_file", map[string]any{"file_path": "a.txt", "old_string": "hello",
					"new_string": "hello world"})),
				say("The file greets the **world** now, as `a.txt` shows:\n\n- one\n- two\n"))
			h := chatHome(t, url)
			if err := os.WriteFile(filepath.Join(h.dir, "a.txt"), []byte("hello\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			s := onScreen(t, chatting(h), size[0], size[1])
			s.expect(ready)
			s.send("greet the world")
			s.expect("Allow it?")
			s.golden("question-"+name, h)
			s.send("y")
			s.expect("3 turns")
			s.expect("> ")
			s.golden("conversation-"+name, h)
			s.press("C-d")
			if code := s.ended(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			sessions := h.sessions()
			if len(sessions) != 1 || !strings.Contains(s.all(), "attractor chat --resume "+sessions[0].ID[:8]) {
				t.Errorf("the sessions are %v, and the end of the screen is\n%s", sessions, s.text())
			}
			if data, err := os.ReadFile(filepath.Join(h.dir, "a.txt")); err != nil || string(data) != "hello world\n" {
				t.Errorf("the file is %q, %v", data, err)
			}
		})
	}
}

// What is sent while the agent works reaches the model before its next step.
func TestN3_Steering(t *testing.T) {
	t.Parallel()
	url, asked := gatedModel(t, 0, say("", use("shell", map[string]any{"command": "ls"})), say("Done."), say("More."))
	h := chatHome(t, url)
	s := onScreen(t, chatting(h), 80, 24)
	s.expect(ready)
	s.send("look around")
	first := <-asked
	s.send("only in this directory")
	s.expect("before its next step")
	first.answer()
	second := <-asked
	if got := lastUser(second); !strings.Contains(got, "only in this directory") {
		t.Errorf("the model gets %q", got)
	}
	second.answer()
	s.expect("Done.")
	s.expect("2 turns")
	s.send("and now")
	third := <-asked
	if got := lastUser(third); !strings.Contains(got, "and now") || strings.Contains(got, "only in") {
		t.Errorf("the model gets %q", got)
	}
	third.answer()
	s.expect("More.")
}

// A conversation goes on after a call of the model has failed for good: a person mends what is
// wrong, and writes again.
func TestN3_FailedCall(t *testing.T) {
	t.Parallel()
	url, server := serve(t, map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: 401}}, say("Here I am."))
	s := onScreen(t, chatting(chatHome(t, url)), 80, 24)
	s.expect(ready)
	s.send("are you there")
	s.expect("Check the API key")
	s.send("and now")
	s.expect("Here I am.")
	if got := server.Requests(); len(got) != 2 {
		t.Errorf("%d requests", len(got))
	}
}

// Ctrl-C at every point interrupts what runs, and twice in a row ends the conversation, in order:
// the session can be resumed and nothing is left running.
func TestN3_CtrlC(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		turns []fakellm.Turn
		reach func(s *screen, asked <-chan held)
		once  string // what the screen shows after the first
	}{
		"empty": {nil, func(*screen, <-chan held) {}, "Ctrl-C again"},
		"text":  {nil, func(s *screen, _ <-chan held) { s.typeText("half a thought") }, "Ctrl-C again"},
		"thinking": {[]fakellm.Turn{say("x")}, func(s *screen, asked <-chan held) { s.send("go"); <-asked },
			"interrupted · "},
		"command": {[]fakellm.Turn{say("", use("shell", map[string]any{"command": "echo $$ > pid; sleep 600"}))},
			func(s *screen, asked <-chan held) {
				s.send("go")
				(<-asked).answer()
				s.expect("Allow it?")
				s.send("y")
				s.expect("⠋")
				s.expect("sleep 600 ·")
			}, "interrupted · "},
		"question": {[]fakellm.Turn{say("", touch("a"))}, func(s *screen, asked <-chan held) {
			s.send("go")
			(<-asked).answer()
			s.expect("Allow it?")
		}, "interrupted · "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, asked := gatedModel(t, 0, c.turns...)
			h := chatHome(t, url)
			s := onScreen(t, chatting(h), 80, 24)
			s.expect(ready)
			c.reach(s, asked)
			s.press("C-c")
			s.expect(c.once)
			s.gone("half a thought")
			s.press("C-c")
			if code := s.ended(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			sessions := h.sessions()
			if len(c.turns) == 0 {
				if len(sessions) != 0 {
					t.Errorf("a conversation without a message leaves %v", sessions)
				}
				return
			}
			if len(sessions) != 1 || !strings.Contains(s.all(), "--resume "+sessions[0].ID[:8]) {
				t.Errorf("sessions %v", sessions)
			}
			if made := h.made(); strings.Contains(made, "a") {
				t.Errorf("made %s", made)
			}
		})
	}
}

// While a server that is needed starts, Ctrl-C ends the wait, and with it the conversation.
func TestN3_CtrlCWhileStarting(t *testing.T) {
	t.Parallel()
	h := chatHome(t, unusedURL)
	config := filepath.Join(h.home, "servers.json")
	if err := os.WriteFile(config,
		[]byte(`{"mcpServers": {"slow": {"command": "sleep", "args": ["600"], "required": true}}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	s := onScreen(t, chatting(h, "--mcp", config), 80, 24)
	s.expect("starting · ")
	s.press("C-c")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if sessions := h.sessions(); len(sessions) != 0 {
		t.Errorf("sessions %v", sessions)
	}
}

// A server that takes longer than the session takes to begin has its tools in the conversation.
func TestM2_SlowServerInChat(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("Hello."))
	h := chatHome(t, url)
	config := filepath.Join(h.home, "servers.json")
	slow := strings.Replace(servers(t, `slow=lab,"cwd": "."`), `"command": "`,
		`"command": "sh", "args": ["-c", "sleep 1; exec \"$0\"", "`, 1)
	slow = strings.Replace(slow, `", "env"`, `"], "env"`, 1)
	if err := os.WriteFile(config, []byte(slow), 0o600); err != nil {
		t.Fatal(err)
	}
	s := onScreen(t, chatting(h, "--mcp", config), 80, 24)
	s.expect(ready)
	asked := 0
	s.until("the server", func() bool {
		text := s.all()
		if strings.Contains(text, "could not be started") {
			t.Fatal(text)
		}
		if strings.Count(text, "slow: ") == asked { // the last question is answered
			s.send("/mcp")
			asked++
		}
		return strings.Contains(text, "slow: connected")
	})
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Ctrl-C ends a compaction, which comes with the next message then.
func TestN3_CtrlCWhileCompacting(t *testing.T) {
	t.Parallel()
	turns := make([]fakellm.Turn, 12)
	for i := range turns {
		turns[i] = say("Answer.")
	}
	url, asked := gatedModel(t, 9, turns...)
	h := chatHome(t, url)
	s := onScreen(t, chatting(h), 80, 24)
	s.expect(ready)
	for i := range 9 {
		s.send("go on")
		s.until("the answer", func() bool { return strings.Count(s.all(), "done · ") == i+1 })
	}
	s.gone("working · ")
	s.send("/compact")
	s.expect("compacting · ")
	unheard := <-asked
	s.press("C-c")
	s.expect("compacted with the next message")
	unheard.answer()
	s.send("/compact")
	(<-asked).answer()
	s.expect("compacted: a summary replaces ")
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// On a terminal the command alone is a conversation, and so are flags and a task without a command.
// A conversation that goes on with another model says so.
func TestN3_Alone(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("Hello."))
	h := chatHome(t, url)
	for _, c := range []struct {
		args  []string
		shows string
	}{
		{nil, ready},
		{[]string{"--continue"}, "resumed, with 2 turns\n"},
		{[]string{"--continue", "--model", "claude-haiku-4-5"},
			"resumed, with 2 turns; claude-haiku-4-5 answers from now on\n"},
		{[]string{"--mode", "plan", "greet me"}, "Hello."},
		{[]string{"greet me", "--mode", "plan"}, "Hello."},
		{[]string{"--version"}, "attractor "},
	} {
		cmd := chatting(h)
		cmd.Args = append(cmd.Args[:1], c.args...)
		s := onScreen(t, cmd, 80, 24)
		s.expect(c.shows)
		if len(c.args) == 0 {
			s.send("hello")
			s.expect("Hello.")
		}
		if slices.Contains(c.args, "--version") {
			continue // it has ended
		}
		s.press("C-d")
		if code := s.ended(); code != 0 {
			t.Errorf("%q: exit code %d", c.args, code)
		}
	}
}

// What was pasted, or came with the command line, does not change what the agent may do.
func TestX9_OnlyTypedModes(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil)
	h := chatHome(t, url)
	const refused = "so it has to be typed"
	s := onScreen(t, chatting(h, "/mode full"), 100, 24)
	s.expect(refused)
	s.press("C-u")
	s.paste("/mode full\n")
	s.expect("> /mode full")
	s.press("Enter")
	s.expect(refused)
	s.press("C-u")
	s.send("/mode")
	s.expect("the mode is ask")
	s.send("/mode plan")
	s.expect("the mode is plan")
}

// SIGTERM and SIGHUP end a conversation in order while a command runs.
func TestN3_Signals(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "sleep 600"})))
			h := chatHome(t, url)
			s := onScreen(t, chatting(h, "--yes"), 80, 24)
			s.expect(ready)
			s.send("go")
			s.expect("sleep 600 ·")
			if err := syscall.Kill(s.pid, sig); err != nil {
				t.Fatal(err)
			}
			if code := s.ended(); code != 128+int(sig) {
				t.Errorf("exit code %d", code)
			}
			out := h.run(0, "sessions", "show", h.sessions()[0].ID).stdout
			if !strings.Contains(out, "aborted") && !strings.Contains(out, "interrupted") {
				t.Errorf("the session is\n%s", out)
			}
		})
	}
}

// A terminal that goes away ends a conversation in order, although both the end of the input and
// SIGHUP tell of it.
func TestN3_ClosedTerminal(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "sleep 600"})))
	h := chatHome(t, url)
	p := startOnTerminal(t, chatting(h, "--yes"))
	p.expect("/help")
	p.write("go\r")
	p.expect("sleep 600")
	if err := p.ours.Close(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // with the code of the signal
	out := h.run(0, "sessions", "show", h.sessions()[0].ID).stdout
	if !strings.Contains(out, "aborted") && !strings.Contains(out, "interrupted") {
		t.Errorf("the session is\n%s", out)
	}
}

// A session that was killed goes on in a new process, with what it has done: by itself, or with a
// message that the command line gives.
func TestN3_KilledAndResumed(t *testing.T) {
	t.Parallel()
	for name, prompt := range map[string][]string{"by itself": nil, "with a message": {"go on"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, asked := gatedModel(t, 1, say("", touch("a")), say("Here I am again."))
			h := chatHome(t, url)
			s := onScreen(t, chatting(h, "--yes"), 80, 24)
			s.expect(ready)
			s.send("make a")
			<-asked // the file is made
			s.killed()
			s = onScreen(t, chatting(h, append([]string{"--continue"}, prompt...)...), 80, 24)
			s.expect("> make a")
			second := <-asked
			if got := lastUser(second); got != strings.Join(prompt, "") && !strings.HasSuffix(got, "go on") {
				t.Errorf("the model gets %q", got)
			}
			if got, want := strings.Contains(s.all(), "The last message is not done yet."), prompt == nil; got != want {
				t.Errorf("it says that it goes on: %v, want %v", got, want)
			}
			second.answer()
			s.expect("Here I am again.")
			if h.made() != "a" {
				t.Errorf("made %q", h.made())
			}
		})
	}
}

// A pasted page is one line of the input, and reaches the model whole.
func TestN3_PastedPage(t *testing.T) {
	t.Parallel()
	url, asked := gatedModel(t, 0, say("Read."))
	h := chatHome(t, url)
	s := onScreen(t, chatting(h), 80, 24)
	s.expect(ready)
	s.typeText("see ")
	page := strings.Repeat("a line of the page\n", 119) + "the last 世界 👍🏽 e\u0301"
	s.paste(page)
	s.expect("> see [pasted 120 lines]")
	s.golden("paste", h)
	s.press("Enter")
	request := <-asked
	if got := lastUser(request); !strings.Contains(got, "see "+page) {
		t.Errorf("the model gets %q", got)
	}
	request.answer()
	s.expect("Read.")
}

// Wide and combining characters wrap whole, and a resize in the middle of an answer leaves every
// line once.
func TestN3_ResizeWhileStreaming(t *testing.T) {
	t.Parallel()
	url, asked := gatedModel(t, 0, say("", touch("a")), say("Every line is here once."))
	h := chatHome(t, url)
	s := onScreen(t, chatting(h, "--yes"), 80, 24)
	s.expect(ready)
	s.do("send-keys", "-l", "世界 👍🏽 "+strings.Repeat("wide 世 ", 12)+"end")
	s.expect("end")
	s.press("Enter")
	first := <-asked
	s.do("send-keys", "-l", "typed meanwhile "+strings.Repeat("x", 70)+"end")
	s.expect("xend")
	for _, width := range []int{60, 33, 120, 47, 80} {
		s.resize(width, 24)
		s.press("y") // a key, so that the screen is drawn at this width
	}
	s.expect("xendyyyyy")
	first.answer()
	second := <-asked
	s.expect("✓ shell")
	second.answer()
	s.expect("Every line is here once.")
	s.expect("2 turns")
	for _, once := range []string{"Every line is here once.", "xendyyyyy", ready, "✓ shell"} {
		if n := strings.Count(s.all(), once); n != 1 {
			t.Errorf("%q is there %d times:\n%s", once, n, s.all())
		}
	}
}

// Ctrl-Z stops the conversation as it stops any program, with the terminal as it was, and fg goes
// on.
func TestN3_Suspend(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("Here."))
	h := chatHome(t, url)
	chat := chatting(h)
	shell := exec.Command(peer.Need(t, "bash"), "--norc", "-i")
	shell.Dir = h.dir
	shell.Env = append(chat.Env, "PS1=shell$ ", "CHAT="+strings.Join(chat.Args, " "))
	s := onScreen(t, shell, 80, 24)
	s.expect("shell$")
	s.send("$CHAT")
	s.expect(ready)
	s.typeText("half a thought")
	s.press("C-z")
	s.expect("Stopped")
	s.gone("half a thought")
	s.send("echo back in the $((1+1))nd shell")
	s.expect("back in the 2nd shell")
	s.send("fg")
	s.expect("> half a thought")
	s.press("Enter")
	s.expect("Here.")
	s.press("C-d")
	s.expect("To continue the session")
	s.send("exit")
	s.ended()
}

// What was typed before a question appears is no answer to it, and is there again after it.
func TestN3_TypedBeforeTheQuestion(t *testing.T) {
	t.Parallel()
	url, asked := gatedModel(t, 0, say("", touch("a"), touch("b")), say("Done."))
	h := chatHome(t, url)
	s := onScreen(t, chatting(h), 80, 24)
	s.expect(ready)
	s.send("make them")
	request := <-asked
	s.typeText("y")
	request.answer()
	s.expect("echo > a")
	s.expect("Allow it?")
	s.press("Enter") // of what was typed before
	s.expect("Please type one of the letters")
	s.send("n not this one")
	s.expect("echo > b")
	s.send("e")
	s.expect("Change it: ")
	s.press("C-u")
	s.send("echo > changed")
	s.expect("Asked because it changes " + h.dir + "/changed")
	s.send("y")
	(<-asked).answer()
	s.expect("Done.")
	s.expect("> y") // the draft
	if h.made() != "changed" {
		t.Errorf("made %q", h.made())
	}
}

// The rest of a paste that began before the question is no answer to it, and so is what was pasted
// before the program read it.
func TestN3_PastedAroundTheQuestion(t *testing.T) {
	t.Parallel()
	url, asked := gatedModel(t, 0, say("", touch("a")))
	h := chatHome(t, url)
	p := startOnTerminal(t, chatting(h))
	p.expect("/help")
	p.write("make it\r")
	request := <-asked
	p.write("\x1b[200~pasted\r")
	request.answer()
	p.expect("Allow it? ")
	p.write("y\ry\r\x1b[201~")
	p.write("\x03") // the paste may be in the line of the answer, if it was read after the question
	p.expect("interrupted")
	p.write("\x03")
	shown, _ := p.wait()
	if h.made() != "" || strings.Contains(shown, "Allow it? y") {
		t.Errorf("made %q; the screen:\n%q", h.made(), shown)
	}
}

// A question that is closed by an interrupt takes no answer, and the next one is asked anew.
func TestN3_ClosedQuestion(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", touch("a")), say("", touch("b")), say("Done."))
	h := chatHome(t, url)
	s := onScreen(t, chatting(h), 80, 24)
	s.expect(ready)
	s.send("make a")
	s.expect("echo > a")
	s.expect("Allow it?")
	s.typeText("y")
	s.press("C-c")
	s.expect("interrupted · ")
	s.send("make b")
	s.expect("echo > b")
	s.expect("a  yes, and in this session always")
	s.send("y")
	s.expect("Done.")
	if h.made() != "b" {
		t.Errorf("made %q", h.made())
	}
}

// The conversation's own commands, and what is almost one.
func TestN3_Commands(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil,
		say("", use("write_file", map[string]any{"file_path": "new.txt", "content": "one\ntwo\n"})), say("Written."),
		say("Again."))
	h := chatHome(t, url)
	if err := os.MkdirAll(filepath.Join(h.home, ".claude", "commands"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.home, ".claude", "commands", "greet.md"), []byte("Greet $ARGUMENTS warmly."),
		0o600); err != nil {
		t.Fatal(err)
	}
	s := onScreen(t, chatting(h), 100, 40)
	s.expect(ready)
	s.send("/help")
	s.expect("Alt-Enter")
	s.golden("help", h)
	s.send("/mode accept-edits")
	s.expect("the mode is accept-edits")
	s.expect("accept-edits · claude")
	s.send("/effort high")
	s.expect("the effort is high")
	s.send("/model nothing-like-it")
	s.expect("the model is anthropic/nothing-like-it")
	s.send("write it")
	s.expect("Written.")
	s.expect("2 turns")
	if model := server.Requests()[0].Model; model != "nothing-like-it" {
		t.Errorf("the model is %s", model)
	}
	s.send("/diff")
	s.expect("+++ b/new.txt")
	s.expect("+one")
	s.send("/cost")
	s.expect("anthropic/nothing-like-it: ")
	s.send("/hlep")
	s.expect("did you mean /help?")
	s.press("C-c")
	s.send("/gr")
	s.expect("there is no /gr")
	s.press("Tab")
	s.expect("> /greet")
	s.send("the world")
	s.expect("Again.")
	if got := server.Requests()[2].Messages; !strings.Contains(got[len(got)-1].Parts.Text(),
		"Greet the world warmly.") {
		t.Errorf("the model gets %q", got[len(got)-1].Parts.Text())
	}
	s.press("BTab")
	s.expect("the mode is plan")
	s.press("Up", "Up", "Up")
	s.expect("> /gr")
	s.press("C-u")
	s.typeText("@ne")
	s.press("Tab")
	s.expect("> @new.txt")
}

// A conversation tells what the parts of its prompt have cost, those of the resumed session too.
func TestV6_CostOfAConversation(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("read_file", map[string]any{"file_path": "a.txt"})), say("The first answer."),
		say("The second answer."))
	h := chatHome(t, url)
	if err := os.WriteFile(filepath.Join(h.dir, "a.txt"), []byte("some text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := onScreen(t, chatting(h), 100, 40)
	s.expect(ready)
	s.send("the first task")
	s.expect("The first answer.")
	s.send("/cost")
	s.expect("the dearest parts of the prompt:")
	s.expect("the built-in tools (2 requests)")
	s.expect("the result of read_file in turn 3: a.txt (1 request)")
	s.press("C-c")
	s.press("C-c")
	s.ended()
	s = onScreen(t, chatting(h, "--continue"), 100, 40)
	s.expect(ready)
	s.send("go on")
	s.expect("The second answer.")
	s.send("/cost")
	s.expect("the built-in tools (3 requests)")
	s.expect("the result of read_file in turn 3: a.txt (2 requests)")
}

// A conversation changes between sessions: to a new one, back to the first, and to a copy of that.
func TestN3_Sessions(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("The first answer."), say("The second answer."), say("The third answer."))
	h := chatHome(t, url)
	s := onScreen(t, chatting(h), 80, 24)
	s.expect(ready)
	s.send("the first task")
	s.expect("The first answer.")
	s.expect("1 turn")
	s.gone("working · ") // until then no command changes the session
	first := h.sessions()[0].ID
	s.send("/clear")
	s.until("another session", func() bool { return strings.Count(s.all(), "claude-sonnet-5-5 · "+h.dir) == 2 })
	s.send("another task")
	s.until("the second session's answer", func() bool {
		return strings.Count(s.all(), "The first answer.") == 2 && strings.Count(s.all(), "done · ") == 2
	})
	s.gone("working · ")
	s.send("/resume")
	s.expect("/resume ID goes on")
	s.send("/resume " + first[:8])
	s.expect("resumed, with 2 turns")
	s.send("more")
	s.expect("The second answer.")
	s.until("the end of the turn", func() bool { return strings.Count(s.all(), "done · ") == 3 })
	s.gone("working · ")
	s.send("/fork @2")
	s.until("the fork", func() bool { return strings.Count(s.all(), "resumed, with 2 turns") == 2 })
	s.send("otherwise")
	s.until("its answer", func() bool {
		return strings.Count(s.all(), "The second answer.") >= 2 && strings.Count(s.all(), "done · ") == 4
	})
	s.send("/resume")
	s.expect("(fork of " + first[:8] + ") the first task (open)")
	s.send("/resume 0000")
	s.expect(`there is no session "0000"`)
	s.send("quit")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := len(h.sessions()); got != 3 {
		t.Errorf("%d sessions", got)
	}
	// Another host goes on with the first, and the conversation after that.
	h.run(0, "run", "--yes", "--resume", first, "in run")
	s = onScreen(t, chatting(h, "--resume", first), 80, 24)
	s.expect("> in run")
	s.expect("The third answer.")
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := len(server.Requests()[2].Messages); got != 3 { // the first task, its answer, more
		t.Errorf("the resumed session has %d messages", got)
	}
}

// Without colours there are none, on a dumb terminal and for screen readers nothing is drawn again
// and no escape sequence is sent.
func TestN3_PlainTerminals(t *testing.T) {
	for name, c := range map[string]struct {
		variable string
		plain    bool
	}{"NO_COLOR": {"NO_COLOR=1", false}, "dumb": {"TERM=dumb", true}, "unknown": {"TERM=", true},
		"accessible": {"ATTRACTOR_ACCESSIBLE=1", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, server := serve(t, nil, say("", touch("a")), say("It is **made**."), say("Still there."))
			h := chatHome(t, url)
			cmd := chatting(h)
			cmd.Env = append(cmd.Env, "TERM=xterm", c.variable)
			p := startOnTerminal(t, cmd)
			enter := "\r"
			if c.plain {
				enter = "\n"
			}
			p.expect("> ")
			p.write("make a" + enter)
			p.expect("Allow it? ")
			p.write("y" + enter)
			p.expect("2 turns")
			p.expect("> ")
			if c.plain { // what is refused is not put in front of the next line
				p.write("/undoo" + enter)
				p.expect("did you mean /undo?")
			}
			text := "and now?"
			if c.plain { // keys that would draw, stop or complete, as the terminal passes them on
				text = "\x0c\x16\x1a\t" + text
			}
			if err := p.cmd.Process.Signal(syscall.SIGWINCH); err != nil {
				t.Fatal(err)
			}
			p.write(text + enter)
			p.expect("Still there.")
			p.expect("1 turn")
			p.expect("> ")
			p.write("\x04")
			shown, code := p.wait()
			if code != 0 || h.made() != "a" {
				t.Errorf("exit code %d, made %q", code, h.made())
			}
			if strings.Contains(shown, "\x1b[3") || strings.Contains(shown, "\x1b[1m") ||
				strings.Contains(shown, "\x1b[2m") || strings.Contains(shown, `\u{1b}`) {
				t.Errorf("there are colours:\n%q", shown)
			}
			if requests := server.Requests(); strings.Contains(fmt.Sprint(requests[len(requests)-1].Messages),
				"/undoo") {
				t.Error("a command that does not exist was sent")
			}
			if c.plain && (strings.Count(shown, "make a") != 1 || strings.Count(shown, "Allow it? ") != 1) {
				t.Errorf("what the terminal shows is shown again:\n%q", shown)
			}
			if c.plain && strings.ContainsAny(shown, "\x1b⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏\a") {
				t.Errorf("something is drawn:\n%q", shown)
			}
			if strings.Contains(shown, "\x1b[6n") || strings.Contains(shown, "$p") ||
				strings.Contains(shown, "\x1b[c") {
				t.Errorf("the terminal is queried:\n%q", shown)
			}
		})
	}
}

// Text of the model, of commands and of files does not act on the terminal.
func TestN3_HostileText(t *testing.T) {
	t.Parallel()
	hostile := strings.Join(hostileTexts(t), "\n\n")
	url, _ := serve(t, nil, say(hostile,
		use("shell", map[string]any{"command": "echo > a \x1b[2J\x1b]0;owned\a # " + hostile[:200]})),
		say("Done with it."))
	h := chatHome(t, url)
	p := startOnTerminal(t, chatting(h))
	p.expect("> ")
	p.write("go \x1b]0;typed\a\r")
	p.expect("Allow it? ")
	p.write("n\r")
	p.expect("Done with it.")
	p.expect("turns")
	p.write("\x04")
	shown, _ := p.wait()
	rest := shown
	for _, ours := range []string{"\x1b[?2026h", "\x1b[?2026l", "\x1b[?25h", "\x1b[?25l", "\x1b[?2004h", "\x1b[?2004l",
		"\x1b[?7l", "\x1b[?7h", "\x1b[2K", "\x1b7", "\x1b8", "\x1b[B", "\x1b[J",
		"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[3m", "\x1b[4m", "\x1b[9m", "\x1b[31m", "\x1b[32m", "\x1b[33m",
		"\x1b[36m"} {
		rest = strings.ReplaceAll(rest, ours, "")
	}
	rest = regexp.MustCompile(`\x1b\[\d+[AC]`).ReplaceAllString(rest, "")
	if at := strings.IndexAny(rest, "\x1b\u009b\u202e\u200b"); at >= 0 {
		t.Errorf("something acts on the terminal: %q", rest[at:min(len(rest), at+80)])
	}
}

// In a long line of an answer, and while a command prints a lot, keys are still taken.
func TestN3_FloodAndKeys(t *testing.T) {
	t.Parallel()
	url, asked := gatedModel(t, 1, say(strings.Repeat("flood ", 1<<16)+"\n",
		use("shell", map[string]any{"command": "yes flood | head -c 2000000"})), say("After the flood."))
	h := chatHome(t, url)
	s := onScreen(t, chatting(h, "--yes"), 80, 24)
	s.expect(ready)
	s.send("go")
	s.press("s", "t", "i", "l", "l")
	s.until("the typed text", func() bool { return strings.Contains(s.text(), "> still") })
	(<-asked).answer()
	s.until("the answer after it", func() bool { return strings.Contains(s.text(), "After the flood.") })
	s.until("the typed text", func() bool { return strings.Contains(s.text(), "> still") })
}

// A failed model call says in a conversation what to do, as attractor run does.
func TestJ11_ConversationsSayWhatToDo(t *testing.T) {
	t.Parallel()
	h := chatHome(t, "http://127.0.0.1:1")
	s := onScreen(t, chatting(h, "--provider", "ollama", "--model", "m", "--base-url", h.url), 100, 30)
	s.expect(ready)
	s.send("hello")
	s.expect("Start the server (ollama serve), or check its address (OLLAMA_HOST or --base-url).\n" +
		"What you write next goes on from here.")
}

// What is written to a session that has ended is answered with why, and with how to go on.
func TestN3_WritingToAnEndedSession(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say(strings.Repeat("A long answer. ", 4000)))
	s := onScreen(t, chatting(chatHome(t, url), "--max-journal", "65536"), 100, 40)
	s.expect(ready)
	for n := range 2 {
		s.send("go")
		s.until("how to go on", func() bool { return strings.Count(s.all(), "opens it again, /clear begins") == n+1 })
		s.gone("working · ")
	}
	if n := strings.Count(s.all(), "journal"); n < 2 {
		t.Errorf("only %d times a reason:\n%s", n, s.all())
	}
	s.press("C-d")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A conversation ends in order, too, when another process has written to the session's journal.
func TestN3_TakenOver(t *testing.T) {
	t.Parallel()
	url, asked := gatedModel(t, 0, say("Hello."))
	h := chatHome(t, url)
	s := onScreen(t, chatting(h), 100, 40)
	s.expect(ready)
	s.send("hi")
	request := <-asked
	h.takeOver()
	request.answer()
	s.expect("opens it again, /clear begins")
	s.press("C-d")
	s.ended()
}
