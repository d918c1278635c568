package webtest

import (
	"bufio"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// A session of the command with --view is approved, answered and steered from the page, and goes on
// as it is told there.
func TestN5_SteerFromThePage(t *testing.T) {
	t.Parallel()
	model := &script{turns: []fakellm.Turn{
		{Text: "I write and ask.", Calls: []fakellm.Call{use("shell", object{"command": "touch allowed"})}},
		{Calls: []fakellm.Call{use("shell", object{"command": "touch denied <script>window.pwned=1</script>\u202e"})}},
		{Calls: []fakellm.Call{use("ask_user",
			object{"question": "Which colour? <b>", "options": []string{"red", "blue"}})}},
		{Calls: []fakellm.Call{use("shell", object{"command": "sleep 1000", "timeout_ms": 100000})}},
	}}
	h := newHome(t, model.answer)
	cmd := h.command("run", "--view", "--ask", "Paint.")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it has ended unless the test failed
	url, said := make(chan string, 1), make(chan string, 1)
	go func() {
		var all strings.Builder
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			all.WriteString(lines.Text() + "\n")
			if m := regexp.MustCompile(`http://127\.0\.0\.1:\d+/#\S+`).FindString(lines.Text()); m != "" {
				url <- m
			}
		}
		close(url)
		said <- all.String()
	}()
	address := <-url
	if address == "" {
		t.Fatalf("no URL: %s", <-said)
	}
	p := newPage(t)
	p.allow("ERR_") // the session's process ends, and the page's server with it
	p.open(address)
	p.wait(`document.querySelector("#act .ask").innerText.includes("touch allowed")`)
	p.shot("approval")
	p.accessible("an approval")
	p.keys(kb.Escape) // answers nothing
	p.clickText("#act .ask button:not(:disabled)", "Allow once")
	p.wait(`document.querySelector("#act .ask")?.innerText.includes("touch denied")`)
	p.intact("an approval")
	p.click("#act .ask input[name=reason]")
	p.keys("not that one")
	p.clickText("#act .ask button:not(:disabled)", "Deny")
	p.wait(`document.querySelector("#act .ask")?.innerText.includes("Which colour? <b>")`)
	p.shot("question")
	p.clickText("#act .ask button:not(:disabled)", "blue")
	p.wait(`!document.querySelector("#act .ask") && document.querySelector("#session").innerText.includes("sleep 1000")`)
	p.click("#say")
	p.keys("Faster, please.")
	p.clickText("#act button", "Steer")
	p.wait(`document.querySelector("#say").value == ""`)
	p.shot("steered")
	p.size(360, 740)
	p.settle()
	if wide := eval[[]string](p, tooWide); len(wide) > 0 {
		t.Errorf("wider than a phone: %q", wide)
	}
	p.shot("narrow")
	p.clickText("#act button", "Interrupt")
	text := <-said
	_ = cmd.Wait() // interrupted
	if _, err := os.Stat(filepath.Join(h.project, "allowed")); err != nil {
		t.Errorf("the allowed call has not run: %v: %s", err, text)
	}
	if _, err := os.Stat(filepath.Join(h.project, "denied")); err == nil {
		t.Error("the denied call has run")
	}
	p.wait(`!document.querySelector("#notice").hidden`)
	p.shot("ended")
}
