package chat

import (
	"errors"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/permit"
)

// host implements [protocol.Host] for a session.
type host struct {
	*program
	of *conversation
}

// Begin implements [protocol.Host].
func (h host) Begin(text string, begin func() error) error {
	if _, _, own := ownCommand(text); own {
		return fmt.Errorf("%.40s is for the terminal; the commands here are those of files, skills and prompts", text)
	}
	err := begin()
	if err == nil {
		h.post(func() { h.echo(text, inViewer) })
	}
	return err
}

// Rested implements [protocol.Host].
func (h host) Rested(result *agent.Result, err error) {
	tell := h.checked(h.of, result, err)
	h.post(func() {
		if t := h.task; t != nil && t.steers && h.current == h.of {
			h.end(func() { tell(); h.submitted(h.of, t, result, err) })
		}
	})
}

// Undone implements [protocol.Host].
func (h host) Undone(text string) {
	h.post(func() {
		h.echo("taking changes back", inViewer)
		h.note(text)
	})
}

// inViewer says that something was sent on the page.
const inViewer = " (in the viewer)"

// withdraw closes a question that needs no answer any more. What the person was typing as an answer
// to a question of the model stays.
func (p *program) withdraw(q *question, why error) {
	if p.question != q {
		return
	}
	typed := p.editor
	p.closeQuestion(q)
	if e := (*permit.Elsewhere)(nil); !errors.As(why, &e) && p.stopping { // by the person, and not on the page
		return
	}
	p.withdrawn, p.doubtful = time.Now(), true
	if q.label == render.AnswerLabel && !typed.Empty() && p.editor.Empty() {
		p.editor = typed
	}
}

// tooSoon reports whether what was typed at a time may have been meant for a question that had just
// been withdrawn.
func (p *program) tooSoon(at time.Time) bool { return at.Sub(p.withdrawn) < render.WithdrawnFor }
