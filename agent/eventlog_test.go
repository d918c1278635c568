package agent

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/attractor-go/attractor/llm"
)

func newPlayer(on func(Event)) *eventPlayer {
	return &eventPlayer{stream: newEventStream("main", time.Now, on)}
}

// readAll returns the events that a cursor can get without waiting.
func (c *cursor) readAll() []Event {
	var all []Event
	for {
		c.stream.mu.Lock()
		ev := c.take(&c.stream.log)
		c.stream.mu.Unlock()
		if ev == nil {
			return all
		}
		all = append(all, ev)
	}
}

// summary formats events, one a line.
func summary(events []Event) string {
	var b strings.Builder
	for _, ev := range events {
		fmt.Fprintf(&b, "%d %s", ev.Head().Seq, ev.Head().Kind)
		if _, text, ok := deltaOf(ev); ok {
			fmt.Fprintf(&b, " %q", text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// The deltas that a cursor gets depend on when it reads: one by one, joined, or the rest of them.
func TestB_CursorJoinsDeltas(t *testing.T) {
	p := newPlayer(nil)
	early, late := &cursor{stream: p.stream}, &cursor{stream: p.stream}
	expect := func(c *cursor, want string) {
		t.Helper()
		if got := summary(c.readAll()); got != want {
			t.Errorf("saw\n%swant\n%s", got, want)
		}
	}
	p.think(1)
	expect(early, "1 STEP_START\n2 THINKING_DELTA \"1é\\n\"\n")
	p.think(1)
	p.text(1)
	p.stream.emit(&Warning{})
	p.text(1)
	expect(late, "1 STEP_START\n3 THINKING_DELTA \"1é\\n2é\\n\"\n4 ASSISTANT_TEXT_START\n6 WARNING\n7 "+
		"ASSISTANT_TEXT_DELTA \"3é\\n4é\\n\"\n")
	p.text(1)
	p.text(1)
	p.answer()
	rest := "10 ASSISTANT_TEXT_END\n11 STEP_END\n"
	expect(late, "9 ASSISTANT_TEXT_DELTA \"5é\\n6é\\n\"\n"+rest)
	expect(early, "3 THINKING_DELTA \"2é\\n\"\n4 ASSISTANT_TEXT_START\n6 WARNING\n9 ASSISTANT_TEXT_DELTA "+
		"\"3é\\n4é\\n5é\\n6é\\n\"\n"+rest)
	p.think(1)
	expect(early, "12 STEP_START\n13 THINKING_DELTA \"7é\\n\"\n")
}

// If a middleware changes the final text, a cursor gets the text as it was streamed.
func TestB_CursorKeepsTheStreamedText(t *testing.T) {
	p := newPlayer(nil)
	c := &cursor{stream: p.stream}
	p.stream.emit(&StepStart{}, &AssistantTextStart{}, &AssistantTextDelta{Text: "a secret"})
	c.readAll()
	p.stream.emit(&AssistantTextDelta{Text: " key"}, &AssistantTextEnd{Text: "-"}, &StepEnd{})
	if got, want := summary(c.readAll()),
		"4 ASSISTANT_TEXT_DELTA \" key\"\n5 ASSISTANT_TEXT_END\n6 STEP_END\n"; got != want {
		t.Errorf("saw\n%swant\n%s", got, want)
	}
}

// Live output of any length is kept as head and tail with exact counts, and dropped when the call
// has ended.
func TestB_CursorLiveOutput(t *testing.T) {
	p := newPlayer(nil)
	early, late := &cursor{stream: p.stream}, &cursor{stream: p.stream}
	p.call()
	print := func(text string) {
		p.stream.emit(&ToolCallOutputDelta{CallID: "call_1", Stream: "stdout", Text: text})
	}
	print("begin\n")
	early.readAll()
	printed := "begin\n"
	for range 5000 {
		line := p.say(20)
		printed += line
		print(line)
	}
	for name, c := range map[string]*cursor{"early": early, "late": late} {
		events := c.readAll()
		_, text, _ := deltaOf(events[len(events)-1])
		if name == "early" {
			text = "begin\n" + text
		}
		if len(text) > 2*liveKept+60 || len(text) < 2*liveKept || strings.Count(text, "left out") != 1 {
			t.Errorf("%s: %d bytes: %.100q", name, len(text), text)
		}
		if at := follow(printed, text); at != len(printed) {
			t.Errorf("%s: the parts lead to %d of %d", name, at, len(printed))
		}
	}
	print("the end\n")
	if got, want := summary(early.readAll()), "5003 TOOL_CALL_OUTPUT_DELTA \"the end\\n\"\n"; got != want {
		t.Errorf("saw %s, want %s", got, want)
	}
	print("unseen")
	p.end(0, 10)
	never := &cursor{stream: p.stream}
	for _, c := range []*cursor{early, never} {
		if got := summary(c.readAll()); strings.Contains(got, "DELTA") || !strings.HasSuffix(got, "TOOL_CALL_END\n") {
			t.Errorf("after the end: %s", got)
		}
	}
	if len(early.seen) != 0 {
		t.Errorf("the cursor remembers %v", early.seen)
	}
}

// A cursor that has read more than the head gets the count of bytes that it missed since then. No
// character is split.
func TestB_CursorLiveOutputFromTheMiddle(t *testing.T) {
	p := newPlayer(nil)
	c, late := &cursor{stream: p.stream}, &cursor{stream: p.stream}
	p.call()
	printed, got := "", ""
	for _, text := range []string{"x" + strings.Repeat("é", liveKept*3/4), strings.Repeat("yé", 100),
		strings.Repeat("é", 3*liveKept) + "z"} {
		printed += text
		p.stream.emit(&ToolCallOutputDelta{CallID: "call_1", Stream: "stdout", Text: text})
		for _, ev := range c.readAll() {
			_, text, _ := deltaOf(ev)
			got += text
		}
	}
	all := late.readAll()
	_, once, _ := deltaOf(all[len(all)-1])
	for name, parts := range map[string]string{"step by step": got, "at once": once} {
		if at := follow(printed, parts); at != len(printed) || strings.Count(parts, "left out") < 1 ||
			strings.Contains(parts, "\uFFFD") {
			t.Errorf("%s: the parts lead to %d of %d", name, at, len(printed))
		}
		if !utf8.ValidString(parts) {
			t.Errorf("%s: characters are cut through", name)
		}
	}
	if strings.Count(got, "left out") != 1 {
		t.Errorf("step by step %d parts are left out, want the middle of the last", strings.Count(got, "left out"))
	}
}

// A waiting cursor gets the next event from any goroutine, and ends with its context.
func TestB_CursorWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newEventStream("main", time.Now, nil)
		seen, over := 0, false
		go func() {
			for range s.cursor(ctx) {
				seen++
			}
			over = true
		}()
		synctest.Wait()
		s.add(&Warning{}) // without delivering: its caller holds a lock
		synctest.Wait()
		if seen != 1 {
			t.Errorf("saw %d events, want the one", seen)
		}
		cancel()
		synctest.Wait()
		if !over {
			t.Error("the cursor outlives its context")
		}
	})
}

// The log shares strings with the history.
func TestB_LogSharesWithTheHistory(t *testing.T) {
	p := newPlayer(nil)
	p.text(10)
	p.text(10)
	parts := llm.Parts{llm.Text{Text: strings.Clone(p.texts[0])}}
	p.commit(answerRecord{Message: llm.Message{Parts: parts}})
	result := resultRecord{CallID: "a", Content: llm.TextParts(strings.Repeat("x", 100_000))}
	p.commit(result)
	held := map[Kind]string{}
	for _, ev := range (&cursor{stream: p.stream}).readAll() {
		switch e := ev.(type) {
		case *AssistantTextDelta:
			held[e.Kind] = e.Text
		case *AssistantTextEnd:
			held[e.Kind] = e.Text
		case *ToolCallEnd:
			held[Kind(e.CallID)] = e.Output
		}
	}
	for name, want := range map[Kind]string{"ASSISTANT_TEXT_DELTA": parts[0].(llm.Text).Text,
		"ASSISTANT_TEXT_END": parts[0].(llm.Text).Text,
		"a":                  result.Content[0].(llm.Text).Text} {
		if got := held[name]; got != want || unsafe.StringData(got) != unsafe.StringData(want) {
			t.Errorf("%s has %d bytes of its own, want the %d of the history", name, len(got), len(want))
		}
	}
}

// A cursor that has fallen behind gets one event with the numbers that it missed, and then what is
// kept. Nothing else comes of it.
func TestI9_CursorsThatFallBehind(t *testing.T) {
	p := newPlayer(nil)
	c := &cursor{stream: p.stream}
	for range keptEvents + keptEvents/10 + 1 {
		p.stream.emit(&Warning{Code: "x"})
	}
	if gap, ok := c.nextUpTo(1 << 40).(*Gap); !ok || gap.First != 1 || gap.Last != keptEvents/10+1 ||
		gap.Kind != KindGap {
		t.Errorf("the first event is %+v", gap)
	}
	for n := range int64(keptEvents) {
		if ev := c.nextUpTo(1 << 40); ev == nil || ev.Head().Seq != keptEvents/10+2+n {
			t.Fatalf("event %d is %+v", keptEvents/10+2+n, ev)
		}
	}
	p.stream.emit(&ToolCallEnd{Output: strings.Repeat("x", keptBytes+1)}, &Warning{Code: "x"})
	if n := len(p.stream.log.events); n != 1 || p.stream.log.size > keptBytes {
		t.Errorf("%d events with %d bytes are kept", n, p.stream.log.size)
	}
}

// A cursor that is not read does not block the session, and the log does not grow for it.
func TestB_BlockedCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := newPlayer(func(Event) {})
		p.text(10)
		release := make(chan struct{})
		go func() {
			for range p.stream.cursor(ctx) {
				<-release
			}
		}()
		synctest.Wait()
		before := heap()
		p.call()
		for range 200 {
			p.stream.emit(&ToolCallOutputDelta{CallID: "call_1", Stream: "stdout", Text: strings.Repeat("x", 100_000)})
		}
		if grown := heap() - before; grown > 1<<20 {
			t.Errorf("the log grew by %d bytes with 20 MB of live output", grown)
		}
		cancel() // the cursor ends, whatever is left
		close(release)
		synctest.Wait()
	})
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The log's memory at rest, and per turn of text, is small enough for a thousand sessions.
func TestB_MemoryOfTheLog(t *testing.T) {
	const streams, turns = 1000, 100
	before := heap()
	players := make([]*eventPlayer, streams)
	for i := range players {
		players[i] = newPlayer(func(Event) {})
		players[i].stream.emit(&SessionStart{})
	}
	idle := (heap() - before) / streams
	before = heap()
	text := strings.Repeat("x", 2000)
	rec := answerRecord{Message: llm.Message{Parts: llm.Parts{llm.Text{Text: text}}}}
	for _, p := range players[:10] {
		for range turns {
			p.stream.emit(&StepStart{}, &AssistantTextStart{})
			for range 20 {
				p.stream.emit(&AssistantTextDelta{Text: text[:100]})
			}
			p.commit(rec)
		}
	}
	turn := (heap() - before) / (10 * turns)
	runtime.KeepAlive(players)
	t.Logf("%d bytes for a stream at rest, %d for a turn of text beside the text", idle, turn)
	if idle > 2<<10 || turn > 1<<10 {
		t.Errorf("%d bytes at rest, want 2 KiB; %d bytes for a turn, want 1 KiB", idle, turn)
	}
}
