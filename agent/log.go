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
	who := []any{"session", ev.Head().SessionID}
	if agent != "" {
		who = append(who, "agent", agent)
	}
	line := func(level slog.Level, text string, attrs ...any) {
		log.Log(context.Background(), level, text, append(who, attrs...)...)
	}
	if !logSession(line, ev) && !logCalls(line, ev) {
		logTrouble(line, ev)
	}
}

// logSession writes the line of a beginning or an end, or of what the host has done. It reports
// whether the event is one of these.
func logSession(line func(level slog.Level, text string, attrs ...any), ev Event) bool {
	switch e := ev.(type) {
	case *SessionStart:
		attrs := []any{"provider", e.Provider, "model", e.Model, "profile", e.Profile, "dir", e.Dir,
			"containment", e.Containment, "resumed", e.Resumed}
		if e.ParentID != "" {
			attrs = append(attrs, "parent", e.ParentID)
		}
		line(slog.LevelInfo, "session started", attrs...)
	case *SessionEnd:
		line(slog.LevelInfo, "session ended", "state", e.State, "reason", e.Reason)
	case *HistoryLoaded:
		line(slog.LevelDebug, "history loaded", "messages", len(e.Messages))
	case *UserInput:
		line(slog.LevelInfo, "input started", "bytes", len(e.Text))
	case *ProcessingEnd:
		line(slog.LevelInfo, "input ended", "reason", e.Reason, "turns", e.Turns, "tool_rounds", e.ToolRounds,
			"input_tokens", e.Usage.Input, "output_tokens", e.Usage.Output, "cost_usd", e.CostUSD)
	case *SteeringInjected:
		line(slog.LevelInfo, "steering injected", "source", e.Source, "bytes", len(e.Text))
	case *InputRequested:
		line(slog.LevelInfo, "question asked", "call", e.CallID, "source", e.Source)
	case *NoteWritten:
		line(slog.LevelDebug, "note written", "note", e.Note)
	case *PlanUpdated:
		line(slog.LevelDebug, "plan updated", "items", len(e.Items))
	default:
		return false
	}
	return true
}

// logCalls writes the line of a model call or a tool call. It reports whether the event is of one.
func logCalls(line func(level slog.Level, text string, attrs ...any), ev Event) bool {
	switch e := ev.(type) {
	case *StepStart:
		line(slog.LevelDebug, "step started", "step", e.Step, "epoch", e.Epoch)
	case *StepEnd:
		line(slog.LevelInfo, "step ended", "step", e.Step, "attempts", e.Attempts, "duration", millis(e.LatencyMS),
			"finish", e.FinishReason, "input_tokens", e.Usage.Input, "cache_read_tokens", e.Usage.CacheRead,
			"output_tokens", e.Usage.Output)
	case *ToolCallStart:
		line(slog.LevelDebug, "tool call started", "call", e.CallID, "tool", e.Name, "bytes", len(e.Arguments))
	case *ToolCallEnd:
		attrs := []any{"call", e.CallID, "tool", e.Name, "duration", millis(e.DurationMS), "failed", e.IsError,
			"bytes", e.OutputBytes, "changes", len(e.Changes)}
		if e.Ran != nil && e.Ran.Exit != nil {
			attrs = append(attrs, "code", e.Ran.Exit.Code)
		}
		line(slog.LevelInfo, "tool call ended", attrs...)
	case *Compaction:
		line(slog.LevelInfo, "history compacted", "turns", e.TurnsReplaced, "tokens_before", e.TokensBefore,
			"tokens_after", e.TokensAfter)
	default:
		return false
	}
	return true
}

// logTrouble writes the line of a failure, a limit or a warning, and nothing for pieces of texts.
func logTrouble(line func(level slog.Level, text string, attrs ...any), ev Event) {
	switch e := ev.(type) {
	case *Error:
		line(slog.LevelError, "input failed", "error_kind", e.ErrorKind, "error", shortText(e.Text),
			"provider", e.Provider, "status", e.Status, "retryable", e.Retryable, "request_id", e.RequestID)
	case *LLMRetry:
		line(slog.LevelWarn, "attempt failed", "attempt", e.Attempt, "error_kind", e.ErrorKind,
			"error", shortText(e.Text), "status", e.Status, "delay", millis(e.DelayMS))
	case *ModelChanged:
		line(slog.LevelWarn, "model changed", "from", e.From.String(), "to", e.To.String(), "reason", e.Reason,
			"error_kind", e.ErrorKind, "error", shortText(e.Text), "status", e.Status)
	case *TurnLimit:
		line(slog.LevelWarn, "limit reached", "limit", e.Limit, "value", e.Value)
	case *LoopDetection:
		line(slog.LevelWarn, "calls repeat", "period", e.Period, "repeats", e.Repeats)
	case *ContextWarning:
		line(slog.LevelWarn, "window is filling up", "ratio", e.Ratio, "tokens", e.Tokens, "window", e.Window)
	case *Warning:
		line(slog.LevelWarn, "warning", "code", e.Code, "error", shortText(e.Text))
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
