package chat

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/tty"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// question asks the person for a line.
type question struct {
	label  string
	draft  tty.Editor // what the person was typing before
	asked  time.Time  // what was typed earlier is no answer
	unread int        // bytes that were typed earlier and come later
	edits  bool       // Escape gives up
	reply  chan reply
}

// reply is what a person has typed.
type reply struct {
	line string
	gone bool // they gave up
}

// errEnded means that the conversation is over.
var errEnded = errors.New("the conversation has ended")

// person implements [render.Editor] for other goroutines.
type person struct{ *program }

// approve asks about a tool call.
func (p *program) approve(ctx context.Context, q permit.Question) (permit.Answer, error) {
	return render.Approve(ctx, person{p}, p.Keep, q)
}

// reply puts a question of the model to the person.
func (p *program) reply(ctx context.Context, q tool.Question) (tool.Answer, error) {
	return render.Reply(ctx, person{p}, q)
}

// Take implements [render.Person].
func (p person) Take(ctx context.Context) (release func(), err error) {
	return p.turn.Take(ctx)
}

// Say implements [render.Person].
func (p person) Say(text string) { p.post(func() { p.say(render.InRows(text, p.columns())) }) }

// columns returns how many columns a row has.
func (p *program) columns() int {
	if p.Style.Width > 0 {
		return p.Style.Width
	}
	width, _ := tty.Size(p.Out) // of a terminal on which nothing moves
	return width - 1
}

// Discard implements [render.Person]: what was typed before a line is asked for is no answer to it.
func (p person) Discard() {}

// ReadLine implements [render.Person].
func (p person) ReadLine(ctx context.Context, label string) (string, error) {
	answer, err := p.ask(ctx, &question{label: label}, "")
	return strings.TrimSpace(answer.line), err
}

// Edit implements [render.Editor].
func (p person) Edit(ctx context.Context, label, text string) (changed string, ok bool, err error) {
	answer, err := p.ask(ctx, &question{label: label, edits: true}, text)
	return answer.line, err == nil && !answer.gone, err
}

// ask waits for a line.
func (p *program) ask(ctx context.Context, q *question, text string) (reply, error) {
	q.reply = make(chan reply, 1)
	if !p.post(func() { p.openQuestion(ctx, q, text) }) {
		return reply{}, errEnded
	}
	select {
	case answer := <-q.reply:
		return answer, nil
	case <-ctx.Done():
		p.post(func() { p.withdraw(q, context.Cause(ctx)) })
		return reply{}, context.Cause(ctx)
	case <-p.ended:
		return reply{}, errEnded
	}
}

// openQuestion makes the input line answer a question. What the person was typing comes back after
// the answer.
func (p *program) openQuestion(ctx context.Context, q *question, text string) {
	if ctx.Err() != nil {
		return
	}
	q.draft, p.editor = p.editor, tty.Editor{}
	p.editor.Set(text)
	p.question, p.armed, p.hint, p.dirty = q, false, "", true
	if q.edits {
		p.hint = "Enter runs it as changed, Esc goes back to the question"
	}
	q.asked = time.Now() // before the question is on the screen, where somebody may answer at once
	if p.doubtful && q.asked.Sub(p.withdrawn) < render.ForgottenAfter {
		q.asked = q.asked.Add(render.WithdrawnFor)
	}
	p.doubtful = false
	q.unread = p.front.discard()
	p.refresh(true)
	p.front.bell()
}

// closeQuestion ends a question, answered or not.
func (p *program) closeQuestion(q *question) {
	if p.question != q {
		return
	}
	p.editor, p.question, p.dirty = q.draft, nil, true
}

// answer answers the open question.
func (p *program) answer(answer reply) {
	q := p.question
	if !answer.gone && !p.echoed {
		p.say(q.label + render.OneLine(answer.line))
	}
	p.closeQuestion(q)
	q.reply <- answer
}
