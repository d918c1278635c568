package protocol

import (
	"slices"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
)

// liveMark is an event without what the journal has of it.
type liveMark struct {
	Kind      agent.Kind `json:"kind"`
	CallID    string     `json:"call_id,omitempty"`
	Name      string     `json:"name,omitempty"`
	Discarded bool       `json:"discarded,omitempty"`
}

// runningCall is a tool call that runs.
type runningCall struct {
	id, name string
	output   ending
}

// ending holds the end of a text that grows.
type ending struct{ text []byte }

// add appends to the text and keeps at least the given number of its last bytes.
func (e *ending) add(text string, keep int) {
	if e.text = append(e.text, text...); len(e.text) > 2*keep { // not each time
		e.text = append(e.text[:0], e.text[len(e.text)-keep:]...)
	}
}

// clear begins another text.
func (e *ending) clear() { e.text = e.text[:0] }

// String returns the end of the text.
func (e *ending) String() string { return strings.ToValidUTF8(string(e.text), "") }

// event takes an event of the session.
func (p *Page) event(ev agent.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := ev.(type) {
	case *agent.AssistantTextDelta:
		p.text.add(e.Text, maxLiveText)
		p.send(e)
	case *agent.ThinkingDelta:
		p.thinking.add(e.Text, maxLiveText)
		p.send(e)
	case *agent.ToolCallOutputDelta:
		if i := p.call(e.CallID); i >= 0 {
			p.calls[i].output.add(e.Text, maxLiveOutput)
		}
		p.send(e)
	case *agent.SessionEnd:
		p.send(liveMark{Kind: e.Kind})
		close(p.over)
	default:
		if mark, is := p.mark(ev); is {
			p.send(mark)
		}
	}
}

// noteRunning notes that an input runs. One that is continued has no event of its own, so the
// readers get that of one that begins. p.mu is held.
func (p *Page) noteRunning() {
	if !p.running {
		p.running = true
		p.send(liveMark{Kind: agent.KindUserInput})
	}
}

// mark takes an event that begins or ends something. It returns false for those that do not. p.mu
// is held.
func (p *Page) mark(ev agent.Event) (mark liveMark, is bool) {
	mark.Kind = ev.Head().Kind
	switch e := ev.(type) {
	case *agent.UserInput:
		p.running = true
	case *agent.ProcessingEnd:
		p.running = false
		p.clear()
	case *agent.StepStart:
		p.noteRunning()
		p.clear()
	case *agent.StepEnd, *agent.LLMRetry:
		p.clear()
	case *agent.AssistantTextStart:
		p.text.clear()
	case *agent.AssistantTextEnd:
		p.text.clear()
		mark.Discarded = e.Discarded
	case *agent.ToolCallStart:
		p.noteRunning()
		mark.CallID, mark.Name = e.CallID, e.Name
		if len(p.calls) < maxLiveCalls {
			p.calls = append(p.calls, runningCall{id: e.CallID, name: e.Name})
		}
	case *agent.ToolCallEnd:
		mark.CallID, mark.Name = e.CallID, e.Name
		if i := p.call(e.CallID); i >= 0 {
			p.calls = slices.Delete(p.calls, i, i+1)
		}
	default:
		return mark, false
	}
	return mark, true
}

// clear forgets what the model has written of an answer. p.mu is held.
func (p *Page) clear() {
	p.text.clear()
	p.thinking.clear()
}

// call returns the index of a call that runs, or -1.
func (p *Page) call(id string) int {
	return slices.IndexFunc(p.calls, func(c runningCall) bool { return c.id == id })
}

// ownEvent takes an event of the host.
func (p *Page) ownEvent(ev attractor.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := ev.(type) {
	case *ApprovalRequested:
		p.asks = append(p.asks, e)
	case *QuestionAsked:
		p.asks = append(p.asks, e)
	case *AskEnded:
		p.asks = slices.DeleteFunc(p.asks, func(ev attractor.Event) bool { return askID(ev) == e.ID })
	case *attractor.Undone:
	default: // replies are for those who sent the lines
		return
	}
	p.send(ev)
}

// askID returns the id of an ask.
func askID(ev attractor.Event) string {
	switch e := ev.(type) {
	case *ApprovalRequested:
		return e.ID
	case *QuestionAsked:
		return e.ID
	}
	return ""
}
