package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// The event log counts the size of every part of a result that can be long.
func TestJ4_StructureCountsInTheLog(t *testing.T) {
	const much = 1 << 20
	long := strings.Repeat("x", much)
	for name, e := range map[string]*ToolCallEnd{
		"a diff":         {Changes: []tool.Change{{Diff: long}}},
		"structured":     {Structured: json.RawMessage(long)},
		"media":          {Media: []llm.Media{{Data: []byte(long)}}},
		"left processes": {Ran: &tool.Ran{Exit: &env.Exit{Left: []string{long}}}},
		"an error":       {Ran: &tool.Ran{Err: long}},
	} {
		if n := sizeOfEvent(e); n < much {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

// The log keeps only the newest media, however an event is wrapped, so old images use neither memory nor the log's limit.
func TestJ4_LogKeepsTheNewestMedia(t *testing.T) {
	const size = mediaKept / 4
	var l eventLog
	data := make([]byte, size)
	for n := range int64(10) {
		head := EventHeader{Seq: n + 1}
		end := &ToolCallEnd{EventHeader: head, CallID: "c", OutputRef: "c", Output: strings.Repeat("x", 3*liveKept), Media: []llm.Media{{MIME: "image/png", Data: data}}}
		var ev Event = end
		if n%3 == 1 {
			ev = &SubagentEvent{EventHeader: head, AgentID: "a", Event: end}
		}
		if n%3 == 2 {
			end.Output = "short"
		}
		l.add(ev, nil)
		if end.Media[0].Data == nil {
			t.Fatal("an event that hosts have was changed")
		}
	}
	if l.size > mediaKept+1<<20 {
		t.Errorf("the log has %d bytes", l.size)
	}
	for i, ev := range l.events {
		end, ok := endOf(ev)
		if !ok || ev.Head().Seq != int64(i+1) || len(end.Media) != 1 {
			t.Fatalf("event %d: %+v", i+1, ev.Head())
		}
		if short, ok := ev.(*shortEvent); ok && short.end != nil && len(short.end.Media[0].Data) != len(end.Media[0].Data) {
			t.Errorf("event %d comes with other media when its output is read again", i+1)
		}
		if kept := len(end.Media[0].Data) > 0; kept != (i >= 6) {
			t.Errorf("event %d has its data: %v", i+1, kept)
		}
	}
}
