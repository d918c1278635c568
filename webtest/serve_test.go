package webtest

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// served is attractor serve, whose page a person has open on a phone.
type served struct {
	*steered
	pages []string // its address with the token
	stop  func()
}

// serve starts a server and opens its page at a phone's size.
func serve(t *testing.T, h *home, args ...string) *served {
	t.Helper()
	cmd := h.command(append([]string{"serve"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &served{steered: &steered{page: newPage(t), home: h}}
	s.stop = func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	}
	for lines := bufio.NewScanner(out); s.url == "" && lines.Scan(); {
		s.url, _ = strings.CutPrefix(lines.Text(), "page ")
		if !strings.HasPrefix(lines.Text(), "page ") {
			s.url = ""
		}
	}
	if s.url == "" {
		t.Fatal("the server prints no page")
	}
	s.size(390, 844)
	s.open(s.url)
	return s
}

// fill puts a text into a field of the form that begins a session.
func (s *served) fill(name, value string) {
	s.Helper()
	s.wait(`document.querySelector("form.begin [name=` + name + `]")`)
	eval[bool](s.page, `(() => { const f = document.querySelector("form.begin [name=`+name+`]"); f.value = `+
		quote(value)+`; return true; })()`)
}

// fits checks that nothing is wider than the phone.
func (s *served) fits(what string) {
	s.Helper()
	s.settle()
	if wide := eval[[]string](s.page, tooWide); len(wide) > 0 {
		s.Errorf("%s is wider than a phone: %q", what, wide)
	}
	s.shot("serve-" + what)
}

// A person with a phone begins a session, leaves, hears that it waits, comes back, approves,
// steers, reads what it cost, undoes it, forks it, deletes the fork, and is told that the server
// has ended.
func TestW2_APersonWithAPhone(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	script := fakellm.Script(
		fakellm.Turn{Text: "Writing.", Calls: []fakellm.Call{use("write_file",
			object{"file_path": "a.txt", "content": "one\n"})}},
		fakellm.Turn{Text: "Written.", Calls: []fakellm.Call{use("read_file", object{"file_path": "a.txt"})}},
		fakellm.Turn{Text: "All is done."}, fakellm.Turn{Text: "Forked."}, fakellm.Turn{Text: "Resumed."})
	steered := make(chan string, 10)
	h := newHome(t, func(r *fakellm.Request) fakellm.Turn {
		turn := script(r)
		if turn.Text == "Written." {
			<-hold
		}
		steered <- string(r.Body)
		return turn
	})
	h.file("before.txt", "x\n")
	s := serve(t, h)
	s.wait(withText(".empty", "no session yet"))
	s.fits("begin")
	s.accessible("the form")
	s.press2("Notify me")
	s.fill("task", "write a file")
	s.clickText("form.begin summary", "Model, mode, sandbox, budget")
	s.fill("mode", "ask")
	s.fill("budget_usd", "0.5")
	s.fits("more")
	s.clickText("form.begin button", "Begin")
	s.wait(withText(".ask h3", "write_file"))
	s.fits("approval")
	s.clickText("#crumbs a", "Sessions")
	s.wait(withText(".session .state", "waits for you") + ` && document.title.startsWith("(1) ")`)
	s.fits("waiting")
	s.clickText(".session .task", "write a file")
	s.wait(withText(".ask h3", "write_file"))
	s.answer("Allow once")
	s.wait(withText("#state .state", "running"))
	s.click("#say")
	s.keys("mind the gap")
	s.press("Steer")
	s.wait(`document.querySelector("#say").value == ""`)
	close(hold)
	s.wait(withText("#state .state", "finished") + ` && !document.title.startsWith("(")`)
	s.fits("finished")
	said := false
	for range len(steered) {
		said = strings.Contains(<-steered, "mind the gap") || said
	}
	if !said {
		t.Error("the model was not told what the person said")
	}
	if sums := eval[string](s.page, `document.querySelector(".sums").textContent`); !strings.Contains(sums, "$") {
		t.Errorf("what it cost: %q", sums)
	}
	a := filepath.Join(h.project, "a.txt")
	s.press("Changed files")
	s.wait(withText("#changes tr.added", "one"))
	s.clickText("#changes button:not(:disabled)", "Undo the last input's changes")
	s.clickText("#changes button:not(:disabled)", "Do this")
	s.wait(withText("#changes pre", "A redo takes this back"))
	if _, err := os.Stat(a); err == nil {
		t.Error("the undo has left the file")
	}
	s.press("Close")

	first := eval[string](s.page, `location.hash`)
	s.press("Fork")
	s.wait(`location.hash != ` + quote(first) + ` && !document.querySelector("#act").hidden`)
	s.click("#say")
	s.keys("and now")
	s.press("Send")
	s.wait(withText("#timeline .row.k-end", "completed") + ` && ` + withText("#timeline .row .text", "Forked."))
	s.fits("fork")
	s.press("Delete")
	s.clickText("#changes button:not(:disabled)", "Delete it")
	s.wait(withText(".session .task", "write a file") + ` && document.querySelectorAll(".session").length == 1`)

	s.allow("ERR_|server|Failed to fetch|network|503|Service Unavailable")
	s.stop()
	s.wait(`!document.querySelector("#notice").hidden`)
}

// press2 presses a button of the bar.
func (s *served) press2(label string) {
	s.Helper()
	s.clickText("#switches button", label)
	s.wait(`[...document.querySelectorAll("#switches button")].some((b) => b.textContent == ` + quote(label) +
		` && b.getAttribute("aria-pressed") == "true")`)
}

// unsteady has the page's requests go through a network that can be cut: cut ends all of them,
// refuse has the next ones whose path it matches be answered with 429, and told collects what the
// page would have the system show.
const unsteady = `(() => {
	const real = window.fetch;
	Object.assign(window, { told: [], sent: [], refuse: null, line: new AbortController() });
	window.cut = () => { window.line.abort(); window.line = new AbortController(); };
	window.fetch = async (path, init) => {
		if (init.method === "POST") window.sent.push(path);
		if (window.refuse?.test(path)) { window.refused = true; return new Response('{"detail":"too much"}', { status: 429 }); }
		return real(path, { ...init, signal: AbortSignal.any([init.signal, window.line.signal].filter(Boolean)) });
	};
	window.Notification = class { static permission = "granted"; constructor(title) { window.told.push(title); } };
	localStorage.setItem("attractor.bell", "on");
	return true;
})()`

// A person whose phone loses the network, or has asked for too much, loses nothing by that: neither
// half an answer, nor a text that was not sent, nor the news. A button that is pressed twice acts
// once.
func TestW2_ANetworkOfAPhone(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	script := fakellm.Script(fakellm.Turn{Calls: []fakellm.Call{use("ask_user", object{"question": "Which colour?"})}},
		fakellm.Turn{Text: "Done."})
	h := newHome(t, func(r *fakellm.Request) fakellm.Turn {
		turn := script(r)
		if turn.Text == "Done." {
			<-hold
		}
		return turn
	})
	s := serve(t, h)
	s.allow("ERR_|server|Failed to fetch|network|aborted")
	call(s.page, cdppage.AddScriptToEvaluateOnNewDocument,
		cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: unsteady})
	s.reload()
	s.fill("task", "paint it")
	s.clickText("form.begin button", "Begin")
	s.wait(withText(".ask h3", "asks"))
	s.wait(`!document.querySelector(".ask button:disabled")`)
	s.click(".ask input[name=answer]")
	s.keys("bl")
	s.click("#say")
	s.keys("and then")

	eval[bool](s.page, `(window.refuse = /watch/, cut(), true)`)
	s.wait(`window.refused && !document.querySelector("#notice").hidden && document.querySelector("#act").hidden`)
	eval[bool](s.page, `(window.refuse = null, true)`)
	s.wait(`!document.querySelector("#act").hidden && document.querySelector("#notice").hidden`)
	if text := eval[string](s.page, `document.querySelector(".ask input[name=answer]").value`); text != "bl" {
		t.Errorf("the answer is %q", text)
	}

	s.clickText("#crumbs a", "Sessions")
	s.clickText(".session .task", "paint it")
	s.wait(withText(".ask h3", "asks"))
	if text := eval[string](s.page, `document.querySelector("#say").value`); text != "and then" {
		t.Errorf("the message is %q", text)
	}

	s.wait(`!document.querySelector(".ask button:disabled")`)
	s.click(".ask input[name=answer]")
	s.keys("blue")
	s.answer("Answer")
	s.clickText("#crumbs a", "Sessions")
	s.wait(withText(".session .state", "running"))
	eval[bool](s.page, `(window.told.length = 0, window.refused = false, window.refuse = /events/, cut(), true)`)
	s.wait(`window.refused`)
	close(hold)
	id := eval[string](s.page, `new URLSearchParams(document.querySelector(".session").hash.slice(1)).get("session")`)
	eval[bool](s.page, `(async () => {
		for (let state = ""; state !== "idle"; await new Promise((wake) => { setTimeout(wake, 100); })) {
			const token = new URLSearchParams(location.hash.slice(1)).get("token");
			state = (await (await fetch("/v1/sessions/`+id+
		`", { headers: { Authorization: "Bearer " + token } })).json()).state;
		}
		window.refuse = null;
		return true;
	})()`)
	s.wait(`window.told.join() === "An agent has finished"`)

	s.clickText(".session .task", "paint it")
	s.wait(`!document.querySelector("#act").hidden`)
	before := eval[string](s.page, `location.hash`)
	eval[bool](s.page, `(() => {
		const b = [...document.querySelectorAll("#act button")].find((b) => b.textContent == "Fork");
		window.sent.length = 0; b.click(); b.click(); return window.sent.length == 2; })()`)
	s.wait(`location.hash != ` + quote(before) + ` && !document.querySelector("#act").hidden`)
	s.clickText("#crumbs a", "Sessions")
	s.wait(`document.querySelector(".session .badge")`)
	forks := eval[int](s.page,
		`[...document.querySelectorAll(".session .badge")].filter((b) => b.textContent == "fork").length`)
	if forks != 1 {
		t.Errorf("there are %d forks", forks)
	}
	s.stop()
}

// A page whose token is not known asks for one, in words for a person, and then shows the session
// that its address names.
func TestW2_AnotherToken(t *testing.T) {
	t.Parallel()
	h := newHome(t, fakellm.Script(fakellm.Turn{Text: "Done."}))
	s := serve(t, h)
	s.fill("task", "say it")
	s.clickText("form.begin button", "Begin")
	s.wait(withText("#timeline .row.k-end", "completed"))
	_, token, _ := strings.Cut(s.url, "#token=")
	session := eval[string](s.page, `new URLSearchParams(location.hash.slice(1)).get("session")`)
	s.allow("401|Unauthorized")
	s.open("about:blank")
	s.open(strings.Replace(s.url, token, "wrong", 1))
	s.wait(`document.querySelector("form.begin input[name=token]") &&
		performance.getEntriesByType("resource").filter((e) => /events|sessions/.test(e.name)).length >= 2`)
	s.settle()
	if notice := eval[string](s.page, `document.querySelector("#notice").textContent`); notice != "" {
		t.Errorf("the page says %q", notice)
	}
	s.open("about:blank")
	s.open(strings.Replace(s.url, token, "wrong", 1) + "&session=" + session)
	s.wait(`document.querySelector("form.begin input[name=token]")`)
	s.click("form.begin input[name=token]")
	s.keys(token)
	s.clickText("form.begin button", "Enter")
	s.wait(withText("#timeline .row.k-end", "completed"))
	s.stop()
}
