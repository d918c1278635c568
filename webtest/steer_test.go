package webtest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// steered is a session of attractor run --view, which its page steers.
type steered struct {
	*page
	home *home
	url  string
	out  *bufio.Reader // standard error
	end  func() string // waits for the end and returns the rest of standard error
}

var pageURL = regexp.MustCompile(`http://127\.0\.0\.1:\d+/#token=\S+`)

// steer runs a task with a page, and opens that.
func steer(t *testing.T, model fakellm.Model) *steered {
	t.Helper()
	h := newHome(t, model)
	return steerCommand(t, h, h.command("run", "--view", "do it"))
}

// steerCommand runs a command with a page, and opens that.
func steerCommand(t *testing.T, h *home, cmd *exec.Cmd) *steered {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &steered{page: newPage(t), home: h, out: bufio.NewReader(stderr)}
	s.end = func() string {
		rest, err := io.ReadAll(s.out)
		if err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // the tests look at what was done
		return string(rest)
	}
	for s.url == "" {
		line, err := s.out.ReadString('\n')
		if err != nil {
			t.Fatalf("no page: %v: %s", err, line)
		}
		s.url = pageURL.FindString(line)
	}
	s.open(s.url)
	return s
}

// A person steers a session by its page: approves, refuses with a reason, changes arguments,
// answers a question, changes the mode, sends a message, and interrupts.
func TestN5_SteeringInTheBrowser(t *testing.T) {
	t.Parallel()
	requests := make(chan string, 20)
	script := fakellm.Script(
		fakellm.Turn{Thinking: "Hm.", Text: "I begin with a file.",
			Calls: []fakellm.Call{use("shell", object{"command": "touch one"})}},
		fakellm.Turn{Text: "Another.", Calls: []fakellm.Call{use("shell", object{"command": "touch two"})}},
		fakellm.Turn{Text: "A third.", Calls: []fakellm.Call{use("shell", object{"command": "touch three"})}},
		fakellm.Turn{Text: "And now?",
			Calls: []fakellm.Call{use("ask_user", object{"question": "Which colour? <b>bold</b>",
				"options": []string{"red", "blue"}})}},
		fakellm.Turn{Text: "It sleeps.",
			Calls: []fakellm.Call{use("shell", object{"command": "echo one line; touch asleep; sleep 1000",
				"timeout_ms": 120000})}})
	p := steer(t, func(r *fakellm.Request) fakellm.Turn {
		requests <- string(r.Body)
		return script(r)
	})
	<-requests
	p.wait(`document.querySelector(".ask h3").textContent.includes("shell")`)
	if at := eval[string](p.page, `document.activeElement.className`); at != "ask" {
		t.Errorf("the focus is on %q", at)
	}
	p.wait(`document.querySelector("#state").textContent.includes("waits for you") && document.title.startsWith("?")`)
	p.keys("\x1b\r ") // neither Escape nor Enter answers
	p.wait(`document.querySelectorAll(".ask").length == 1`)
	p.shot("approval")
	p.answer("Allow once")
	<-requests
	p.wait(`document.querySelector(".ask")?.textContent.includes("touch two")`)
	eval[bool](p.page, `document.querySelector(".ask .deny input").focus(), true`)
	p.keys("not two")
	p.answer("Deny")
	if body := <-requests; !strings.Contains(body, "the user said no. not two") {
		t.Errorf("the model is not told why: %s", body)
	}
	p.wait(`document.querySelector(".ask")?.textContent.includes("touch three")`)
	p.click(".ask summary")
	eval[bool](p.page, `document.querySelector(".ask details textarea").value = '{"command": "touch four"}', true`)
	p.answer("Ask again with these arguments")
	p.wait(`document.querySelector(".ask")?.textContent.includes("touch four")`)
	p.answer("Allow once")
	<-requests
	p.wait(`document.querySelector(".ask .question")?.textContent == "Which colour? <b>bold</b>"`)
	p.shot("question")
	p.choose("mode", "full")
	p.answer("blue")
	if body := <-requests; !strings.Contains(body, "blue") {
		t.Errorf("the model does not get the answer: %s", body)
	}
	p.wait(`document.querySelector("#now").textContent.includes("one line")`)
	p.click("#say")
	p.keys("mind the gap")
	p.press("Steer")
	p.wait(`document.querySelector("#say").value == "" && document.querySelector("#running").textContent.includes("mind the gap")`)
	p.shot("running")
	p.size(360, 640)
	p.shot("phone")
	p.press("Interrupt")
	if rest := p.end(); !strings.Contains(rest, "interrupted") {
		t.Errorf("the end says %q", rest)
	}
	p.allow("ERR_|server|Failed to fetch|network")
	p.wait(`document.querySelector("#act").hidden`)
	for name, want := range map[string]bool{"one": true, "two": false, "three": false, "four": true, "asleep": true} {
		if _, err := os.Stat(filepath.Join(p.home.project, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it to be there: %v", name, err, want)
		}
	}
}

// A double click on the button of one card does not answer the next one, which has moved up to the
// mouse.
func TestN5_ADoubleClickAnswersOnce(t *testing.T) {
	t.Parallel()
	model := &script{
		subagents: map[string][]fakellm.Turn{"Make a file": {{Calls: []fakellm.Call{use("shell",
			object{"command": "touch one"})}}, {Text: "Done."}}},
		turns: []fakellm.Turn{
			{Calls: []fakellm.Call{use("spawn_agent", object{"task": "Make a file."})}},
			{Calls: []fakellm.Call{use("ask_user",
				object{"question": "Which colour?", "options": []string{"red", "blue"}})}},
			// so that the session does not end before both are answered
			{Calls: []fakellm.Call{use("wait", object{"agent_id": "agent-1"})}},
			{Text: "Done."},
		},
	}
	p := steer(t, model.answer)
	p.wait(`document.querySelectorAll(".ask").length == 2 && !document.querySelector(".ask button:disabled")`)
	p.shot("two")
	second := eval[string](p.page, `document.querySelectorAll(".ask h3")[1].id`)
	const click = `document.querySelector("#act .ask .answers button").click()`
	eval[bool](p.page, `(`+click+`, new Promise((done) => {
		const seen = new MutationObserver(() => { seen.disconnect(); `+click+`; setTimeout(() => done(true), 1000); });
		seen.observe(document.querySelector("#asks"), { childList: true });
	}))`)
	p.wait(`document.getElementById(` + quote(second) + `)`)
	p.answer(eval[string](p.page, `document.querySelector("#act .ask .answers button").textContent`))
	p.end()
	p.allow("ERR_|server|Failed to fetch|network")
}

// press clicks on the button of the section for steering that has a text, when it can be clicked
// on.
func (p *steered) press(label string) {
	p.Helper()
	const found = `[...document.querySelectorAll("#act button")].find((b) => b.textContent == LABEL && !b.disabled)`
	button := strings.ReplaceAll(found, "LABEL", quote(label))
	p.wait(button)
	eval[bool](p.page, button+`.click(), true`)
}

// answer presses a button of the card that is open, which must go away.
func (p *steered) answer(label string) {
	p.Helper()
	id := eval[string](p.page, `document.querySelector(".ask h3").id`)
	p.press(label)
	p.wait(`!document.getElementById(` + quote(id) + `)`)
}

// choose chooses a value in a field.
func (p *steered) choose(name, value string) {
	p.Helper()
	eval[bool](p.page, `(() => { const s = document.querySelector("#act select[name=`+name+`]"); s.value = `+
		quote(value)+`; s.dispatchEvent(new Event("change")); return true; })()`)
	p.wait(`document.querySelector("#act select[name=` + name + `]").value == ` + quote(value))
}
