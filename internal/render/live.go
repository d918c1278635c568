package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// Live holds what a session is doing at the moment, for one line at the bottom of a screen. It is
// not safe for concurrent use.
type Live struct {
	busy   bool
	began  time.Time // the input
	doing  string
	since  time.Time // of doing
	retry  time.Time // when the next attempt begins, if one failed
	calls  []liveCall
	agents map[string]bool // the ids of the subagents that work
	tokens llm.Usage
	usd    float64
}

// liveCall holds a tool call that runs.
type liveCall struct {
	id, what string
	began    time.Time
}

// NewLive returns a Live that has seen no event.
func NewLive() *Live { return &Live{agents: map[string]bool{}} }

// Event brings the line up to date with an event.
func (l *Live) Event(ev agent.Event) {
	switch e := ev.(type) {
	case *agent.UserInput:
		l.begin(e.Time)
	case *agent.StepStart:
		if !l.busy { // an input that is continued has no event of its own
			l.begin(e.Time)
		}
		l.now(waiting, e.Time)
	case *agent.ThinkingDelta:
		l.still("thinking", e.Time)
	case *agent.AssistantTextDelta:
		l.still("answering", e.Time)
	case *agent.LLMRetry:
		l.now(waiting, e.Time)
		l.retry = e.Time.Add(time.Duration(e.DelayMS) * time.Millisecond)
	case *agent.StepEnd:
		l.now(waiting, e.Time)
		l.spend(e)
	case *agent.ToolCallStart:
		l.calls = append(l.calls, liveCall{e.CallID, callName(e), e.Time})
	case *agent.ToolCallEnd:
		l.calls = slices.DeleteFunc(l.calls, func(c liveCall) bool { return c.id == e.CallID })
		l.now(waiting, e.Time)
	case *agent.SubagentEvent:
		l.subagent(e)
	case *agent.ProcessingEnd:
		l.busy, l.calls = false, nil
	}
}

const waiting = "waiting for the model"

// begin begins an input.
func (l *Live) begin(at time.Time) {
	l.busy, l.began, l.calls, l.tokens, l.usd = true, at, nil, llm.Usage{}, 0
	l.now(waiting, at)
}

// now records what the session does from now on.
func (l *Live) now(doing string, at time.Time) {
	l.doing, l.since, l.retry = doing, at, time.Time{}
}

// still records what the session does, and since when unless it did the same before.
func (l *Live) still(doing string, at time.Time) {
	if doing != l.doing {
		l.now(doing, at)
	}
}

// spend adds the usage of a model call.
func (l *Live) spend(e *agent.StepEnd) {
	l.tokens = l.tokens.Add(e.Usage)
	l.usd += e.CostUSD
}

// subagent records an event of a subagent. What it uses counts for the session as well.
func (l *Live) subagent(e *agent.SubagentEvent) {
	switch e.Event.(type) {
	case *agent.UserInput, *agent.StepStart:
		l.agents[e.AgentID] = true
	case *agent.ProcessingEnd, *agent.SessionEnd:
		delete(l.agents, e.AgentID)
	}
	inner := e.Event
	for deeper, is := inner.(*agent.SubagentEvent); is; deeper, is = inner.(*agent.SubagentEvent) {
		inner = deeper.Event
	}
	if end, is := inner.(*agent.StepEnd); is {
		l.spend(end)
	}
}

// callName returns the tool of a call and the first words of its subject.
func callName(e *agent.ToolCallStart) string {
	args := e.Arguments
	if e.Effective != nil {
		args = e.Effective
	}
	name, args := forwarded(e.Name, args)
	return strings.TrimSpace(OneLine(name) + " " + Subject(args))
}

// Spent returns what the input has used so far, and its price as far as that is known.
func (l *Live) Spent() (tokens llm.Usage, usd float64) { return l.tokens, l.usd }

// Busy reports whether the session or a subagent works.
func (l *Live) Busy() bool { return l.busy || len(l.agents) > 0 }

// minLive is the least number of columns that what runs gets beside tokens and money.
const minLive = 24

// Line returns the line at a moment: what runs and for how long, tokens and money of the input so
// far. It is empty if nothing works. It fits into the style's width. The frame counts how often the
// line has been drawn; it moves the sign in front.
func (l *Live) Line(style Style, now time.Time, frame int) string {
	if !l.Busy() {
		return ""
	}
	what, since := l.what(now)
	took := " · " + Elapsed(now.Sub(since))
	if all := Elapsed(now.Sub(l.began)); len(l.calls) > 0 && all != Elapsed(now.Sub(since)) {
		took += " of " + all
	}
	spent := ""
	if l.tokens.Input+l.tokens.Output > 0 {
		spent = fmt.Sprintf(" · ↑%s ↓%s", Thousands(l.tokens.Input), Thousands(l.tokens.Output))
	}
	if l.usd > 0 {
		spent += " · " + Money(l.usd)
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	sign := string(frames[max(frame, 0)%len(frames)])
	if style.Width > 0 {
		if style.Width < 2+minLive+Width(took)+Width(spent) {
			spent = ""
		}
		what = Fit(what, max(style.Width-2-Width(took)-Width(spent), 1))
	}
	line := style.paint(amber, sign) + " " + what + style.paint(dim, took+spent)
	if style.Width > 0 && 2+Width(what)+Width(took)+Width(spent) > style.Width {
		return Fit(sign+" "+what, style.Width)
	}
	return line
}

// what returns what runs and when it began.
func (l *Live) what(now time.Time) (string, time.Time) {
	what, since := l.doing, l.since
	switch n := len(l.calls); {
	case n > 0:
		what, since = l.calls[0].what, l.calls[0].began
		if n > 1 {
			what = fmt.Sprintf("%s and %d more", Shorten(what, 60), n-1)
		}
	case !l.busy:
		what, since = "", l.began
	case l.retry.After(now):
		what = fmt.Sprintf("retry in %v", l.retry.Sub(now).Round(time.Second))
	}
	if n := len(l.agents); n > 0 {
		if what != "" {
			what += ", "
		}
		what += Count(n, "subagent") + " at work"
	}
	return what, since
}

// Elapsed returns a time that goes on, in whole seconds, or from an hour on in whole minutes.
func Elapsed(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	if s < 60 {
		return fmt.Sprintf("%ds", s)
	}
	if s < 3600 {
		return fmt.Sprintf("%dm %02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh %02dm", s/3600, s/60%60)
}

// Money returns an amount of US dollars.
func Money(usd float64) string {
	switch {
	case usd < 0.01:
		return fmt.Sprintf("$%.4f", usd)
	case usd < 1:
		return fmt.Sprintf("$%.3f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}
