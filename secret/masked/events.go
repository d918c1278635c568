package masked

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/secret"
)

// Events returns an OnEvent that masks all texts of events before show gets them. The deltas of one
// text are masked together: the end of a delta that may be the beginning of a secret comes with the
// next delta, or in one more delta before the text ends. The additional delta has a Seq of its own.
// If an event behind it has that Seq, it is shown with the next one, until a delta that is held
// back leaves a number free. So the numbers rise, but may be greater than those of
// [agent.Session.Events]. It is called with one event at a time, as OnEvent is. A nil show returns
// nil.
func Events(m *secret.Masker, show func(agent.Event)) func(agent.Event) {
	if show == nil {
		return nil
	}
	e := &events{masker: m, shown: map[string]int64{}}
	return func(ev agent.Event) {
		rests, masked := e.mask(ev)
		for _, rest := range rests {
			show(e.number(rest))
		}
		if masked != nil {
			show(e.number(masked))
		}
	}
}

// Event returns a copy of an event in which all texts are masked, or the event itself if there are
// none. It is for events whose texts are whole, such as those of an [agent.Projection]; [Events]
// masks deltas. A nil masker returns the event.
func Event(m *secret.Masker, ev agent.Event) agent.Event {
	if m == nil {
		return ev
	}
	return fields(m, ev)
}

// events masks the events of a session and of its subagents.
type events struct {
	masker *secret.Masker
	texts  []*delta         // the texts that have begun
	shown  map[string]int64 // the last Seq of the sessions that have not ended
}

// text identifies a text that comes in deltas.
type text struct {
	session string
	kind    agent.Kind
	block   int
	call    string
	stream  string
}

// delta holds the state of one text and the last of its deltas, from which the one with the rest is
// made.
type delta struct {
	text
	stream *secret.Stream
	last   agent.Event
}

// mask returns what is to be shown for an event: the rests of texts that end with it, and the event
// itself, nil if all of it is held back.
func (e *events) mask(ev agent.Event) (rests []agent.Event, masked agent.Event) {
	switch ev := ev.(type) {
	case *agent.AssistantTextDelta:
		return nil, e.delta(text{ev.SessionID, ev.Kind, ev.Block, "", ""}, ev, &ev.Text)
	case *agent.ThinkingDelta:
		return nil, e.delta(text{ev.SessionID, ev.Kind, 0, "", ""}, ev, &ev.Text)
	case *agent.ToolCallOutputDelta:
		return nil, e.delta(text{ev.SessionID, ev.Kind, 0, ev.CallID, ev.Stream}, ev, &ev.Text)
	case *agent.SubagentEvent:
		rests, inner := e.mask(ev.Event)
		for i, rest := range rests {
			rests[i] = &agent.SubagentEvent{EventHeader: ev.EventHeader, AgentID: ev.AgentID, CallID: ev.CallID,
				Event: e.number(rest)}
		}
		if inner == nil {
			return rests, nil
		}
		if inner = e.number(inner); inner == ev.Event {
			return rests, ev
		}
		return rests, &agent.SubagentEvent{EventHeader: ev.EventHeader, AgentID: ev.AgentID, CallID: ev.CallID,
			Event: inner}
	case *agent.SessionStart: // a session that is resumed goes on with numbers of its own
		delete(e.shown, ev.SessionID)
	}
	return e.rests(ev), fields(e.masker, ev)
}

// number returns an event whose Seq is greater than that of the events of its session before it:
// the event itself, or a copy.
func (e *events) number(ev agent.Event) agent.Event {
	head := ev.Head()
	if head.Seq == 0 { // not of a session
		return ev
	}
	if last := e.shown[head.SessionID]; head.Seq <= last {
		ev = copied(ev)
		ev.Head().Seq = last + 1
	}
	e.shown[head.SessionID] = ev.Head().Seq
	if _, ok := ev.(*agent.SessionEnd); ok {
		delete(e.shown, head.SessionID)
	}
	return ev
}

// copied returns a copy of an event.
func copied(ev agent.Event) agent.Event {
	v := reflect.ValueOf(ev)
	c := reflect.New(v.Type().Elem())
	c.Elem().Set(v.Elem())
	return c.Interface().(agent.Event)
}

// delta masks a delta. It returns nil if all of it is held back.
func (e *events) delta(id text, ev agent.Event, piece *string) agent.Event {
	d := e.begun(id)
	d.last = ev
	switch shown := d.stream.Next(*piece); shown {
	case *piece:
		return ev
	case "":
		return nil
	default:
		return withText(ev, shown)
	}
}

// begun returns the state of a text.
func (e *events) begun(id text) *delta {
	for _, d := range e.texts {
		if d.text == id {
			return d
		}
	}
	d := &delta{text: id, stream: e.masker.Stream()}
	e.texts = append(e.texts, d)
	return d
}

// rests returns deltas with what is held back of the texts that end with an event.
func (e *events) rests(ev agent.Event) []agent.Event {
	var rests []agent.Event
	e.texts = slices.DeleteFunc(e.texts, func(d *delta) bool {
		if !ends(ev, d.text) {
			return false
		}
		if rest := d.stream.Flush(); rest != "" {
			rests = append(rests, withText(d.last, rest))
		}
		return true
	})
	slices.SortFunc(rests, func(a, b agent.Event) int { return cmp.Compare(a.Head().Seq, b.Head().Seq) })
	return rests
}

// ends reports whether an event ends a text.
func ends(ev agent.Event, id text) bool {
	if ev.Head().SessionID != id.session {
		return false
	}
	switch ev := ev.(type) {
	case *agent.ToolCallEnd:
		return id.call == ev.CallID
	case *agent.AssistantTextEnd:
		return id.kind == agent.KindThinkingDelta || id.kind == agent.KindAssistantTextDelta && id.block == ev.Block
	case *agent.AssistantTextStart, *agent.StepStart, *agent.StepEnd, *agent.ToolCallStart:
		return id.call == ""
	case *agent.SessionEnd, *agent.ProcessingEnd:
		return true
	}
	return false
}

// withText returns a copy of a delta with another text.
func withText(ev agent.Event, text string) agent.Event {
	ev = copied(ev)
	switch ev := ev.(type) {
	case *agent.AssistantTextDelta:
		ev.Text = text
	case *agent.ThinkingDelta:
		ev.Text = text
	case *agent.ToolCallOutputDelta:
		ev.Text = text
	}
	return ev
}
