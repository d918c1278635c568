package agent

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// cursorSchedule describes a session of two agents, and cursors on it.
type cursorSchedule struct {
	acts    []playerAct
	readers []cursorReader
}

type playerAct struct {
	child   bool
	what, n int
	pause   time.Duration
}

type cursorReader struct {
	start time.Duration
	waits []time.Duration // between events, repeated
	stop  time.Duration   // when its context ends; 0 means never
	seen  []Event
}

// drawSchedule draws a random cursorSchedule.
func drawSchedule(t *rapid.T) cursorSchedule {
	ms := func(label string, most int) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * time.Millisecond
	}
	var s cursorSchedule
	for range rapid.IntRange(1, 120).Draw(t, "acts") {
		s.acts = append(s.acts, playerAct{rapid.Bool().Draw(t, "child"), rapid.IntRange(0, playerActs-1).Draw(t, "act"),
			rapid.IntRange(1, 900).Draw(t, "n"), ms("pause", 3)})
	}
	for range rapid.IntRange(1, 5).Draw(t, "cursors") {
		r := cursorReader{start: ms("start", 200), waits: []time.Duration{0}}
		for range rapid.IntRange(0, 4).Draw(t, "speeds") {
			r.waits = append(r.waits, ms("wait", 40))
		}
		if rapid.IntRange(0, 3).Draw(t, "stops") == 0 {
			r.stop = r.start + ms("stop", 200)
		}
		s.readers = append(s.readers, r)
	}
	return s
}

// play runs a cursorSchedule in virtual time and returns the events that OnEvent got. Problem is
// the first violation in the log.
func (s *cursorSchedule) play(t *testing.T) (all []Event, problem error) {
	synctest.Test(t, func(t *testing.T) {
		main := &eventPlayer{stream: newEventStream("main", time.Now, func(ev Event) { all = append(all, ev) })}
		child := &eventPlayer{stream: newEventStream("child", time.Now, func(ev Event) {
			main.stream.emit(&SubagentEvent{AgentID: "agent-1", Event: ev})
		})}
		var readers sync.WaitGroup
		for i := range s.readers {
			readers.Go(func() { s.readers[i].read(t.Context(), main.stream) })
		}
		main.stream.emit(&SessionStart{})
		child.stream.emit(&SessionStart{})
		for _, a := range s.acts {
			p := main
			if a.child {
				p = child
			}
			p.act(a.what, a.n)
			problem = errors.Join(problem, main.stream.bounded())
			time.Sleep(a.pause)
		}
		child.finish()
		main.finish()
		problem = errors.Join(problem, main.stream.bounded())
		if n := len(main.stream.log.open); n > 0 {
			problem = errors.Join(problem, fmt.Errorf("%d runs are open at the end", n))
		}
		readers.Wait()
	})
	return all, problem
}

func (r *cursorReader) read(ctx context.Context, stream *eventStream) {
	time.Sleep(r.start)
	if r.stop > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.stop-r.start)
		defer cancel()
	}
	for ev := range stream.cursor(ctx) {
		r.seen = append(r.seen, ev)
		time.Sleep(r.waits[len(r.seen)%len(r.waits)])
	}
}

// bounded checks the deltas in the log: of a finished text only the string of its end, of live
// output only the unread part, with head and tail.
func (s *eventStream) bounded() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, ev := range s.log.events {
		key, text, delta := deltaOf(ev)
		if i > 0 && ev.Head().Seq <= s.log.events[i-1].Head().Seq {
			return fmt.Errorf("the log is not in order at %d", ev.Head().Seq)
		}
		if !delta || key.kind == "THINKING_DELTA" {
			continue
		}
		shared := false
		for _, later := range s.log.events[i:] {
			fact, agents := innermost(later)
			if end, ok := fact.(*AssistantTextEnd); ok && ends(fact, agents, key) {
				shared = unsafe.StringData(end.Text) == unsafe.StringData(text)
				break
			}
		}
		if !shared {
			return fmt.Errorf("the log holds %d bytes of %s of its own", len(text), ev.Head().Kind)
		}
	}
	for _, r := range s.log.open {
		if r.output != nil && len(r.since(0)) > 2*liveKept+100 {
			return fmt.Errorf("the log holds %d bytes of live output", len(r.since(0)))
		}
	}
	return nil
}

