package agent

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Project calls yield with each event of a session, read from its journal as by a [Projection]. It
// runs nothing. The session may be running.
func Project(ctx context.Context, from Records, yield func(Event)) error {
	for ev, err := range projected(ctx, from) {
		if err != nil {
			return err
		}
		yield(ev)
	}
	return ctx.Err()
}

// projected yields the events of a journal. It stops after an error.
func projected(ctx context.Context, from Records) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var p Projection
		for line, err := range lines(ctx, from) {
			var events []Event
			if err == nil {
				events, err = p.Add(line)
			}
			for _, ev := range events {
				if !yield(ev, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// A Projection turns the records of a journal into events, one after the other. Its zero value is
// ready for the first record.
//
// Each text and each thought comes in one piece, outputs come as the model saw them, and there is
// no live output. Times are those of the records. The events have the numbers that they had live, a
// text or thought the number of its last piece, so that events that were kept elsewhere can be put
// between them. A TOOL_CALL_START comes right before its TOOL_CALL_END, with a lower number than
// the events in between. Journals of older versions lack some numbers, which are then counted on.
//
// Records may be left out after the first one, for instance to see the end of a long journal. From
// then on, the projection accepts every record that it can decode. Events that cannot be made
// without the missing records do not come, such as the TOOL_CALL_START of a call whose answer was
// left out. What events count or sum up, such as steps, attempts and the usage of an input, covers
// only the records that were added, and settings are those that are known. If a record was appended
// together with a missing one, the numbers of its events may be too low.
type Projection struct {
	state  State
	stream *eventStream
	now    time.Time
	events []Event
}

// Add adds the next record and returns its events, which the caller may keep. If it returns an
// error, the projection is unchanged.
func (p *Projection) Add(line journal.Record) ([]Event, error) {
	rec, at, err := decodeRecord(line)
	if err != nil {
		return nil, err
	}
	before := p.state
	if late := before.Records > 0 && line.N > before.Records+1; late {
		p.state.leaveOut(line.N - 1)
	}
	if err := p.state.accepts(rec); err != nil {
		p.state = before
		return nil, fmt.Errorf("agent: record %d: %w", line.N, err)
	}
	return p.record(line, rec, at), nil
}

// State returns the state after the records that were added. It belongs to the projection: the
// caller must not change it, and the next Add does. If records were left out, it lacks what they
// say.
func (p *Projection) State() *State { return &p.state }

// record adds a record that fits and returns its events.
func (p *Projection) record(line journal.Record, rec record, at place) []Event {
	p.now, p.events = line.Time, nil
	if h, ok := rec.(headerRecord); ok {
		p.stream = newEventStream(h.ID, func() time.Time { return p.now }, nil)
		p.stream.direct = func(ev Event) { p.events = append(p.events, ev) }
	}
	if p.state.partial {
		p.supply(rec)
	}
	if p.stream.ended || at.Resumed > 0 { // older versions do not have it after a crash
		p.stream.reopen()
		p.earlier(numbered{p.state.resumedBy(rec), at.Resumed})
	}
	for _, ev := range preceding(rec, &p.state) {
		p.earlier(ev)
	}
	p.stream.setSeq(max(p.stream.seq, at.Seq))
	p.stream.emit(p.state.apply(rec, p.now)...)
	return p.events
}

// earlier emits an event that came before its record, with its number if that is known.
func (p *Projection) earlier(ev numbered) {
	newest := p.stream.seq
	if ev.seq > 0 {
		p.stream.setSeq(ev.seq - 1)
	}
	p.stream.emit(ev.Event)
	p.stream.setSeq(max(newest, p.stream.seq))
}

// started returns the SESSION_START of a session in a directory.
func (s *State) started(dir string, resumed bool) *SessionStart {
	return &SessionStart{Model: s.Model, Provider: s.Provider, Profile: s.Header.Profile, Dir: dir,
		Containment: cmp.Or(s.Machine.Containment, "unknown"),
		HidesHost:   s.Machine.HidesHost, Resumed: resumed, ParentID: s.Header.Parent}
}

// resumedBy returns the SESSION_START of a resume whose first record is rec, which names another
// machine if there is one.
func (s *State) resumedBy(rec record) *SessionStart {
	start := s.started(s.Dir(), true)
	if set, ok := rec.(settingRecord); ok && set.Machine != nil {
		start.Containment, start.HidesHost = cmp.Or(set.Machine.Containment, "unknown"), set.Machine.HidesHost
	}
	return start
}

// numbered is an event with the number that it had, 0 if that is not known.
type numbered struct {
	Event
	seq int64
}

// preceding returns the events that came live before a record was written.
func preceding(rec record, before *State) []numbered {
	switch r := rec.(type) {
	case answerRecord:
		return wrote(r.Message.Parts, r.Shown, before.Steps+1, r.in(before))
	case faultRecord:
		var parts llm.Parts
		for i := range r.Searches {
			parts = append(parts, llm.Opaque{Search: &r.Searches[i]})
		}
		for _, text := range r.Discarded {
			parts = append(parts, llm.Text{Text: text})
		}
		events := wrote(parts, r.Shown, before.Steps+1, r.in(before))
		slices.SortStableFunc(events, func(a, b numbered) int { return cmp.Compare(a.seq, b.seq) })
		return events
	case awaitRecord:
		if call := before.open(r.CallID); call == nil || !call.unseen {
			return []numbered{{began(r.CallID, r.Name, r.Args, r.Access, before), r.Start}}
		}
	case resultRecord:
		// otherwise it began before the question
		if call := before.open(r.CallID); call == nil || call.awaits == nil && !call.unseen {
			return []numbered{{began(r.CallID, r.Name, r.Args, r.Access, before), r.Start}}
		}
	}
	return nil
}

// wrote returns the events of what the model wrote in a model call. A text that was not streamed
// begins with its record.
func wrote(parts llm.Parts, seen shown, step, epoch int) []numbered {
	events := []numbered{{&StepStart{Step: step, Epoch: epoch}, seen.Step}}
	texts, thoughts, searches := seen.Texts, seen.Thoughts, seen.Searches
	block := 0
	for _, part := range parts {
		switch p := part.(type) {
		case llm.Thinking:
			if p.Text == "" {
				continue
			}
			events = append(events, numbered{&ThinkingDelta{Text: p.Text}, take(&thoughts)})
		case llm.Opaque:
			if p.Search == nil {
				continue
			}
			events = append(events, numbered{&WebSearch{WebSearch: *p.Search}, take(&searches)})
		case llm.Text:
			if p.Text == "" {
				continue
			}
			if len(texts) > 0 {
				events = append(events, numbered{&AssistantTextStart{Block: block}, texts[0][0]},
					numbered{&AssistantTextDelta{Block: block, Text: p.Text}, texts[0][1]})
				texts = texts[1:]
			}
			block++
		}
	}
	return events
}

// take removes the first number of a list and returns it, 0 if there is none.
func take(numbers *[]int64) (first int64) {
	if len(*numbers) > 0 {
		first, *numbers = (*numbers)[0], (*numbers)[1:]
	}
	return first
}

// began returns the TOOL_CALL_START of a call. Name is the tool's if the record tells it. Effective
// has the meaning that it has in [toolCallStart].
func began(callID, name, effective string, access *tool.Access, before *State) *ToolCallStart {
	index := before.indexOf(callID)
	call := before.Calls[index] // accepts has checked that it is there
	return toolCallStart(callID, cmp.Or(name, call.Name), index, call.Args, effective, access)
}
