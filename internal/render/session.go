package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// Session turns the events of a session into text: the model's answer as it arrives, a line for
// each tool call, a closing line. It is not safe for concurrent use.
type Session struct {
	style   Style
	out     strings.Builder // what the current event adds
	began   time.Time       // when the input began
	running map[string]*agent.ToolCallStart
	dir     string // of the session, without symbolic links, as in tool.Change
	calls   int
	answer  *Markdown       // nil if answers are shown as they are
	open    bool            // the last line has no newline yet
	shown   strings.Builder // the text of the last response

	printed map[string]*capture.Buffer // by the calls that run
	thought strings.Builder            // what the model thinks at the moment
	thinks  time.Time                  // since when
	kept    *folds                     // nil if nothing can be opened
}

// NewSession returns a Session that has seen no event.
func NewSession(style Style) *Session {
	s := &Session{style: style, running: map[string]*agent.ToolCallStart{}, printed: map[string]*capture.Buffer{}}
	if style.Rich {
		s.answer = NewMarkdown(style)
	}
	return s
}

// Resize changes the width of what follows, if that has any.
func (s *Session) Resize(width int) {
	if s.style.Width == 0 {
		return
	}
	s.style.Width = width
	if s.answer != nil {
		s.answer.Resize(width)
	}
}

// Rest returns the text of an answer that is not finished, as plain text. Event has returned
// nothing of it yet.
func (s *Session) Rest() string {
	if s.answer == nil {
		return ""
	}
	return s.answer.Rest()
}

// Event returns the text that an event adds to the screen, often none. With [Style].Rich it is
// whole lines. Without, the text of an answer may end in the middle of a line; the text of the next
// event then begins with the end of that line.
func (s *Session) Event(ev agent.Event) string {
	s.out.Reset()
	s.add(ev)
	return s.out.String()
}

// add appends the text of an event to s.out.
func (s *Session) add(ev agent.Event) {
	if s.began.IsZero() {
		s.began = ev.Head().Time
	}
	switch e := ev.(type) {
	case *agent.ThinkingDelta:
		s.addThought(e)
		return
	case *agent.ToolCallOutputDelta:
		s.addOutput(e)
		return
	case *agent.SubagentEvent:
		return
	}
	s.endThought(ev.Head().Time)
	switch e := ev.(type) {
	case *agent.SessionStart:
		s.dir = realName(e.Dir)
		s.words(piece{fmt.Sprintf("%s · %s · %s", OneLine(e.Model), OneLine(e.Dir), OneLine(e.SessionID)), faint})
	case *agent.UserInput:
		s.began, s.calls = e.Time, 0
	case *agent.StepStart:
		s.shown.Reset()
	case *agent.AssistantTextDelta:
		s.delta(e.Text)
	case *agent.AssistantTextEnd:
		s.endText()
		if e.Discarded {
			s.shown.Reset()
			s.line("%s", s.paint(amber, "↻ the answer broke off; what is above does not count"))
		} else {
			s.sources(e.Sources)
		}
	case *agent.WebSearch:
		s.endText()
		s.search(&e.WebSearch)
	case *agent.ToolCallStart:
		s.running[e.CallID] = e
	case *agent.ToolCallEnd:
		s.call(e)
	case *agent.SteeringInjected:
		s.steering(sanitize.Text(e.Text))
	case *agent.PlanUpdated:
		s.plan(e.Items)
	case *agent.LLMRetry:
		s.line("%s", s.style.note("↻", fmt.Sprintf("%s; attempt %d in %v", Shorten(e.Text, 500), e.Attempt+1,
			Rounded(time.Duration(e.DelayMS)*time.Millisecond))))
	case *agent.StepEnd:
		if e.Cold != nil {
			s.line("%s", s.paint(dim, "· "+e.Cold.String()))
		}
	case *agent.ModelChanged:
		s.line("%s", s.paint(amber, OneLine(modelChange(e))))
	case *agent.Warning:
		s.line("%s", s.style.Warning(sanitize.Text(e.Text)))
	case *agent.ProcessingEnd:
		s.close(e)
	}
}

