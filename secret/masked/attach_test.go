package masked_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret/masked"
	"github.com/attractor-go/attractor/tool"
)

// Attach also wraps questions and the journals of subagents, and changes no value that several
// sessions may share.
func TestQ3_AttachWrapsOptionalDoors(t *testing.T) {
	var asked tool.Question
	client, questions := &llm.Client{}, &agent.Questions{Answer: func(_ context.Context, q tool.Question) (tool.Answer,
		error) {
		asked = q
		return tool.Answer{}, nil
	}}
	store := journal.NewMemoryStore(false)
	agents := &agent.Subagents{Journal: store.Create}
	o := agent.Options{Client: client, Questions: questions, Subagents: agents}
	refuse := func(context.Context, tool.Request) (tool.Decision, error) {
		return tool.Decision{Reason: "It is " + key + "."}, errors.New("it was " + key)
	}
	o.Authorize, o.Approve = refuse, refuse
	o.BeforeStop = func(context.Context, agent.Stop) (string, error) { return "It is " + key + ".", nil }
	masked.Attach(masker(t), &o)
	for _, hook := range []tool.Authorize{o.Authorize, o.Approve} {
		if d, err := hook(t.Context(), tool.Request{}); err == nil || err.Error() != "it was [secret CANARY]" ||
			d.Reason != "It is [secret CANARY]." {
			t.Errorf("a call is refused by %q, %v", d.Reason, err)
		}
	}
	if prompt, err := o.BeforeStop(t.Context(), agent.Stop{}); err != nil || prompt != "It is [secret CANARY]." {
		t.Errorf("the agent is sent back by %q, %v", prompt, err)
	}

	if _, err := o.Questions.Answer(t.Context(), tool.Question{Text: "Is it " + key + "?"}); err != nil {
		t.Fatal(err)
	}
	if got := asked.Text; got != "Is it [secret CANARY]?" {
		t.Errorf("the host was asked %q", got)
	}
	l, err := o.Subagents.Journal(t.Context(), "child")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), 1, journal.Record{Data: []byte(`{"system":"` + key + `"}`)}); err != nil {
		t.Fatal(err)
	}
	for r, err := range l.Records(t.Context(), 1) {
		if err != nil || strings.Contains(string(r.Data), key) {
			t.Errorf("the subagent's journal begins with %s, %v", r.Data, err)
		}
	}
	if len(client.Middleware) != 0 || o.Client == client || o.Questions == questions || o.Subagents == agents {
		t.Error("Attach has changed what the options point to")
	}

	var empty agent.Options
	masked.Attach(masker(t), &empty)
	if empty.Client != nil || empty.Questions != nil || empty.Subagents != nil || empty.OnEvent != nil ||
		empty.Authorize != nil || empty.Approve != nil || empty.BeforeStop != nil {
		t.Errorf("doors that were closed are open: %+v", empty)
	}
}
