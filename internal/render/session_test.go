package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// A call that is passed on is shown as the tool that it calls.
func TestM4_ForwardedCallsInProgress(t *testing.T) {
	for args, want := range map[string]string{
		`{"name": "mcp__files__read", "arguments": {"path": "a/b"}}`: "✓ mcp__files__read a/b <1ms\n",
		`{"name": "mcp__files__read"}`:                               "✓ mcp__files__read  <1ms\n",
		`{"name": ""}`:                                               `✓ tool_call {"name": ""} <1ms` + "\n",
		`{"_raw": "x"}`:                                              "✓ tool_call x <1ms\n",
	} {
		s := NewSession(Style{})
		out := s.Event(&agent.ToolCallStart{CallID: "1", Name: "tool_call", Arguments: json.RawMessage(args)})
		out += s.Event(&agent.ToolCallEnd{CallID: "1", Name: "tool_call"})
		if out != want {
			t.Errorf("%s is shown as %q, want %q", args, out, want)
		}
	}
}

// An answer in Markdown comes in whole lines. What is not finished is told apart, and ends before
// the next line.
func TestN3_SessionShowsMarkdown(t *testing.T) {
	s := NewSession(Style{Rich: true, Width: 20})
	add := func(ev agent.Event, want, rest string) {
		t.Helper()
		if got := s.Event(ev); got != want || s.Rest() != rest {
			t.Errorf("%T adds %q, want %q; the rest is %q, want %q", ev, got, want, s.Rest(), rest)
		}
	}
	add(&agent.AssistantTextDelta{Text: "some **bo"}, "", "some **bo")
	add(&agent.Warning{Text: "beside"}, "! beside\n", "some **bo")
	add(&agent.AssistantTextDelta{Text: "ld** words that\n\n- an"}, "some bold words that\n", "- an")
	s.Resize(10)
	add(&agent.AssistantTextEnd{}, "\n• an\n", "")
	add(&agent.AssistantTextDelta{Text: "a longer line"}, "", "a longer line")
	add(&agent.AssistantTextEnd{Discarded: true},
		"a longer\nline\n↻ the answer broke off; what is above does not count\n", "")
	add(&agent.StepStart{}, "", "")
	add(&agent.AssistantTextDelta{Text: "*x*"}, "", "*x*")
	if !s.HasShown("*x*") {
		t.Error("the answer does not count as shown")
	}
}

// The first and the last line of a task are wrapped at words, so that an id and a time stay whole.
func TestN3_SessionWrapsItsEnds(t *testing.T) {
	s := NewSession(Style{Width: 50})
	got := s.Event(&agent.SessionStart{Model: "claude-sonnet-5-5", Dir: "/home/somebody/project",
		EventHeader: agent.EventHeader{SessionID: "152a64f9-9072-4ed0-bf76-e79fc4adedbb"}})
	got += s.Event(&agent.ProcessingEnd{Reason: agent.ReasonCompleted, Turns: 1})
	want := "claude-sonnet-5-5 · /home/somebody/project ·\n  152a64f9-9072-4ed0-bf76-e79fc4adedbb\n" +
		"done · 1 turn · 0 tool calls · tokens unknown ·\n  0s\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// What an agent was told, such as the output of a person's own command, is shown whole if it is
// short. Of a longer text the middle can be opened.
func TestX9_LongNotesAreFolded(t *testing.T) {
	s := NewSession(Style{Rich: true, Width: 40})
	s.Keep()
	short := strings.TrimSuffix(strings.Repeat("a line\n", headLines+failedLines+1), "\n")
	if got := s.Event(&agent.SteeringInjected{Text: short}); strings.Count(got, "a line\n") != headLines+failedLines+1 {
		t.Errorf("a short text is shown as %q", got)
	}
	long := "$ seq 40\n1\n2\n" + strings.Repeat("between\n", 30) + "the end"
	got := s.Event(&agent.SteeringInjected{Text: long})
	if !strings.HasPrefix(got, "→ $ seq 40\n  1\n  2\n  … 21 more lines (Ctrl-O, /output 1)\n  between\n") ||
		!strings.HasSuffix(got, "between\n  the end\n") || strings.Count(got, "\n") != headLines+1+failedLines {
		t.Errorf("a long text is shown as %q", got)
	}
	if f := s.Open(0); f == nil || f.Text != long {
		t.Errorf("what can be opened is %+v", f)
	}
	if got := NewSession(Style{}).Event(&agent.SteeringInjected{Text: long}); !strings.Contains(got, long) {
		t.Errorf("where nothing can be opened: %q", got)
	}
}

// The line of a call is wrapped at words, with its colours.
func TestN3_CallsAreWrappedAtWords(t *testing.T) {
	for colour, want := range map[bool]string{
		false: "✗ shell sh a-test.sh --again\n  --and --again · exit code 1\n  <1ms\n",
		true: "\x1b[31m✗\x1b[0m \x1b[1mshell\x1b[0m sh a-test.sh --again\n  --and --again · \x1b[31mexit code " +
			"1\x1b[0m\n  \x1b[2m<1ms\x1b[0m\n",
	} {
		s := NewSession(Style{Width: 30, Colour: colour})
		s.Event(&agent.ToolCallStart{CallID: "1", Name: "shell",
			Arguments: json.RawMessage(`{"command":"sh a-test.sh --again --and --again"}`)})
		got := s.Event(&agent.ToolCallEnd{CallID: "1", Name: "shell", IsError: true,
			Ran: &tool.Ran{Exit: &env.Exit{Code: 1}}})
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestN3_RetriesAreWrappedAtWords(t *testing.T) {
	s := NewSession(Style{Width: 30})
	got := s.Event(&agent.LLMRetry{Text: "cannot reach the server: connection refused", Attempt: 1, DelayMS: 900})
	if want := "↻ cannot reach the server:\n  connection refused; attempt\n  2 in 900ms\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Texts of the conversation's own commands are wrapped at words, and keep their indent.
func TestN3_ProseIsWrappedAtWords(t *testing.T) {
	const text = "the mode is ask: what does more than read is asked about\n  indented text stays so"
	want := "the mode is ask: what does\nmore than read is asked about\n  indented text stays so"
	if got := (Style{Width: 30}).Prose(text); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (Style{}).Prose(text); got != text {
		t.Errorf("without a width: %q", got)
	}
}
