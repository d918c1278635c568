package render

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/llm"
)

// at returns the fields of an event so many seconds after the beginning.
func at(seconds int) agent.EventHeader {
	return agent.EventHeader{Time: time.Unix(1000+int64(seconds), 0)}
}

// The line says what runs, for how long, and what the input has cost so far, subagents included.
func TestN4_LiveLine(t *testing.T) {
	l := NewLive()
	show := func(second int, want string, events ...agent.Event) {
		t.Helper()
		for _, ev := range events {
			l.Event(ev)
		}
		if got := l.Line(Style{Width: 80}, at(second).Time, 0); got != want {
			t.Errorf("after %d s the line is %q, want %q", second, got, want)
		}
	}
	child := func(ev agent.Event) agent.Event {
		return &agent.SubagentEvent{AgentID: "agent-1", Event: ev}
	}
	show(0, "", &agent.SessionStart{Provider: "p", Model: "m"})
	show(3, "⠋ waiting for the model · 2s", &agent.UserInput{EventHeader: at(0)}, &agent.StepStart{EventHeader: at(1)})
	show(5, "⠋ thinking · 1s", &agent.ThinkingDelta{EventHeader: at(4)})
	show(6, "⠋ retry in 4s · 0s", &agent.LLMRetry{EventHeader: at(6), DelayMS: 4000})
	show(9, "⠋ retry in 1s · 3s")
	show(12, "⠋ waiting for the model · 6s")
	show(70, "⠋ answering · 57s", &agent.AssistantTextDelta{EventHeader: at(13)})
	end := &agent.StepEnd{EventHeader: at(71), Usage: llm.Usage{Input: 12_000, Output: 340}, CostUSD: 0.01234}
	call := &agent.ToolCallStart{EventHeader: at(72), CallID: "1", Name: "shell",
		Arguments: json.RawMessage(`{"command":"go test ./..."}`)}
	show(73, "⠋ shell go test ./... · 1s of 1m 13s · ↑12.0k ↓340 · $0.012", end, call)
	other := &agent.ToolCallStart{EventHeader: at(73), CallID: "2", Name: "read\x1b[2J_file",
		Arguments: json.RawMessage(`{"file_path":"a\u001bb"}`)}
	show(73, "⠋ shell go test ./... and 1 more · 1s of 1m 13s · ↑12.0k ↓340 · $0.012", other)
	show(4000, `⠋ read\u{1b}[2J_file a\u{1b}b · 1h 05m of 1h 06m · ↑12.0k ↓340 · $0.012`,
		&agent.ToolCallEnd{EventHeader: at(74), CallID: "1"})
	show(80, "⠋ waiting for the model, 1 subagent at work · 5s · ↑13.0k ↓340 · $0.013",
		&agent.ToolCallEnd{EventHeader: at(75), CallID: "2"},
		child(&agent.UserInput{EventHeader: at(76)}),
		child(&agent.StepEnd{EventHeader: at(77), Usage: llm.Usage{Input: 1000}, CostUSD: 0.001}))
	show(80, "⠋ 1 subagent at work · 1m 20s · ↑13.0k ↓340 · $0.013", &agent.ProcessingEnd{})
	show(80, "", child(&agent.ProcessingEnd{}))
	show(81, "⠋ waiting for the model · 1s", &agent.StepStart{EventHeader: at(80)})
}

// The line fits into every width, and nothing in it acts on a terminal.
func TestN4_LiveLineFits(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		l := NewLive()
		command, err := json.Marshal(map[string]string{"command": rapid.SampledFrom([]string{"make",
			strings.Repeat("漢字 ", 40), strings.Repeat("long ", 50), "\x1b[2J\r\n\u202e"}).Draw(rt, "command")})
		if err != nil {
			rt.Fatal(err)
		}
		for _, ev := range []agent.Event{&agent.SessionStart{Provider: "p", Model: "m"},
			&agent.UserInput{EventHeader: at(0)}, &agent.StepEnd{Usage: llm.Usage{Input: 123_456, Output: 7},
				CostUSD: 0.123463},
			&agent.ToolCallStart{EventHeader: at(1), CallID: "1", Name: "shell", Arguments: command}} {
			l.Event(ev)
		}
		width := rapid.IntRange(1, 120).Draw(rt, "width")
		now := at(rapid.IntRange(0, 100_000).Draw(rt, "seconds")).Time
		plain := l.Line(Style{Width: width}, now, rapid.IntRange(0, 100).Draw(rt, "frame"))
		if n := Width(plain); n > width || strings.ContainsAny(plain, "\x1b\n\r") || plain == "" {
			rt.Fatalf("%q has %d columns of %d", plain, n, width)
		}
		if coloured := l.Line(Style{Width: width, Colour: true}, now, 0); Width(sgrs.ReplaceAllString(coloured,
			"")) > width {
			rt.Fatalf("in colour %q is too long", coloured)
		}
	})
}