// Cursors that read at random times get the same events as OnEvent, with deltas joined.
func TestB_Cursors(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		s := drawSchedule(rt)
		all, problem := s.play(t)
		if problem != nil {
			rt.Fatal(problem)
		}
		for i, r := range s.readers {
			if err := checkCursor(all, r.seen, r.stop == 0); err != nil {
				rt.Fatalf("cursor %d: %v", i, err)
			}
		}
	})
}

// streamedTexts holds the texts that a consumer has assembled from deltas.
type streamedTexts map[streamKey]string

// add adds a delta. For a fact that ends texts, it removes them and returns them.
func (d streamedTexts) add(ev Event) (over streamedTexts) {
	if key, text, ok := deltaOf(ev); ok {
		d[key] += text
		return nil
	}
	over = streamedTexts{}
	fact, agents := innermost(ev)
	for key, text := range d {
		if ends(fact, agents, key) {
			over[key] = text
			delete(d, key)
		}
	}
	return over
}

// checkCursor compares the events of a cursor with those of OnEvent.
func checkCursor(all, seen []Event, complete bool) error {
	want, got := streamedTexts{}, streamedTexts{}
	last := int64(0)
	for _, ev := range seen {
		seq := ev.Head().Seq
		if seq <= last {
			return fmt.Errorf("%d follows %d", seq, last)
		}
		last = seq
		over := got.add(ev)
		if over == nil {
			continue
		}
		var fact Event
		var wanted streamedTexts
		for fact == nil {
			if len(all) == 0 {
				return fmt.Errorf("%d %s follows the last", seq, ev.Head().Kind)
			}
			if wanted = want.add(all[0]); wanted != nil {
				fact = all[0]
			}
			all = all[1:]
		}
		if err := sameFact(fact, ev); err != nil {
			return err
		}
		if err := sameText(wanted, over); err != nil {
			return fmt.Errorf("at %d: %w", seq, err)
		}
	}
	if complete && len(all) > 0 {
		return fmt.Errorf("%d events are missing, from %d on", len(all), all[0].Head().Seq)
	}
	return nil
}

// sameFact compares two facts. The end of a call may have only the model's part of the output.
func sameFact(want, got Event) error {
	if *want.Head() != *got.Head() {
		return fmt.Errorf("%+v, want %+v", *got.Head(), *want.Head())
	}
	w, _ := innermost(want)
	g, _ := innermost(got)
	short, ok := g.(*ToolCallEnd)
	if full, _ := w.(*ToolCallEnd); ok && full != nil && !short.OutputComplete && full.OutputComplete {
		c := *full
		c.OutputComplete, c.Output = false, short.Output
		want, got = &c, short
		if !strings.HasPrefix(full.Output, short.Output[:min(len(short.Output), 5000)]) {
			return fmt.Errorf("%d has another output", got.Head().Seq)
		}
	}
	if fmt.Sprintf("%T%+v", want, want) != fmt.Sprintf("%T%+v", got, got) {
		return fmt.Errorf("the fact %T %+v, want %T %+v", got, got, want, want)
	}
	return nil
}

var leftOut = regexp.MustCompile(`\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n`)

// sameText checks that texts and thoughts are equal and that parts of live output are in the right
// places.
func sameText(want, got streamedTexts) error {
	for key, text := range want {
		switch {
		case key.stream != "":
			if at := follow(text, got[key]); at < 0 {
				return fmt.Errorf("live output %v is not what was printed", key)
			}
		case got[key] != text:
			return fmt.Errorf("%v is %q, want %q", key, got[key], text)
		}
		delete(got, key)
	}
	if len(got) > 0 {
		return fmt.Errorf("more than there was: %v", got)
	}
	return nil
}

// follow matches parts of a text and the counts between them against the text. It returns the end
// position, or -1.
func follow(text, parts string) int {
	at := 0
	for parts != "" {
		part, gap := parts, 0
		if m := leftOut.FindStringSubmatchIndex(parts); m != nil {
			part = parts[:m[0]]
			gap, _ = strconv.Atoi(parts[m[2]:m[3]])
			parts = parts[m[1]:]
		} else {
			parts = ""
		}
		if at+len(part)+gap > len(text) || text[at:at+len(part)] != part {
			return -1
		}
		at += len(part) + gap
	}
	return at
}
