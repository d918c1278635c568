package chat

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/permit"
)

// task is a piece of work that runs. There is one at a time.
type task struct {
	what   string // for the live line
	began  time.Time
	stop   func() // ends it in order, at once or soon
	starts bool   // a session will begin, to which what is typed meanwhile is sent
	steers bool   // what is typed meanwhile is for the model
}

// start runs a task on a goroutine of its own. work returns what the loop has to do at its end.
func (p *program) start(t *task, work func(ctx context.Context) func()) {
	ctx, cancel := context.WithCancel(p.ctx)
	t.began, t.stop = time.Now(), cancel
	p.task, p.dirty = t, true
	go func() {
		defer cancel()
		end := work(ctx)
		p.post(func() { p.end(end) })
	}()
}

// alone runs a task during which nobody else has the session work, and passes its error to then.
func (p *program) alone(what string, do func(ctx context.Context) error, then func(error)) {
	lines := p.current.lines
	p.start(&task{what: what}, func(ctx context.Context) func() {
		err := lines.Alone(ctx, what, func() error { return do(ctx) })
		return func() { then(err) }
	})
}

// end ends the task, and calls then.
func (p *program) end(then func()) {
	p.task, p.stopping, p.dirty = nil, false, true
	then()
	if p.task == nil && p.leaving {
		p.closeNow()
	}
}

// open opens a session. The first message may be empty.
func (p *program) open(c attractor.Config, first string) {
	style := p.Style
	p.start(&task{what: "starting", starts: true}, func(ctx context.Context) func() {
		made, err := p.beginUnder(ctx, c, style)
		return func() { p.opened(c, made, first, err) }
	})
}

// beginUnder opens and starts a session, unless ctx ends before. MCP servers may go on starting
// after that, until the session is closed.
func (p *program) beginUnder(ctx context.Context, c attractor.Config, style render.Style) (*conversation, error) {
	life, end := context.WithCancel(p.ctx)
	stop := context.AfterFunc(ctx, end)
	made, err := p.begin(life, c, style)
	if !stop() && err == nil {
		err = errors.Join(context.Cause(ctx), made.close())
	}
	if err != nil {
		end()
		return nil, err
	}
	made.end = end
	return made, nil
}

// begin opens and starts a session.
func (p *program) begin(ctx context.Context, c attractor.Config, style render.Style) (*conversation, error) {
	var setup *attractor.Setup
	asks := protocol.NewAsks(func(ev attractor.Event) { setup.Tell(ev) }, render.Question)
	asks.Beside(p.approve, p.reply)
	c.Ask = asks.Approve
	setup, err := attractor.Prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	made := &conversation{config: c, setup: setup, view: render.NewSession(style), live: render.NewLive()}
	made.view.Keep()
	setup.Options.Questions = &agent.Questions{Answer: asks.Question}
	setup.Options.OnEvent = func(ev agent.Event) { p.post(func() { p.event(made, ev) }) }
	setup.OnOwnEvent = func(attractor.Event) {}
	setup.OnMode = func(permit.Mode) { p.modeChanged() }
	setup.Options.Policy.OnFailure = agent.StayOnFailure // a person logs in, or chooses another model
	told := p.Opened(setup)
	var page *protocol.Page
	if p.View != nil {
		page = protocol.NewPage(setup)
		told += p.View(page)
	}
	p.post(func() { p.say(told) })
	made.lines = protocol.New(setup, asks, p.Keep)
	made.lines.Host = host{p, made}
	if made.session, err = setup.Start(ctx); err != nil {
		return nil, errors.Join(err, setup.Close())
	}
	serving, cancel := context.WithCancel(ctx)
	served := make(chan struct{})
	made.unserve = func() { cancel(); <-served }
	go func() {
		defer close(served)
		made.lines.Serve(serving, made.session)
	}()
	if page != nil {
		page.Serve(made.lines.Do)
	}
	made.names = setup.Commands()
	made.used = setup.Resumed
	return made, nil
}

// opened goes on after a session was opened, or could not be.
func (p *program) opened(c attractor.Config, made *conversation, first string, err error) {
	switch {
	case err == nil:
		asked := !p.begun && first == "" && p.waiting == "" // by the command line, to go on
		p.current, p.begun = made, true
		made.view.Resize(p.Style.Width) // which may have changed meanwhile
		if made.setup.Resumed {
			p.recap()
		}
		if asked && !p.leaving && made.session.Status() != agent.StatusIdle {
			p.goOn()
			return
		}
		p.first(first)
	case p.leaving:
	case !p.begun:
		p.failed, p.over = err, true
		if errors.Is(err, context.Canceled) { // by Ctrl-C
			p.failed = nil
		}
	default:
		p.warn(err.Error())
		p.note("No session is open. /resume opens one of this directory, /clear begins a new one.")
		if p.waiting != "" && p.editor.Empty() {
			p.editor.SetPasted(p.waiting)
		}
		p.waiting = ""
	}
}

