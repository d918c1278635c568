package agent

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"weak"

	"github.com/attractor-go/attractor/llm"
)

// eventLog is what cursors read: the facts of a session by their numbers, and the text so far of what is still on its way. When a
// text or a thought has ended, one delta stands for its many, and shares its text with the fact and the history. Live output is
// gone when its call has ended, and of long outputs stays what the model saw. So the log grows with the facts alone. Its
// user locks.
type eventLog struct {
	events   []Event
	open     []*run
	thoughts []int64 // of the model call that is open: the numbers of their deltas
	seed     maphash.Seed
	size     int64 // of events, about, in bytes
	media    mediaLog
}

// add enters an event that has its number, and the record that it comes of, if any.
func (l *eventLog) add(ev Event, rec record) {
	if key, text, ok := deltaOf(ev); ok {
		l.runOf(key).add(ev, text)
		return
	}
	fact, agents := innermost(ev)
	l.finish(fact, agents)
	switch e := fact.(type) {
	case *AssistantTextStart:
		l.runOf(textKey(agents, e.Block))
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

// after returns the index of the first event with a higher number.
func (l *eventLog) after(seq int64) int {
	i, _ := slices.BinarySearchFunc(l.events, seq+1, func(ev Event, seq int64) int { return cmp.Compare(ev.Head().Seq, seq) })
	return i
}

func (l *eventLog) find(key runKey) *run {
	for _, r := range l.open {
		if r.key == key {
			return r
		}
	}
	return nil
}

func (l *eventLog) runOf(key runKey) *run {
	r := l.find(key)
	if r == nil {
		r = newRun(key)
		l.open = append(l.open, r)
	}
	return r
}

// finish ends the runs that a fact ends. A joined delta takes the place of its last piece, which may be before other facts.
func (l *eventLog) finish(fact Event, agents string) {
	l.open = slices.DeleteFunc(l.open, func(r *run) bool {
		if !ends(fact, agents, r.key) {
			return false
		}
		if r.newest == nil || r.output != nil {
			return true
		}
		text := r.text.String()
		if end, ok := fact.(*AssistantTextEnd); ok && end.Text == text {
			text = end.Text
		} else {
			text = strings.Clone(text) // without the room that the builder has left
		}
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

// share lets the thoughts of a model call that has ended be the strings that the history holds.
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

// shortEvent stands in the log for the end of a call whose output the model did not get whole.
type shortEvent struct {
	Event              // with what the model got
	whole func() Event // what it stands for, nil when nobody else holds that any more
	end   *ToolCallEnd // what is in Event, when the session's store may have the whole output
	// The whole output is complete, and has this hash.
	complete bool
	hash     uint64
}

// shorten returns a call's end with the text that the history holds, and as it is when that is all. What comes without a record, as the
// calls of subagents do, keeps the head and the tail of a long output.
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

// weakly returns an event for as long as somebody else holds it, such as OnEvent or a host.
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

// orNil makes a nil pointer a nil Event.
func orNil[T any, P interface {
	*T
	Event
}](p P) Event {
	if p == nil {
		return nil
	}
	return p
}

// mediaKept is how much of the data of media the log holds, in bytes. A log that is full of images must not end a session; who wants the
// older ones reads the journal.
const mediaKept = 64 << 20

// mediaLog knows the events that have data of media.
type mediaLog struct {
	seqs []int64 // the oldest first
	size int64
}

// keepMedia notes the data of an event's media, and drops the oldest for which there is no room.
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

func sizeOfMedia(ev Event) (size int64) {
	if end, ok := endOf(ev); ok {
		for _, m := range end.Media {
			size += int64(len(m.Data))
		}
	}
	return size
}

func endOf(ev Event) (*ToolCallEnd, bool) {
	fact, _ := innermost(ev)
	end, ok := fact.(*ToolCallEnd)
	return end, ok
}

// withoutMedia returns a copy of a call's end in which the media have no data.
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
