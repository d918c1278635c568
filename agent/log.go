package agent

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// maxLogged limits the text of an error or a warning in a line of the log, in bytes.
const maxLogged = 8 << 10

// logged returns an OnEvent that writes a line for each event that has one, and passes the event
// on. Without a logger it returns next.
func logged(log *slog.Logger, next func(Event)) func(Event) {
	if log == nil {
		return next
	}
	return func(ev Event) {
		logEvent(log, ev)
		if next != nil {
			next(ev)
		}
	}
}

// logEvent writes the line of an event, with the session and the agent whose event it is.
func logEvent(log *slog.Logger, ev Event) {
	agent := ""
	for sub, ok := ev.(*SubagentEvent); ok; sub, ok = ev.(*SubagentEvent) {
		agent, ev = sub.AgentID, sub.Event
	}
	l := logLine{level: slog.LevelInfo}
	if l.ofSession(ev); l.text == "" {
		l.ofCalls(ev)
	}
	if l.text == "" {
		l.ofTrouble(ev)
	}
	if l.text == "" { // pieces of texts
		return
	}
	who := []slog.Attr{slog.String("session", ev.Head().SessionID)}
	if agent != "" {
		who = append(who, slog.String("agent", agent))
	}
	log.LogAttrs(context.Background(), l.level, l.text, append(who, l.attrs...)...)
}

// A logLine holds what a line of the log says about an event. It has no text for an event without a
// line.
type logLine struct {
	level slog.Level
	text  string
	attrs []slog.Attr
}

func (l *logLine) set(level slog.Level, text string, attrs ...slog.Attr) {
	l.level, l.text, l.attrs = level, text, attrs
}

// ofSession makes the line of a beginning or an end, or of what the host has done.
func (l *logLine) ofSession(ev Event) {
	switch e := ev.(type) {
	case *SessionStart:
		l.set(slog.LevelInfo, "session started", slog.String("provider", e.Provider), slog.String("model", e.Model),
			slog.String("profile", e.Profile),
			slog.String("dir", e.Dir), slog.String("containment", e.Containment), slog.Bool("resumed", e.Resumed))
		if e.ParentID != "" {
			l.attrs = append(l.attrs, slog.String("parent", e.ParentID))
		}
	case *SessionEnd:
		l.set(slog.LevelInfo, "session ended", slog.String("state", string(e.State)),
			slog.String("reason", string(e.Reason)))
	case *HistoryLoaded:
		l.set(slog.LevelDebug, "history loaded", slog.Int("messages", len(e.Messages)))
	case *UserInput:
		l.set(slog.LevelInfo, "input started", slog.Int("bytes", len(e.Text)))
	case *ProcessingEnd:
		l.set(slog.LevelInfo, "input ended", slog.String("reason", string(e.Reason)), slog.Int("turns", e.Turns),
			slog.Int("tool_rounds", e.ToolRounds),
			slog.Int("input_tokens", e.Usage.Input), slog.Int("output_tokens", e.Usage.Output),
			slog.Float64("cost_usd", e.CostUSD))
	case *SteeringInjected:
		l.set(slog.LevelInfo, "steering injected", slog.String("source", e.Source), slog.Int("bytes", len(e.Text)))
	case *InputRequested:
		l.set(slog.LevelInfo, "question asked", slog.String("call", e.CallID), slog.String("source", e.Source))
	case *NoteWritten:
		l.set(slog.LevelDebug, "note written", slog.String("note", e.Note))
	case *PlanUpdated:
		l.set(slog.LevelDebug, "plan updated", slog.Int("items", len(e.Items)))
	}
}

// ofCalls makes the line of a model call or a tool call.
func (l *logLine) ofCalls(ev Event) {
	switch e := ev.(type) {
	case *StepStart:
		l.set(slog.LevelDebug, "step started", slog.Int("step", e.Step), slog.Int("epoch", e.Epoch))
	case *StepEnd:
		l.set(slog.LevelInfo, "step ended", slog.Int("step", e.Step), slog.Int("attempts", e.Attempts),
			slog.Duration("duration", millis(e.LatencyMS)),
			slog.String("finish", string(e.FinishReason)), slog.Int("input_tokens", e.Usage.Input),
			slog.Int("cache_read_tokens", e.Usage.CacheRead),
			slog.Int("output_tokens", e.Usage.Output))
	case *ToolCallStart:
		l.set(slog.LevelDebug, "tool call started", slog.String("call", e.CallID), slog.String("tool", e.Name),
			slog.Int("bytes", len(e.Arguments)))
	case *ToolCallEnd:
		l.set(slog.LevelInfo, "tool call ended", slog.String("call", e.CallID), slog.String("tool", e.Name),
			slog.Duration("duration", millis(e.DurationMS)),
			slog.Bool("failed", e.IsError), slog.Int64("bytes", e.OutputBytes), slog.Int("changes", len(e.Changes)))
		if e.Ran != nil && e.Ran.Exit != nil {
			l.attrs = append(l.attrs, slog.Int("code", e.Ran.Exit.Code))
		}
	case *Compaction:
		l.set(slog.LevelInfo, "history compacted", slog.Int("turns", e.TurnsReplaced),
			slog.Int("tokens_before", e.TokensBefore), slog.Int("tokens_after", e.TokensAfter))
	}
}

// ofTrouble makes the line of a failure, a limit or a warning.
func (l *logLine) ofTrouble(ev Event) {
	switch e := ev.(type) {
	case *Error:
		l.set(slog.LevelError, "input failed", slog.String("error_kind", e.ErrorKind),
			slog.String("error", shortText(e.Text)), slog.String("provider", e.Provider),
			slog.Int("status", e.Status), slog.Bool("retryable", e.Retryable), slog.String("request_id", e.RequestID))
	case *LLMRetry:
		l.set(slog.LevelWarn, "attempt failed", slog.Int("attempt", e.Attempt), slog.String("error_kind", e.ErrorKind),
			slog.String("error", shortText(e.Text)),
			slog.Int("status", e.Status), slog.Duration("delay", millis(e.DelayMS)))
	case *ModelChanged:
		l.set(slog.LevelWarn, "model changed", slog.String("from", e.From.String()), slog.String("to", e.To.String()),
			slog.String("reason", string(e.Reason)),
			slog.String("error_kind", e.ErrorKind), slog.String("error", shortText(e.Text)),
			slog.Int("status", e.Status))
	case *TurnLimit:
		l.set(slog.LevelWarn, "limit reached", slog.String("limit", string(e.Limit)), slog.Float64("value", e.Value))
	case *LoopDetection:
		l.set(slog.LevelWarn, "calls repeat", slog.Int("period", e.Period), slog.Int("repeats", e.Repeats))
	case *ContextWarning:
		l.set(slog.LevelWarn, "window is filling up", slog.Float64("ratio", e.Ratio), slog.Int("tokens", e.Tokens),
			slog.Int("window", e.Window))
	case *Warning:
		l.set(slog.LevelWarn, "warning", slog.String("code", e.Code), slog.String("error", shortText(e.Text)))
	}
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// shortText returns a text for the log, cut if it is long.
func shortText(text string) string {
	if len(text) <= maxLogged {
		return text
	}
	return strings.ToValidUTF8(text[:maxLogged], "") + fmt.Sprintf(" [... %d bytes in all]", len(text))
}
