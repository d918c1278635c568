package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// travel is a session that goes from host to host. Its model is one of OpenAI's, whose tools
// include a todo list.
type travel struct {
	*home
	server *fakellm.Server
	other  string // the further directory
	sleep  string // the command line of what runs when a host is killed
	held   chan func()
	id     string
}

// newTravel returns a session's home. The answers to requests after n answers wait for the test.
func newTravel(t *testing.T, n int, turns func(v *travel) []fakellm.Turn) *travel {
	t.Helper()
	v := &travel{home: chatHome(t, ""), other: shortTemp(t), sleep: newSleep(t), held: make(chan func(), 8)}
	script, ended := fakellm.Script(turns(v)...), make(chan struct{})
	v.server = fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		if r.Turn() == n {
			gate := make(chan struct{})
			v.held <- func() { close(gate) }
			select {
			case <-gate:
			case <-ended:
			}
		}
		return script(r)
	}, fakellm.Options{})
	web := httptest.NewServer(v.server)
	t.Cleanup(func() { close(ended); web.Close() })
	v.url = web.URL
	putSkill(t, filepath.Join(v.home.home, ".agents/skills/style"),
		"---\nname: style\ndescription: The style of this house\n---\nWrite short lines.\n")
	v.file("shot.png", llmtest.PNG)
	return v
}

// command returns the command with the keys of the model's vendor only.
func (v *travel) command(args ...string) *exec.Cmd {
	cmd := attractorCommand(v.T, args...)
	cmd.Dir = v.dir
	cmd.Env = append(cmd.Env, v.vars()...)
	return cmd
}

func (v *travel) vars() []string {
	return []string{"HOME=" + v.home.home, "XDG_RUNTIME_DIR=" + v.home.home, "OPENAI_API_KEY=key-of-a-test",
		"OPENAI_BASE_URL=" + v.url + "/v1"}
}

// run runs the command to its end.
func (v *travel) run(code int, args ...string) output {
	v.Helper()
	out := runCommand(v.T, v.command(args...))
	if out.code != code {
		v.Fatalf("%v: exit code %d, want %d\n%s\n%s", args, out.code, code, out.stdout, out.stderr)
	}
	return out
}

// busy returns a command that notes who ran it, says so to a FIFO, and goes on until it is killed.
func (v *travel) busy(who string) fakellm.Call {
	return use("shell", object{"command": "echo " + who + " >> log; echo runs > " + v.fifo(who) + "; " + v.sleep})
}

// runs waits until the command of a host runs.
func (v *travel) runs(who string) {
	v.Helper()
	if data, err := os.ReadFile(filepath.Join(v.dir, who)); err != nil || string(data) != "runs\n" {
		v.Fatalf("%q, %v", data, err)
	}
}

// gone waits until nothing of a killed host's command runs any more, which the next host ends if
// the kernel has not.
func (v *travel) gone() {
	v.Helper()
	(&busyCommand{sleep: v.sleep}).waitGone(v.T)
}

// wire is a request as the vendor gets it.
type wire struct {
	Instructions string
	Tools        json.RawMessage
	Input        []json.RawMessage
}

// checkPrefixes checks that each request begins as the one before it, byte by byte, so that the
// vendor's cache keeps hitting, and that the model was told no other tools and no other system
// prompt.
func (v *travel) checkPrefixes() {
	v.Helper()
	var before wire
	for i, r := range v.server.Requests() {
		var now wire
		if err := json.Unmarshal(r.Body, &now); err != nil {
			v.Fatal(err)
		}
		if i > 0 {
			if now.Instructions != before.Instructions || !bytes.Equal(now.Tools, before.Tools) {
				v.Errorf("request %d has another system prompt or other tools", i)
			}
			for j, was := range before.Input {
				if j >= len(now.Input) || !bytes.Equal(was, now.Input[j]) {
					v.Errorf("request %d of %d messages does not begin with the %d of the one before it; the first "+
						"other one is %d:\n%s", i, len(now.Input), len(before.Input), j, was)
					break
				}
			}
		}
		before = now
	}
}

// last returns the texts and results of the newest request since the model's last answer.
func (v *travel) last() string {
	v.Helper()
	all := v.server.Requests()
	var texts []string
	for _, m := range all[len(all)-1].Messages {
		if m.Role == llm.RoleAssistant {
			texts = nil
			continue
		}
		texts = append(texts, m.Parts.Text()+lastResults([]llm.Message{m}))
	}
	return strings.Join(texts, "\n")
}