// steering appends what the model was told while it worked. The middle of a long text is left out
// and kept to be opened: it may be the output of a command that the person has seen.
func (s *Session) steering(text string) {
	lines := s.style.marked("→", text)
	lines[0] = s.paint(amber, "→") + strings.TrimPrefix(lines[0], "→")
	if more := len(lines) - headLines - failedLines; more > 1 && s.kept != nil {
		last := lines[len(lines)-failedLines:]
		lines = append(lines[:headLines:headLines], s.paint(dim, s.fit("  … "+Count(more, "more line")+
			s.toOpen("what the agent was told", text))))
		lines = append(lines, last...)
	}
	s.line("%s", strings.Join(lines, "\n"))
}

// delta appends a piece of the model's answer.
func (s *Session) delta(text string) {
	if text == "" {
		return
	}
	s.shown.WriteString(text)
	if s.answer != nil {
		s.out.WriteString(s.answer.Add(text))
		return
	}
	s.out.WriteString(sanitize.Text(text))
	s.open = !strings.HasSuffix(text, "\n")
}

// endText appends the end of the model's text.
func (s *Session) endText() {
	if s.answer != nil {
		s.out.WriteString(s.answer.End())
	}
	s.endLine()
}

// modelChange returns which model the session uses from here on, and why.
func modelChange(e *agent.ModelChanged) string {
	if e.Reason == agent.ModelReturned {
		return fmt.Sprintf("⇄ back to %s", e.To)
	}
	return fmt.Sprintf("⇄ %s failed (%s); going on with %s", e.From, Shorten(e.Text, 500), e.To)
}

// HasShown reports whether the text of the last response was this one, but for the white space
// around it.
func (s *Session) HasShown(text string) bool {
	return strings.TrimSpace(s.shown.String()) == strings.TrimSpace(text)
}

// plan appends a line for each entry of the todo list.
func (s *Session) plan(items []tool.PlanItem) {
	marks := map[tool.PlanStatus]string{
		tool.PlanCompleted:  s.paint(green, "✓"),
		tool.PlanInProgress: s.paint(amber, "▸"),
	}
	for _, item := range items {
		mark, ok := marks[item.Status]
		if !ok {
			mark = s.paint(dim, "·")
		}
		s.line("  %s %s", mark, Shorten(item.Text, 200))
	}
}

// close appends the line that ends an input.
func (s *Session) close(e *agent.ProcessingEnd) {
	word := string(e.Reason)
	if e.Reason == agent.ReasonCompleted {
		word = "done"
	}
	if e.Unconfirmed {
		word += ", not confirmed"
	}
	spent := Tokens(e.Usage, e.Turns)
	if e.CostUSD > 0 {
		spent += " · " + Money(e.CostUSD)
	}
	s.words(piece{fmt.Sprintf("%s · %s · %s · %s · %v", word, Count(e.Turns, "turn"), Count(s.calls, "tool call"),
		spent, Rounded(e.Time.Sub(s.began))), faint})
}

// words appends a line that is wrapped at words, where the style has a width.
func (s *Session) words(text ...piece) {
	const indent = "  "
	width := 0
	if s.style.Width > 0 {
		width = max(s.style.Width-len(indent), minColumns)
	}
	s.line("%s", strings.Join(s.style.wrap(text, width), "\n"+indent))
}

// line appends a line, on a line of its own.
func (s *Session) line(format string, args ...any) {
	s.endLine()
	fmt.Fprintf(&s.out, format+"\n", args...)
}

// endLine ends the line of an answer that broke off in its middle.
func (s *Session) endLine() {
	if s.open {
		s.out.WriteByte('\n')
		s.open = false
	}
}

func (s *Session) paint(sgr, text string) string { return s.style.paint(sgr, text) }
