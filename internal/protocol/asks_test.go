package protocol_test

import (
	"testing"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
)

// The event of an ask is the same for as long as the ask is open. Arguments that are no object are
// shown as TOOL_CALL_START does.
func TestN2_EventsOfAsks(t *testing.T) {
	events := make(chan attractor.Event, 2)
	asks := protocol.NewAsks(func(ev attractor.Event) { events <- ev },
		func(q permit.Question) string { return "about " + q.Call.Name })
	answered := make(chan error)
	go func() {
		q := permit.Question{}
		q.Call = llm.ToolCall{Name: "apply_patch", Args: "*** Begin Patch"}
		_, err := asks.Approve(t.Context(), q)
		answered <- err
	}()
	ev := (<-events).(*protocol.ApprovalRequested)
	if string(ev.Arguments) != `{"_raw":"*** Begin Patch"}` || ev.Text != "about apply_patch" ||
		ev.Kind != "APPROVAL_REQUESTED" {
		t.Errorf("%+v", ev)
	}
	if open := asks.Events(); len(open) != 1 || open[0] != attractor.Event(ev) {
		t.Errorf("open: %v", open)
	}
	if err := asks.Decide(ev.ID, permit.Answer{}); err != nil {
		t.Error(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if end := (<-events).(*protocol.AskEnded); end.ID != ev.ID || end.End != permit.EndAnswered ||
		len(asks.Events()) != 0 {
		t.Errorf("%+v, open: %v", end, asks.Events())
	}
}
