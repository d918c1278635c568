package server

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/protocol"
)

// delta returns an event of the session.
func delta(seq int64, size int) *agent.AssistantTextDelta {
	return &agent.AssistantTextDelta{EventHeader: agent.EventHeader{Kind: agent.KindAssistantTextDelta, Seq: seq},
		Text: strings.Repeat("x", size)}
}

// A feed keeps a bounded number of bytes and says when events in between are not kept. The asks
// that wait are known all the same.
func TestW4_FeedIsBounded(t *testing.T) {
	f := newFeed(func() {})
	f.event(delta(5, 10))
	f.event(&protocol.ApprovalRequested{EventHeader: agent.EventHeader{Seq: 5}, ID: "a"})
	at := eventID{5, 1}
	if events, _, ok := f.after(eventID{5, 0}); !ok || len(events) != 1 || events[0].id != at {
		t.Errorf("%v %v", events, ok)
	}
	if _, _, ok := f.after(eventID{}); ok {
		t.Error("events before the first one are taken to be kept")
	}
	for seq := range int64(1000) {
		f.event(delta(6+seq, 20_000))
	}
	if f.bytes > maxKeptBytes || len(f.events) > 450 {
		t.Errorf("%d bytes in %d events are kept", f.bytes, len(f.events))
	}
	if _, _, ok := f.after(at); ok {
		t.Error("a reader that is behind goes on")
	}
	upTo, live := f.joint()
	events, _, ok := f.after(upTo)
	if !live || !ok || len(events) == 0 || events[0].id.seq != upTo.seq+1 {
		t.Errorf("behind %v: %v %v", upTo, len(events), ok)
	}
	size := 0
	for _, e := range events {
		size += len(e.data)
	}
	if size > maxBatchBytes+len(events[0].data) {
		t.Errorf("a reader gets %d bytes at once", size)
	}
	if asks := f.asksUpTo(upTo); len(asks) != 1 || asks[0].id != at {
		t.Errorf("the asks: %v", asks)
	}
	f.rests()
	if f.bytes > restBytes || len(f.asks) > 0 || !f.isResting() {
		t.Errorf("at rest %d bytes are kept, and %d asks", f.bytes, len(f.asks))
	}
	for range maxKept + 100 {
		f.event(&agent.Warning{EventHeader: agent.EventHeader{Kind: agent.KindWarning, Seq: 7}})
	}
	if len(f.events) > maxKept || f.last.seq != 1005 {
		t.Errorf("%d events, the last one %v", len(f.events), f.last)
	}
}

// The ids of events are read as they are written, and others refused.
func TestW1_EventIDs(t *testing.T) {
	for _, text := range []string{"", "8", "8.1", "1048584.12"} {
		if id, err := parseEventID(text); err != nil || text != "" && id.String() != text {
			t.Errorf("%q: %v %v", text, id, err)
		}
	}
	for _, text := range []string{"x", "8.", ".1", "-1", "8.-1", "8.1.2", "99999999999999999999", "0x8"} {
		if id, err := parseEventID(text); err == nil {
			t.Errorf("%q is %v", text, id)
		}
	}
}
