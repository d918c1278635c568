package chat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
)

// longTurn is how long the person may have gone away for: the end of a longer turn rings.
const longTurn = 15 * time.Second

// maxPartial bounds the bytes of a line that is not finished.
const maxPartial = 16 << 10

// event shows an event of a session.
func (p *program) event(of *conversation, ev agent.Event) {
	of.live.Event(ev)
	switch ev.(type) {
	case *agent.UserInput, *agent.StepStart: // of the page
		of.used = true // also if it has ended already
		if p.task == nil && p.current == of && of.session.Status() != agent.StatusIdle {
			p.works(of)
		}
	}
	text := ""
	if e, ok := ev.(*agent.SteeringInjected); ok && e.Source == "host" && of.steered > 0 {
		of.steered-- // it is on the screen already
		p.hint = ""
		text = p.Style.Faint("→ the agent has read: "+render.Shorten(e.Text, 60)) + "\n"
	} else if !of.isTyped(ev) {
		text = of.view.Event(ev)
	}
	if e, ok := ev.(*agent.Compaction); ok {
		text += p.Style.Faint(fmt.Sprintf("compacted: a summary replaces %s, about %s tokens instead of %s",
			render.Count(e.TurnsReplaced, "turn"),
			render.Thousands(e.TokensAfter), render.Thousands(e.TokensBefore))) + "\n"
	}
	p.dirty = true
	p.add(text)
}

// isTyped reports whether an event says that the model was told of a command that the person has
// run in this conversation, so that its output is on the screen already.
func (c *conversation) isTyped(ev agent.Event) bool {
	switch e := ev.(type) {
	case *agent.NoteWritten:
		if e.Note == attractor.TypedNote {
			c.typed = append(c.typed, e.Text)
		}
	case *agent.SteeringInjected:
		if i := slices.Index(c.typed, e.Text); i >= 0 {
			c.typed = slices.Delete(c.typed, i, i+1)
			return true
		}
	}
	return false
}

// add shows a text that may end in the middle of a line.
func (p *program) add(text string) {
	if text == "" {
		return
	}
	p.dirty = true
	p.partial += text
	if end := strings.LastIndexByte(p.partial, '\n') + 1; end > 0 {
		p.above.WriteString(p.partial[:end])
		p.partial = p.partial[end:]
	}
	if len(p.partial) > maxPartial {
		p.endPartial()
	}
}

// endPartial ends the line that is not finished.
func (p *program) endPartial() {
	if p.partial != "" {
		p.above.WriteString(p.partial + "\n")
		p.partial = ""
	}
}

// recap shows the last message and the last answer of a session that is resumed, without secrets.
func (p *program) recap() {
	turns, secrets := p.current.session.History(), p.current.setup.Secrets
	var task, answer string
	for _, t := range turns {
		switch text := t.Message.Parts.Text(); {
		case text == "":
		case t.Origin == agent.OriginUser:
			task, answer = text, ""
		case t.Kind == agent.TurnAssistant:
			answer = text
		}
	}
	note := fmt.Sprintf("resumed, with %s", render.Count(len(turns), "turn"))
	if _, model, _ := p.current.setup.Model(); model != p.current.setup.ModelBefore {
		note += "; " + render.OneLine(model) + " answers from now on"
	}
	p.note(note)
	if task != "" {
		p.note("> " + render.Shorten(secrets.String(task), maxRecap))
	}
	if answer != "" { // as the model wrote it
		p.say(p.beginning(secrets.String(answer)))
	}
}

// The most that a recap shows of a message in characters, and of an answer in rows.
const (
	maxRecap  = 300
	recapRows = 12
)

// beginning returns the first rows of an answer, which looks as it did when it came.
func (p *program) beginning(answer string) string {
	if !p.Style.Rich {
		return p.Style.Faint(p.Style.Prose("  " + render.Shorten(answer, maxRecap)))
	}
	m := render.NewMarkdown(p.Style)
	rows := strings.SplitAfter(m.Add(answer)+m.End(), "\n")
	if more := len(rows) - 1 - recapRows; more > 1 { // the last one is empty
		rows = append(rows[:recapRows], p.Style.Faint("… "+render.Count(more, "more line"))+"\n")
	}
	return strings.Join(rows, "")
}
