package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// progress shows a session to a person: the model's text as it arrives, a line for each tool call, a closing line. Write errors are
// ignored: progress is best effort.
type progress struct {
	w       io.Writer
	colour  bool
	start   time.Time
	running map[string]*agent.ToolCallStart
	dir     string // of the session, without symbolic links, as in tool.Change
	calls   int
	open    bool    // the last line has no newline yet
	shown   textSum // of the last response
}

// The colours of a terminal (SGR).
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	amber = "33"
)

func (p *progress) show(ev agent.Event) {
	switch e := ev.(type) {
	case *agent.SessionStart:
		p.dir = realName(e.Dir)
		p.line("%s", p.paint(dim, fmt.Sprintf("%s · %s · %s", oneLine(e.Model), oneLine(e.Dir), oneLine(e.SessionID))))
	case *agent.StepStart:
		p.shown = textSum{}
	case *agent.AssistantTextDelta:
		fmt.Fprint(p.w, sanitize.Text(e.Text))
		p.shown.add(e.Text)
		p.open = !strings.HasSuffix(e.Text, "\n")
	case *agent.AssistantTextEnd:
		p.endLine()
		if e.Discarded {
			p.shown = textSum{}
			p.line("%s", p.paint(amber, "↻ the answer broke off; what is above does not count"))
		}
	case *agent.ToolCallStart:
		p.running[e.CallID] = e
	case *agent.ToolCallEnd:
		p.call(e)
	case *agent.SteeringInjected:
		p.line("%s %s", p.paint(amber, "→"), sanitize.Text(e.Text))
	case *agent.PlanUpdated:
		p.plan(e.Items)
	case *agent.LLMRetry:
		p.line("%s", p.paint(amber, fmt.Sprintf("↻ %s; attempt %d in %v", shorten(e.Text, 500), e.Attempt+1, rounded(time.Duration(e.DelayMS)*time.Millisecond))))
	case *agent.ModelChanged:
		p.line("%s", p.paint(amber, oneLine(modelChange(e))))
	case *agent.Warning:
		p.line("%s", p.paint(amber, "! "+sanitize.Text(e.Text)))
	case *agent.ProcessingEnd:
		p.close(e)
	}
}

// modelChange prints which model the session uses from here on, and why.
func modelChange(e *agent.ModelChanged) string {
	if e.Reason == agent.ModelReturned {
		return fmt.Sprintf("⇄ back to %s", e.To)
	}
	return fmt.Sprintf("⇄ %s failed (%s); going on with %s", e.From, shorten(e.Text, 500), e.To)
}

// hasShown reports whether the text of the last response was this one.
func (p *progress) hasShown(text string) bool {
	var other textSum
	other.add(text)
	return p.shown.sum() == other.sum()
}

// plan prints a line for each entry of the todo list.
func (p *progress) plan(items []tool.PlanItem) {
	marks := map[tool.PlanStatus]string{tool.PlanCompleted: p.paint(green, "✓"), tool.PlanInProgress: p.paint(amber, "▸"), tool.PlanCancelled: p.paint(dim, "-")}
	for _, item := range items {
		mark, ok := marks[item.Status]
		if !ok {
			mark = p.paint(dim, "·")
		}
		p.line("  %s %s", mark, shorten(item.Text, 200))
	}
}

func (p *progress) close(e *agent.ProcessingEnd) {
	word := string(e.Reason)
	if e.Reason == agent.ReasonCompleted {
		word = "done"
	}
	p.line("%s", p.paint(dim, fmt.Sprintf("%s · %s · %s · %s · %v", word, count(e.Turns, "turn"), count(p.calls, "tool call"),
		tokens(e.Usage), rounded(time.Since(p.start)))))
}

func tokens(u llm.Usage) string {
	cached := ""
	if u.CacheRead > 0 {
		cached = fmt.Sprintf(" (%.0f%% cached)", 100*u.CacheHitRatio())
	}
	return fmt.Sprintf("%s tokens in%s, %s out", thousands(u.Input), cached, thousands(u.Output))
}

func thousands(n int) string {
	if n < 10_000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1000)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func rounded(d time.Duration) time.Duration {
	if d > 10*time.Second {
		return d.Round(time.Second)
	}
	if d > time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

func (p *progress) line(format string, args ...any) {
	p.endLine()
	fmt.Fprintf(p.w, format+"\n", args...)
}

func (p *progress) endLine() {
	if p.open {
		fmt.Fprintln(p.w)
		p.open = false
	}
}

func (p *progress) paint(sgr, text string) string {
	if !p.colour || text == "" {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[0m"
}

// shorten returns a text as one line of at most limit characters.
func shorten(text string, limit int) string {
	text = sanitize.Text(strings.Join(strings.Fields(beginning(text, limit)), " "))
	n := 0
	for i := range text {
		if n == limit {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// beginning returns the text up to the character with which it has become longer than the limit, whatever is done to its white space and
// to invalid UTF-8.
func beginning(text string, limit int) string {
	for i, r := range text {
		if r == utf8.RuneError || unicode.IsSpace(r) {
			continue
		}
		if limit--; limit < 0 {
			return text[:i+utf8.RuneLen(r)]
		}
	}
	return text
}