// first sends the first message of a session: the one of the command line, and what the person has
// sent while the session was starting.
func (p *program) first(text string) {
	waiting := p.waiting
	if p.waiting = ""; p.leaving {
		return
	}
	if text != "" && !p.enterShown(text, text, false) {
		p.editor.SetPasted(text)
	}
	if waiting == "" {
		return
	}
	if p.unknown(waiting) || p.task != nil && p.callsCommand(waiting) {
		p.editor.SetPasted(waiting)
		return
	}
	p.remember(waiting)
	if p.task != nil {
		p.steer(waiting)
		return
	}
	p.submit(waiting)
}

// change closes the session and opens another one.
func (p *program) change(c attractor.Config) {
	p.close(func() { p.open(c, "") })
}

// close closes the session and calls then, which opens another one unless the conversation ends.
func (p *program) close(then func()) {
	was := p.current
	if was == nil {
		then()
		return
	}
	p.start(&task{what: "closing", starts: true}, func(context.Context) func() {
		err := was.close()
		return func() {
			p.current = nil
			p.kept = was.kept()
			if p.worktree = was.setup.Worktree(); p.worktree != nil && !p.leaving {
				p.note(p.worktree.Outcome())
			}
			if err != nil {
				p.warn(err.Error())
			}
			then()
		}
	})
}

// close ends the session, when all its events are shown, and what it has started. A session without
// an input is removed.
func (c *conversation) close() error {
	var err error
	for {
		if err = c.session.Close(); !errors.Is(err, agent.ErrUndelivered) {
			break
		}
	}
	c.unserve() // a session that was taken over has no event of its end
	err = errors.Join(err, c.setup.Close())
	if c.end != nil {
		c.end()
	}
	if store := c.config.Store; store != nil && !c.used {
		err = errors.Join(err, store.Remove(context.Background(), c.session.ID()))
	}
	return err
}

// kept returns the id of the session if there is something to resume.
func (c *conversation) kept() string {
	if c.config.Store == nil || !c.used {
		return ""
	}
	return c.session.ID()
}

// leave ends the conversation in order.
func (p *program) leave() {
	p.kills++
	if p.leaving {
		if p.kills > 1 {
			p.kill()
		}
		return
	}
	p.leaving, p.dirty = true, true
	p.hint = ""
	if p.task != nil {
		p.task.stop()
		return
	}
	p.closeNow()
}

// closeNow closes the session for good.
func (p *program) closeNow() {
	if p.current == nil {
		p.over = true
		return
	}
	p.close(func() { p.over = true })
}

// kill ends the process at once, and what it has started. The session can be resumed as after a
// crash.
func (p *program) kill() {
	if p.current != nil {
		_ = p.current.setup.KillNow() // nobody can be told
	}
	_ = p.front.close()
	os.Exit(ExitCode(p.signal))
}

// ExitCode returns the exit code that shells expect after a signal.
func ExitCode(sig os.Signal) int {
	const afterSignal = 128
	if s, ok := sig.(syscall.Signal); ok {
		return afterSignal + int(s)
	}
	return 1
}

// signalled acts on a signal.
func (p *program) signalled(sig os.Signal) {
	if sig == os.Interrupt {
		p.interrupt()
		return
	}
	if p.signal == nil {
		p.signal = sig
	} else if sig == syscall.SIGHUP && p.signal == sig {
		return // a terminal that goes away sends it twice
	}
	if sig == syscall.SIGHUP && p.gone {
		return // its input has told so already
	}
	p.leave()
}

// interrupt is what Ctrl-C does: it stops what runs, or clears the input. Twice in a row it ends
// the conversation, and once more at once.
func (p *program) interrupt() {
	if p.armed || p.leaving {
		p.leave()
		return
	}
	p.armed, p.dirty = true, true
	switch {
	case p.task != nil:
		p.task.stop()
		p.stopping = true
		p.hint = "interrupted; Ctrl-C again ends the conversation"
	case !p.editor.Empty():
		p.editor.Set("")
		p.hint = "Ctrl-C again ends the conversation"
	default:
		p.hint = "Ctrl-C again ends the conversation"
	}
}
