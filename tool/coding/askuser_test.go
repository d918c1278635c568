package coding

import (
	"context"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/tool"
)

// answeringSession is a session whose host answers questions.
type answeringSession struct {
	tool.Plain
	asked tool.Question
	err   error
}

func (p *answeringSession) Ask(_ context.Context, q tool.Question) (tool.Answer, error) {
	p.asked = q
	return tool.Answer{Text: "the second"}, p.err
}

func TestA1_AskUser(t *testing.T) {
	b, p := newFixture(t), &answeringSession{}
	args := object{"question": "which?", "options": []string{"a", "b"}}
	o := b.runCall(context.Background(), AskUser(), args, tool.Call{Session: p})
	if o.IsError || o.Model.Text() != "the second" || p.asked.Text != "which?" || strings.Join(p.asked.Options,
		",") != "a,b" {
		t.Errorf("%q, asked %+v", o.Model.Text(), p.asked)
	}
	p.err = context.Canceled
	o = b.runCall(context.Background(), AskUser(), args, tool.Call{Session: p})
	if !o.IsError {
		t.Errorf("a question without an answer: %q", o.Model.Text())
	}
	b.fails(AskUser(), args, "nobody")
	b.fails(AskUser(), object{"question": " \n"}, "empty")
	b.fails(AskUser(), object{}, "question")
	if AskUser().Needs != tool.NeedsAnswers {
		t.Error("it is offered to everybody")
	}
}
