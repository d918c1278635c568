package webtest

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// A person sees what a session has changed and takes it back: with the plan before their eyes,
// again if that has gone stale, on a phone, too, and from an input on. A second page sees what
// became of it and brings it back. While an input runs, the page says what to do.
func TestO4_UndoInTheBrowser(t *testing.T) {
	t.Parallel()
	h := newHome(t, fakellm.Script(
		fakellm.Turn{Calls: []fakellm.Call{use("shell",
			object{"command": "echo two >a.txt; echo '<b>bold</b>' >b.txt; mkdir -p new/dir; seq 900 " +
				">new/dir/long.txt"})}},
		fakellm.Turn{Text: "Done."},
		fakellm.Turn{Calls: []fakellm.Call{use("shell", object{"command": "sleep 1000", "timeout_ms": 120000})}}))
	h.file("a.txt", "one\n")
	cmd := h.command("run", "--input", "json", "--view", "--yes", "do it")
	read, write := io.Pipe() // so that the session goes on
	cmd.Stdin = read
	p := steerCommand(t, h, cmd)
	p.wait(withText("#state .state", "finished"))
	other := &steered{page: p.tab()}
	other.open(p.url)
	other.wait(withText("#act button", "Changed files"))

	p.press("Changed files")
	p.wait(withText("#changes tr.added", "<b>bold</b>") + ` && ` + withText("#changes tr.removed", "one") + ` && ` +
		withText("#changes tr.hunk", "new/dir/long.txt"))
	p.shot("diff")
	p.accessible("the changes")
	h.file("b.txt", "mine\n")
	p.press("Undo the last input's changes")
	p.wait(withText("#changes pre", "b.txt: changed by somebody else since"))
	p.shot("plan")
	h.file("a.txt", "mine too\n")
	p.press("Do this")
	p.wait(withText("#changes .problem", "have changed since that plan"))
	p.press("Try again")
	p.wait(withText("#changes pre", "a.txt: changed by somebody else since"))
	p.press("Close")
	p.wait(`document.querySelector("#changes").hidden`)
	h.file("a.txt", "two\n")

	p.size(360, 640)
	p.clickText("#act button", "Changed files")
	p.wait(withText("#changes tr.hunk", "new/dir/long.txt"))
	p.phone("the diff")
	p.clickText("#changes button:not(:disabled)", "Undo the last input's changes")
	p.wait(withText("#changes pre", "Left alone: 1 path"))
	p.phone("the plan")
	p.clickText("#changes button:not(:disabled)", "Do this")
	p.wait(withText("#changes pre", "A redo takes this back"))
	p.phone("the outcome")
	if data, err := os.ReadFile(filepath.Join(h.project, "a.txt")); err != nil || string(data) != "one\n" {
		t.Errorf("a.txt has %q, %v", data, err)
	}
	p.size(1280, 900)
	other.wait(withText("#changes pre", "A redo takes this back"))
	other.press("Redo")
	other.wait(withText("#changes pre", "the undo of"))
	other.press("Do this")
	p.wait(withText("#changes pre", "An undo takes this back"))
	if data, err := os.ReadFile(filepath.Join(h.project, "a.txt")); err != nil || string(data) != "two\n" {
		t.Errorf("a.txt has %q, %v", data, err)
	}

	p.clickText("#timeline .row.k-input .head", "do it")
	p.clickText(".details button", "Undo from here on")
	p.wait(withText("#changes pre", "what was changed after turn 0"))
	p.click("#say")
	p.keys("and more\r")
	p.wait(withText("#state .state", "running"))
	p.press("Do this")
	p.wait(withText("#changes .problem", "interrupt it or wait for its end"))
	p.shot("running")
	p.press("Interrupt")
	p.wait(withText("#state .state", "interrupted"))
	p.press("Try again")
	p.wait(withText("#changes pre", "what was changed after turn 0"))
	p.allow("ERR_|server|Failed to fetch|network")
	other.allow("ERR_|server|Failed to fetch|network")
	if err := write.Close(); err != nil {
		t.Error(err)
	}
	p.end()
}

// phone checks that nothing is wider than a phone, and that nothing covers the changes.
func (p *steered) phone(what string) {
	p.Helper()
	p.settle()
	if covered := eval[[]string](p.page,
		`[...document.querySelectorAll("#changes h3, #changes .answers button")].filter((e) => {
		e.scrollIntoView({block: "nearest"});
		const r = e.getBoundingClientRect(), at = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2);
		return !e.contains(at) || r.bottom > innerHeight;
	}).map((e) => e.textContent)`); len(covered) > 0 {
		p.Errorf("%s cannot be seen on a phone: %q", what, covered)
	}
	if wide := eval[[]string](p.page, tooWide); len(wide) > 0 {
		p.Errorf("%s is wider than a phone: %q", what, wide)
	}
	p.shot("phone-" + what[len("the "):])
}
