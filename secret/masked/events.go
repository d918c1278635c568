package masked

import (
	"cmp"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/secret"
)

// Events returns an OnEvent that masks all texts of events before show gets them. The deltas of one text are masked together: the end of a
// delta that may be the beginning of a secret comes with the next delta, or in one more delta before the text ends. It is called with one
// event at a time, as OnEvent is. A nil show returns nil.
func Events(m *secret.Masker, show func(agent.Event)) func(agent.Event) {
	if show == nil {
		return nil
	}
	e := &events{masker: m, texts: map[text]*delta{}}
	return func(ev agent.Event) {
		for _, masked := range e.mask(ev) {
			show(masked)
		}
	}
}

// events masks the events of a session and of its subagents.
type events struct {
	masker *secret.Masker
	texts  map[text]*delta // the texts that have begun
}

// text identifies a text that comes in deltas.
type text struct {
	session string
	kind    agent.Kind
	block   int
	call    string
	stream  string
}

// delta holds the state of one text and the last of its deltas, from which the one with the rest is made.
type delta struct {
	stream *secret.Stream
	last   agent.Event
}

// mask returns what is to be shown for an event.
func (e *events) mask(ev agent.Event) []agent.Event {
	switch ev := ev.(type) {
	case *agent.AssistantTextDelta:
		return e.delta(text{ev.SessionID, ev.Kind, ev.Block, "", ""}, ev, &ev.Text)
	case *agent.ThinkingDelta:
		return e.delta(text{ev.SessionID, ev.Kind, 0, "", ""}, ev, &ev.Text)
	case *agent.ToolCallOutputDelta:
		return e.delta(text{ev.SessionID, ev.Kind, 0, ev.CallID, ev.Stream}, ev, &ev.Text)
	case *agent.SubagentEvent:
		var shown []agent.Event
		for _, inner := range e.mask(ev.Event) {
			outer := ev
			if inner != ev.Event {
				outer = &agent.SubagentEvent{EventHeader: ev.EventHeader, AgentID: ev.AgentID, Event: inner}
			}
			shown = append(shown, outer)
		}
		return shown
	}
	return append(e.rests(ev), fields(e.masker, ev))
}

// delta masks a delta. It returns nothing if all of it is held back.
func (e *events) delta(id text, ev agent.Event, piece *string) []agent.Event {
	d := e.texts[id]
	if d == nil {
		d = &delta{stream: e.masker.Stream()}
		e.texts[id] = d
	}
	d.last = ev
	switch shown := d.stream.Next(*piece); shown {
	case *piece:
		return []agent.Event{ev}
	case "":
		return nil
	default:
		return []agent.Event{withText(ev, shown)}
	}
}

// rests returns deltas with what is held back of the texts that end with an event.
func (e *events) rests(ev agent.Event) []agent.Event {
	if len(e.texts) == 0 {
		return nil
	}
	var shown []agent.Event
	for id, d := range e.texts {
		if !ends(ev, id) {
			continue
		}
		if rest := d.stream.Flush(); rest != "" {
			shown = append(shown, withText(d.last, rest))
		}
		delete(e.texts, id)
	}
	slices.SortFunc(shown, func(a, b agent.Event) int { return cmp.Compare(a.Head().Seq, b.Head().Seq) })
	return shown
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
	switch ev := ev.(type) {
	case *agent.AssistantTextDelta:
		copied := *ev
		copied.Text = text
		return &copied
	case *agent.ThinkingDelta:
		copied := *ev
		copied.Text = text
		return &copied
	case *agent.ToolCallOutputDelta:
		copied := *ev
		copied.Text = text
		return &copied
	}
	return ev
}