// told checks that the model has just been told some texts.
func (v *travel) told(texts ...string) {
	v.Helper()
	for _, text := range texts {
		if got := v.last(); !strings.Contains(got, text) {
			v.Errorf("the model is not told %q:\n%s", text, got)
		}
	}
}

// has checks that files are there.
func (v *travel) has(names ...string) {
	v.Helper()
	for _, name := range names {
		if !filepath.IsAbs(name) {
			name = filepath.Join(v.dir, name)
		}
		if _, err := os.Stat(name); err != nil {
			v.Errorf("%v", err)
		}
	}
}

// traveling returns what the model does on the way. The comments name the host.
func traveling(v *travel) []fakellm.Turn {
	write := func(name string) fakellm.Call {
		return use("write_file", object{"file_path": name, "content": "one\n"})
	}
	touch := func(name string) fakellm.Call { return use("shell", object{"command": "touch " + name}) }
	plan := use("update_plan", object{"plan": []any{object{"step": "Look", "status": "completed"},
		object{"step": "Write", "status": "in_progress"}}})
	return []fakellm.Turn{
		// chat
		// 0
		say("I look.", plan, use("ask_user", object{"question": "Which colour?", "options": []string{"red", "blue"}})),
		say("I write.", write(v.other+"/chat")),                             // 1
		say("I touch.", touch("kept-chat")),                                 // 2
		say("The first is done."),                                           // 3
		say("I load the skill.", use("skill", object{"name": "style"})),     // 4
		say("I heed it.", touch("steered")),                                 // 5, which waits
		say("The second is done."),                                          // 6
		say("I run.", v.busy("chat")),                                       // 7
		say("I try to write.", write("planned")),                            // 8, run in plan mode
		say("A plan."),                                                      // 9
		say("I run.", v.busy("run")),                                        // 10
		say("I run.", use("skill", object{"name": "style"}), v.busy("acp")), // 11
		// 12
		say("I ask.", write(v.other+"/json"), touch("kept-json"), use("ask_user", object{"question": "Which number?"})),
		say("I run.", v.busy("json")), // 13
		say("", use("exit_plan_mode", object{"plan": "1. Write the last file.\n"})), // 14, chat
		say("I write.", write("carried-out")),                                       // 15
		say("All is done."),                                                         // 16
	}
}

