package agent

import (
	"cmp"
	"hash/maphash"
	"slices"
	"weak"

	"github.com/attractor-go/attractor/llm"
)

// An eventLog holds the events that cursors read: the facts of a session by number, and the text so far of whatever is being streamed. When a
// text or a thought has ended, its deltas are joined into one, which shares its text with the fact and the history. Live output is
// dropped when its call has ended, and long outputs are cut to what the model saw. So the log grows with the facts alone. Its user
// locks it.
type eventLog struct {
	events   []Event
	open     []*streamed
	thoughts []int64 // the numbers of the deltas of thoughts, in the open model call
	seed     maphash.Seed
	size     int64 // of events, estimated, in bytes
	media    mediaLog
}

// add adds an event that has its number. Rec is its record, nil if it has none.
func (l *eventLog) add(ev Event, rec record) {
	if key, text, ok := deltaOf(ev); ok {
		l.streamedOf(key).add(ev, text)
		return
	}
	fact, agents := innermost(ev)
	l.endStreamed(fact, agents)
	switch e := fact.(type) {
	case *AssistantTextStart:
		l.streamedOf(textKey(agents, e.Block))
	case *ToolCallEnd:
		ev = l.shorten(ev, e, rec)
	case *StepEnd:
		if agents == "" {
			l.share(rec)
		}
	}
	l.events = append(l.events, ev)
	l.size += sizeOfEvent(ev)
	l.keepMedia(ev)
}

// pass adds an event to the texts that are open, and keeps nothing else of it.
func (l *eventLog) pass(ev Event) {
	if key, text, ok := deltaOf(ev); ok {
		l.streamedOf(key).add(ev, text)
		return
	}
	fact, agents := innermost(ev)
	l.open = slices.DeleteFunc(l.open, func(r *streamed) bool { return ends(fact, agents, r.key) })
	if start, ok := fact.(*AssistantTextStart); ok {
		l.streamedOf(textKey(agents, start.Block))
	}
}

// after returns the index of the first event with a higher number.
func (l *eventLog) after(seq int64) int {
	i, _ := slices.BinarySearchFunc(l.events, seq+1, func(ev Event, seq int64) int { return cmp.Compare(ev.Head().Seq, seq) })
	return i
}

// find returns the open run of a key, nil if there is none.
func (l *eventLog) find(key streamKey) *streamed {
	for _, r := range l.open {
		if r.key == key {
			return r
		}
	}
	return nil
}

// streamedOf returns the open run of a key, and opens it if there is none.
func (l *eventLog) streamedOf(key streamKey) *streamed {
	r := l.find(key)
	if r == nil {
		r = newStreamed(key)
		l.open = append(l.open, r)
	}
	return r
}

// endStreamed ends the runs that a fact ends. A joined delta takes the place of its last piece, which may stand before other facts.
func (l *eventLog) endStreamed(fact Event, agents string) {
	l.open = slices.DeleteFunc(l.open, func(r *streamed) bool {
		if !ends(fact, agents, r.key) {
			return false
		}
		if r.newest == nil || r.output != nil {
			return true
		}
		text := r.joined(fact)
		seq := r.newest.Head().Seq
		joined := retext(r.newest, text)
		l.events = slices.Insert(l.events, l.after(seq), joined)
		l.size += sizeOfEvent(joined)
		if r.key.kind == (*ThinkingDelta)(nil).kind() && agents == "" {
			l.thoughts = append(l.thoughts, seq)
		}
		return true
	})
}

// share replaces the thoughts of an ended model call by the equal strings of the history, so that memory holds them once.
func (l *eventLog) share(rec record) {
	answer, _ := rec.(answerRecord)
	for _, seq := range l.thoughts {
		joined := &l.events[l.after(seq-1)]
		_, text, _ := deltaOf(*joined)
		for _, part := range answer.Message.Parts {
			if t, ok := part.(llm.Thinking); ok && t.Text == text {
				*joined = retext(*joined, t.Text)
			}
		}
	}
	l.thoughts = l.thoughts[:0]
}

