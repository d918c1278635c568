package chat

import (
	"fmt"
	"strconv"

	"github.com/attractor-go/attractor/internal/render"
)

// output implements /output.
func (p *program) output(arguments string) {
	n := 0
	if arguments != "" {
		var err error
		if n, err = strconv.Atoi(arguments); err != nil || n < 1 {
			p.warn("/output needs the number of an output, such as /output 3")
			return
		}
	}
	if !p.openOutput(n) {
		p.note(p.nothingToOpen())
	}
}

// openNext is what Ctrl-O does: it shows the newest output or thought that was not shown whole yet.
func (p *program) openNext() {
	if !p.openOutput(0) {
		p.hint = p.nothingToOpen()
	}
}

// openOutput shows the whole of output or thought n, or for 0 of the newest that was not shown
// whole yet. It returns false if there is none.
func (p *program) openOutput(n int) bool {
	if p.current == nil {
		return false
	}
	f := p.current.view.Open(n)
	if f == nil {
		return false
	}
	p.say(p.Style.Bold(fmt.Sprintf("── %d: %s", f.N, render.Shorten(f.Head, 100))) + "\n" + f.Text + "\n" +
		p.Style.Faint(fmt.Sprintf("── the end of %d", f.N)))
	return true
}

// nothingToOpen says which outputs and thoughts there are to be shown.
func (p *program) nothingToOpen() string {
	oldest, newest := 0, 0
	if p.current != nil {
		oldest, newest = p.current.view.Kept()
	}
	if newest == 0 {
		return "nothing is shown only in part; outputs of earlier conversations: attractor view"
	}
	if oldest == newest {
		return fmt.Sprintf("there is only /output %d", newest)
	}
	return fmt.Sprintf("there are /output %d to %d", oldest, newest)
}