// A session begins in chat and goes on in run, in an editor, in a program, and in chat again. Each
// of the first four is killed in the middle of a command. Nothing is lost or done twice, and every
// request begins with the one before it.
func TestN1_N2_N3_OneSessionInEveryHost(t *testing.T) {
	t.Parallel()
	v := newTravel(t, 5, traveling)
	v.inChat()
	v.inRun()
	v.inEditor()
	v.inProgram()
	v.inChatAgain()
	v.checkPrefixes()
	if got, err := os.ReadFile(filepath.Join(v.dir, "log")); err != nil || string(got) != "chat\nrun\nacp\njson\n" {
		t.Errorf("the commands that ran: %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(v.dir, "planned")); err == nil {
		t.Error("a file was written in plan mode")
	}
	v.has("carried-out", v.other+"/chat", v.other+"/json", "kept-chat", "kept-json", "steered")
	if list := v.sessions(); len(list) != 1 || list[0].ID != v.id || list[0].Dir != v.dir ||
		!strings.HasPrefix(list[0].Task, "look at it") {
		t.Errorf("the sessions: %+v", list)
	}
	shown := v.run(0, "sessions", "show", v.id).stdout
	for _, want := range []string{"look at it", "see a line of the page", "only in this directory", "carry on",
		"on in the editor", "All is done."} {
		if !strings.Contains(shown, want) {
			t.Errorf("sessions show has no %q:\n%s", want, shown)
		}
	}
	if out := v.run(0, "sessions", "replay", v.id).stdout; !strings.Contains(out, "produced the same") {
		t.Errorf("replay: %s", out)
	}
}

// inChat begins the session with an image, answers a question, approves an edit, keeps a rule,
// pastes, steers, changes the effort and, while a command runs, the mode, and is killed.
func (v *travel) inChat() {
	v.Helper()
	s := onScreen(v.T, v.command("chat", "--image", "shot.png", "--add-dir", v.other, "look at it"), 120, 50)
	s.expect("Which colour?")
	s.expect("Your answer:")
	s.send("1")
	s.expect(v.other + "/chat")
	s.expect("Allow it?")
	s.send("y")
	s.expect("touch kept-chat")
	s.expect("Bash(touch")
	s.send("p")
	s.expect("Kept in ")
	s.expect("The first is done.")
	s.expect("4 turns")
	v.told("(no output)")
	v.id = v.sessions()[0].ID
	if first := v.server.Requests()[0].Messages; !slices.ContainsFunc(first[len(first)-1].Parts,
		func(p llm.Part) bool { _, is := p.(llm.Media); return is }) {
		v.Errorf("the first message has no image: %v", first)
	}
	s.send("/effort high")
	s.expect("the effort is high")
	s.typeText("see ")
	s.paste(strings.Repeat("a line of the page\n", 20))
	s.expect("[pasted 20 lines]")
	s.press("Enter")
	answer := <-v.held
	s.send("only in this directory")
	s.expect("before its next step")
	answer()
	s.expect("The second is done.")
	s.until("the end of the second input", func() bool { return strings.Count(s.all(), "done · ") == 2 })
	s.send("run it")
	s.expect("echo chat >> log")
	s.expect("Allow it?")
	s.send("y")
	v.runs("chat")
	s.send("/mode plan")
	s.expect("the mode is plan")
	s.killed()
}

// inRun continues the input, in plan mode, and then another one with full permission until it is
// killed.
func (v *travel) inRun() {
	v.Helper()
	out := v.run(0, "run", "--continue", "--allow-tool", "Bash(true)")
	if out.stdout != "A plan.\n" || !strings.Contains(out.stderr, "the session is in plan mode") {
		v.Errorf("run: %s\n%s", out.stdout, out.stderr)
	}
	v.told("plan mode")
	v.gone()
	cmd := v.command("run", "--resume", v.id, "--mode", "full", "carry on")
	if err := cmd.Start(); err != nil {
		v.Fatal(err)
	}
	v.runs("run")
	v.told("carry on", "Plan mode is over")
	if err := cmd.Process.Kill(); err != nil {
		v.Fatal(err)
	}
	_ = cmd.Wait() // killed
}

// inEditor loads the session in an editor, which shows what was shown, chooses another model, and
// is killed.
func (v *travel) inEditor() {
	v.Helper()
	cmd := v.command("acp")
	e := startEditor(v.T, cmd)
	e.initialize()
	e.choose("allow_once")
	loaded := e.call("session/load", v.resume(v.id))
	v.gone()
	options := loaded["configOptions"]
	if at(loaded, "modes", "currentModeId") != "ask" || value(options, "effort") != "high" ||
		!strings.HasPrefix(value(options, "model"), "openai/gpt") {
		v.Errorf("loaded: %s", shown(loaded))
	}
	seen := strings.Join(e.history(v.id), "\n")
	for _, want := range []string{"user_message_chunk: look at it", "agent_message_chunk: I look.", "Which colour?",
		v.other + "/chat", "touch kept-chat", "a line of the page",
		"only in this directory", "echo chat >> log", "A plan.", "carry on"} {
		if !strings.Contains(seen, want) {
			v.Errorf("the editor is not shown %q:\n%s", want, seen)
		}
	}
	if plans := e.of(v.id, "plan"); len(plans) == 0 || !strings.Contains(shown(plans[len(plans)-1]), `"Write"`) {
		v.Errorf("the editor is shown the plans %s", shown(plans))
	}
	e.call("session/set_config_option", object{"sessionId": v.id, "configId": "model", "value": "openai/gpt-6-sol"})
	e.begin("session/prompt", prompt(v.id, "on in the editor"))
	v.runs("acp")
	v.told("on in the editor", "outcome is unknown")
	if seen := strings.Join(e.history(v.id), "\n"); !strings.Contains(seen, "call: execute Run `echo run >> log") {
		v.Errorf("the editor is not shown what ran when run was killed:\n%s", seen)
	}
	if err := syscall.Kill(e.agent, syscall.SIGKILL); err != nil {
		v.Fatal(err)
	}
	e.await("the agent's end", func() bool { return e.exit != nil })
}

// inProgram continues the input of the editor as a program, which approves and answers, and is
// killed in plan mode.
func (v *travel) inProgram() {
	v.Helper()
	p := startProgram(v.T, v.command("run", "--input", "json", "--resume", v.id))
	p.say("status", nil)
	status := p.reply(1, "").Status
	v.gone()
	if status["mode"] != "ask" || status["model"] != "gpt-6-sol" || status["effort"] != "high" {
		v.Errorf("the status is %v", status)
	}
	p.say("continue", nil)
	p.reply(2, "")
	ask := p.next("APPROVAL_REQUESTED")
	v.told("Write short lines.", "outcome is unknown")
	if ask.Tool != "write_file" {
		v.Errorf("asked about %s", ask.raw)
	}
	p.say("approve", object{"ask": ask.Ask, "decision": "allow"})
	question := p.next("QUESTION")
	if question.Question != "Which number?" {
		v.Errorf("asked %s", question.raw)
	}
	p.say("answer", object{"ask": question.Ask, "text": "seven"})
	if ask = p.next("APPROVAL_REQUESTED"); !strings.Contains(ask.Text, "echo json >> log") {
		v.Errorf("asked about %s", ask.raw)
	}
	v.told("seven")
	p.say("approve", object{"ask": ask.Ask, "decision": "allow"})
	v.runs("json")
	p.say("set", object{"mode": "plan"})
	p.next("MODE_CHANGED")
	for range 4 {
		p.next("REPLY")
	}
	if err := p.cmd.Process.Kill(); err != nil {
		v.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, p.lines); err != nil {
		v.Fatal(err)
	}
	_ = p.cmd.Wait() // killed
}

// inChatAgain goes on in chat, where the person approves of the plan.
func (v *travel) inChatAgain() {
	v.Helper()
	s := onScreen(v.T, v.command("chat", "--resume", v.id[:8]), 120, 50)
	// the newest input
	for _, want := range []string{"resumed, with ", "> on in the editor", "The last message is not done yet."} {
		s.expect(want)
	}
	s.expect("1. Write the last file.")
	v.gone()
	v.told("outcome is unknown", "plan mode")
	s.expect("Allow it?")
	s.send("y")
	s.expect("carried-out")
	s.until("the question about the file", func() bool { return strings.Count(s.all(), "Allow it?") == 2 })
	s.send("y")
	s.expect("All is done.")
	s.expect("done · ")
	s.press("C-d")
	if code := s.ended(); code != 0 {
		v.Errorf("exit code %d", code)
	}
	requests := v.server.Requests()
	if last := requests[len(requests)-1]; last.Model != "gpt-6-sol" || last.Effort != "high" ||
		!slices.Contains(last.Tools, "exit_plan_mode") {
		v.Errorf("the last request: %s %s %v", last.Model, last.Effort, last.Tools)
	}
}

// A session that began where nobody answers has no tools that need answers. Another host does not
// add them, because the requests would begin otherwise, and does not tell the model of them.
func TestN1_N2_N3_BegunWithoutAPerson(t *testing.T) {
	t.Parallel()
	v := newTravel(t, -1, func(*travel) []fakellm.Turn {
		return []fakellm.Turn{say("Begun."), say("A plan."), say("Carried out.")}
	})
	v.run(0, "run", "--yes", "begin")
	p := startProgram(t, v.command("run", "--input", "json", "--continue"))
	p.say("set", object{"mode": "plan"})
	p.say("user", object{"text": "plan it"})
	p.next("PROCESSING_END")
	v.told("plan it", "Work out a plan and give it as your answer.")
	p.say("set", object{"mode": "accept-edits"})
	p.say("user", object{"text": "carry it out"})
	p.next("PROCESSING_END")
	v.told("Plan mode is over.")
	p.close()
	p.end(0)
	v.checkPrefixes()
	if tools := v.server.Requests()[2].Tools; slices.Contains(tools, "exit_plan_mode") ||
		slices.Contains(tools, "ask_user") {
		t.Errorf("the tools %v", tools)
	}
}

// A person who starts acp is told what it waits for.
func TestN1_OnATerminal(t *testing.T) {
	t.Parallel()
	p := startOnTerminal(t, newHome(t, "").command("acp"))
	p.expect("acp waits for the messages of an editor")
	p.write("\x04")
	if screen, code := p.wait(); code != 0 {
		t.Errorf("exit code %d\n%s", code, screen)
	}
}