// A shortEvent stands in the log for a TOOL_CALL_END whose output the model did not get whole.
type shortEvent struct {
	Event              // with the output that the model got
	whole func() Event // returns the whole event, nil if nobody else holds it any more
	end   *ToolCallEnd // set if the session's store may have the whole output
	// Whether the whole output is complete, and its hash.
	complete bool
	hash     uint64
}

// shorten returns a call's end with the text that the history holds, or as it is if that text is whole. Without a record, as for calls of
// subagents, a long output is cut to its head and tail.
func (l *eventLog) shorten(ev Event, end *ToolCallEnd, rec record) Event {
	seen := end.Output
	if r, ok := rec.(resultRecord); ok {
		seen = r.Content.Text()
	} else if n := len(seen); n > 2*liveKept {
		seen = joinAround(seen[:liveKept], int64(n-2*liveKept), seen[n-liveKept:])
	}
	if seen == end.Output {
		return ev
	}
	short := *end
	short.Output, short.OutputComplete = seen, false
	s := &shortEvent{Event: rewrap(ev, &short), whole: weakly(ev)}
	if ev == Event(end) && end.OutputRef != "" {
		if l.seed == (maphash.Seed{}) {
			l.seed = maphash.MakeSeed()
		}
		s.end, s.complete, s.hash = &short, end.OutputComplete, maphash.String(l.seed, end.Output)
	}
	return s
}

// weakly returns a function that returns the event as long as somebody else holds it.
func weakly(ev Event) func() Event {
	switch e := ev.(type) {
	case *ToolCallEnd:
		p := weak.Make(e)
		return func() Event { return orNil(p.Value()) }
	case *SubagentEvent:
		p := weak.Make(e)
		return func() Event { return orNil(p.Value()) }
	}
	return func() Event { return nil }
}

// orNil returns a nil Event for a nil pointer.
func orNil[T any, P interface {
	*T
	Event
}](p P) Event {
	if p == nil {
		return nil
	}
	return p
}

// mediaKept limits the data of media in the log, in bytes. A log that is full of images must not end a session; the journal has the older
// ones.
const mediaKept = 64 << 20

// A mediaLog lists the events that hold data of media.
type mediaLog struct {
	seqs []int64 // the oldest first
	size int64
}

// keepMedia lists an event that has media, and drops the data of the oldest while there is too much.
func (l *eventLog) keepMedia(ev Event) {
	size := sizeOfMedia(ev)
	if size == 0 {
		return
	}
	l.media.seqs, l.media.size = append(l.media.seqs, ev.Head().Seq), l.media.size+size
	for l.media.size > mediaKept && len(l.media.seqs) > 1 {
		old := &l.events[l.after(l.media.seqs[0]-1)]
		dropped := sizeOfMedia(*old)
		*old = withoutMedia(*old)
		l.media.seqs, l.media.size, l.size = l.media.seqs[1:], l.media.size-dropped, l.size-dropped
	}
}

// sizeOfMedia returns the size of an event's media, in bytes.
func sizeOfMedia(ev Event) (size int64) {
	if end, ok := endOf(ev); ok {
		for _, m := range end.Media {
			size += int64(len(m.Data))
		}
	}
	return size
}

// endOf returns the TOOL_CALL_END in an event, if it is one.
func endOf(ev Event) (*ToolCallEnd, bool) {
	fact, _ := innermost(ev)
	end, ok := fact.(*ToolCallEnd)
	return end, ok
}

// withoutMedia returns a copy of a call's end whose media have no data.
func withoutMedia(ev Event) Event {
	end, ok := endOf(ev)
	if !ok {
		return ev
	}
	bare := *end
	bare.Media = slices.Clone(end.Media)
	for i := range bare.Media {
		bare.Media[i].Data = nil
	}
	short, ok := ev.(*shortEvent)
	if !ok {
		return rewrap(ev, &bare)
	}
	s := *short
	s.Event = rewrap(short.Event, &bare)
	if s.end != nil {
		s.end = &bare
	}
	return &s
}
