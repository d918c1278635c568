package chat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
)

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
	return w.onLoop(ctx, func() error { return w.begin(text, more) })
}

// Alone implements [protocol.Worker].
func (w worker) Alone(ctx context.Context, what string, do func(context.Context) string) error {
	over := make(chan error, 1)
	err := w.onLoop(ctx, func() error {
		w.start(&task{what: what}, func(ctx context.Context) func() {
			said := do(ctx)
			return func() {
				if said != "" {
					w.echo(what, " (in the viewer)")
					w.note(said)
				}
				over <- nil
			}
		})
		return nil
	})
	if err != nil {
		return err
	}
	return w.wait(ctx, over)
}

// onLoop calls begin on the loop, unless something runs, and returns its error.
func (w worker) onLoop(ctx context.Context, begin func() error) error {
	begun := make(chan error, 1)
	if !w.post(func() {
		switch {
		case w.leaving || w.current != w.of:
			begun <- errEnded
		case w.task != nil:
			begun <- fmt.Errorf("not yet: %s", w.task.what)
		default:
			begun <- begin()
		}
	}) {
		return errEnded
	}
	return w.wait(ctx, begun)
}

// wait returns what the loop sends.
func (w worker) wait(ctx context.Context, from <-chan error) error {
	select {
	case err := <-from:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.ended:
		return errEnded
	}
}

// begin begins an input, as the loop does for one that was typed.
func (w worker) begin(text string, more []llm.Part) error {
	p, c := w.program, w.of
	if _, _, own := p.command(text); own {
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
	typed := p.editor
	p.closeQuestion(q)
	if e := (*permit.Elsewhere)(nil); !errors.As(why, &e) {
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
