package webtest

import (
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// An output that is shown in part can be had as a whole, in pieces, also one that is long.
func TestN5_WholeOutput(t *testing.T) {
	t.Parallel()
	model := &script{turns: []fakellm.Turn{{Calls: []fakellm.Call{use("shell", object{"command": "seq 1 40000"})}},
		{Text: "Counted."}}}
	h := newHome(t, model.answer)
	c := h.converse("--yes")
	c.say("user", object{"text": "Count."})
	c.next("PROCESSING_END")
	c.end()
	p, _ := openSession(h, c.id)
	p.clickText("#timeline .row .head", "seq 1 40000")
	p.wait(withText(".details button", "Show the whole output"))
	p.shot("part")
	p.clickText(".details button", "Show the whole output")
	for range 8 { // 64 kB each
		p.wait(`!document.querySelector(".details button:disabled")`)
		if eval[bool](p, `!`+withText(".details button", "Show the next")) {
			break
		}
		p.clickText(".details button", "Show the next")
	}
	p.wait(`document.querySelector(".details").innerText.includes("39999\n40000")`)
	whole := eval[string](p,
		`[...document.querySelectorAll(".details .output .fold")].at(-1).innerText.replace(/\s+/g, " ").trim()`)
	if want := len("1 2 3 4 5 6 7 8 9") + 90*3 + 900*4 + 9000*5 + 30001*6; len(whole) != want {
		t.Errorf("the whole output has %d bytes, want %d: %.40q ... %.40q", len(whole), want, whole,
			whole[max(0, len(whole)-40):])
	}
}
