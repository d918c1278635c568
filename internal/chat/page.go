package chat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
)

// viewed is a session that a page shows and steers, too. A nil one is shown on the terminal only.
type viewed struct {
	*program
	asks  *protocol.Asks
	setup *attractor.Setup
	page  *protocol.Page
}

// newViewed returns what asks both the person at the terminal and the page.
func (p *program) newViewed() *viewed {
	v := &viewed{program: p}
	v.asks = protocol.NewAsks(func(ev attractor.Event) { v.setup.Tell(ev) }, render.Question)
	v.asks.Beside(p.approve, p.reply)
	return v
}

// join shows the page a session that is about to start.
func (v *viewed) join(setup *attractor.Setup) {
	if v == nil {
		return
	}
	v.setup, v.page = setup, protocol.NewPage(setup)
	text := v.View(setup, v.page)
	v.post(func() { v.say(text) })
}

// serve lets the page steer the session, which has started.
func (v *viewed) serve(c *conversation) {
	if v != nil {
		v.page.Serve(protocol.NewDesk(v.setup, c.session, v.asks, v.Keep, worker{v.program, c}).Do)
	}
}

// worker implements [protocol.Worker] for other goroutines.
type worker struct {
	*program
	of *conversation
}

// Running implements [protocol.Worker].
func (w worker) Running() bool {
	return w.of.working.Load() && w.of.session.Status() == agent.StatusProcessing
}

// Begin implements [protocol.Worker].
func (w worker) Begin(ctx context.Context, text string, more []llm.Part) error {
	begun := make(chan error, 1)
	if !w.post(func() { begun <- w.begin(text, more) }) {
		return errEnded
	}
	select {
	case err := <-begun:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin begins an input, as the loop does for one that was typed.
func (w worker) begin(text string, more []llm.Part) error {
	p, c := w.program, w.of
	_, _, own := p.command(text)
	switch {
	case p.leaving || p.current != c:
		return errEnded
	case p.task != nil:
		return fmt.Errorf("not yet: %s", p.task.what)
	case own:
		return fmt.Errorf("%.40s is for the terminal; the commands here are those of files, skills and prompts", text)
	}
	p.echo(text, " (in the viewer)")
	p.work(c, func(ctx context.Context) (*agent.Result, error) { return c.setup.Submit(ctx, c.session, text, more...) })
	return nil
}

// Interrupt implements [protocol.Worker].
func (w worker) Interrupt() {
	w.post(func() {
		if p := w.program; p.current == w.of && p.task != nil && p.task.steers {
			p.task.stop()
			p.stopping, p.dirty = true, true
			if p.question != nil { // which ends with the task
				p.withdrawn, p.doubtful = time.Now(), true
			}
		}
	})
}

// withdraw closes a question that needs no answer any more. What the person was typing as an answer
// to a question of the model stays.
func (p *program) withdraw(q *question, why error) {
	if p.question != q {
		return
	}
	typed := p.editor.String()
	p.closeQuestion(q)
	if e := (*permit.Elsewhere)(nil); !errors.As(why, &e) {
		return
	}
	p.withdrawn, p.doubtful = time.Now(), true
	if q.label == render.AnswerLabel && typed != "" && p.editor.Empty() {
		p.editor.Set(typed)
	}
}

// tooSoon reports whether what was typed at a time may have been meant for a question that had just
// been withdrawn.
func (p *program) tooSoon(at time.Time) bool { return at.Sub(p.withdrawn) < render.WithdrawnFor }
