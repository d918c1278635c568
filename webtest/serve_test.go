package webtest

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
	eval[bool](s.page, `(() => { const f = document.querySelector("form.begin [name=`+name+`]"); f.value = `+quote(value)+
		`; return true; })()`)
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

// A person with a phone begins a session, leaves, hears that it waits, comes back, approves, steers,
// reads what it cost, undoes it, and forks it. The server ends and is back: the session goes on.
func TestW2_APersonWithAPhone(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	script := fakellm.Script(
		fakellm.Turn{Text: "Writing.", Calls: []fakellm.Call{use("write_file", object{"file_path": "a.txt", "content": "one\n"})}},
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
