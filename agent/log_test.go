package agent_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// lines returns a logger and a function that returns what was logged, without times.
func lines(level slog.Level) (*slog.Logger, func() string) {
	var b bytes.Buffer
	handler := slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string,
		a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return slog.New(handler), b.String
}

// A session and its subagents have their lines in one log, each with its session and agent, and
// without texts.
func TestN7_LogOfASessionAndItsAgents(t *testing.T) {
	const canary = "canary-text"
	log, got := lines(slog.LevelDebug)
	synctest.Test(t, func(t *testing.T) {
		ids := []string{"parent", "child"}
		h := openSpawning(t, agent.Options{Logger: log, Subagents: &agent.Subagents{}, NewID: func() string {
			id := ids[0]
			ids = ids[1:]
			return id
		}}, map[string][]llmtest.Step{
			canary: {llmtest.Error(&llm.Error{Kind: llm.ErrServer, Message: "down", Status: 503}),
				llmtest.Calls(spawn("sub " + canary)), llmtest.Text(canary)},
			"sub " + canary: {llmtest.Text(canary)},
		})
		h.submit(t, canary, agent.ReasonCompleted)
		synctest.Wait() // until the agent has ended
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	text := got()
	if strings.Contains(text, canary) {
		t.Errorf("content in the log:\n%s", text)
	}
	for line := range strings.Lines(text) {
		if !strings.Contains(line, " session=parent ") && !strings.Contains(line, " session=child agent=agent-1 ") {
			t.Errorf("a line without its session: %s", line)
		}
	}
	for _, want := range []string{
		"level=INFO msg=\"session started\" session=parent provider=",
		"level=INFO msg=\"session started\" session=child agent=agent-1 provider=",
		"level=INFO msg=\"input started\" session=parent bytes=11\n",
		"level=DEBUG msg=\"step started\" session=parent step=1 epoch=0\n",
		"level=WARN msg=\"attempt failed\" session=parent attempt=1 error_kind=server error=",
		"level=DEBUG msg=\"tool call started\" session=parent call=",
		"level=INFO msg=\"tool call ended\" session=parent call=",
		"level=INFO msg=\"step ended\" session=child agent=agent-1 step=1 attempts=1 ",
		"level=INFO msg=\"session ended\" session=parent state=CLOSED reason=",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
}

// What ends an input is an error, long texts are cut, and each kind of event that is no piece of a
// text has a line.
func TestN7_LogOfFailures(t *testing.T) {
	long := strings.Repeat("x", 20_000)
	log, got := lines(slog.LevelWarn)
	h := open(t, setup{options: agent.Options{Logger: log, ID: "s"}, fails: true,
		steps: []llmtest.Step{llmtest.Error(&llm.Error{Kind: llm.ErrAuthentication, Message: long, Status: 401})}})
	if _, err := h.Submit(t.Context(), "go"); err == nil {
		t.Fatal("no error")
	}
	text := got()
	if want := "level=ERROR msg=\"input failed\" session=s error_kind=authentication error=\""; !strings.HasPrefix(text,
		want) || strings.Count(text, "\n") != 1 {
		t.Errorf("got %q, want %q", text, want)
	}
	if len(text) > 9000 || !strings.Contains(text, "bytes in all]") {
		t.Errorf("the line has %d bytes", len(text))
	}
}

// A panic of the logger's handler ends the session as one of OnEvent does.
func TestN7_HandlerPanics(t *testing.T) {
	s, err := agent.New(t.Context(),
		agent.Options{Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test", llmtest.Text("done"))}},
			Provider: "test", Model: "m", System: "x", Env: envtest.NewMemory(nil),
			Logger: slog.New(brokenHandler{slog.DiscardHandler})})
	if err != nil {
		t.Fatal(err)
	}
	var broken *agent.HostError
	if _, err := s.Submit(t.Context(), "go"); !errors.As(err, &broken) || broken.What != "OnEvent" {
		t.Errorf("the error is %v", err)
	}
	_ = s.Close() // returns the same error
}

type brokenHandler struct{ slog.Handler }

func (brokenHandler) Enabled(context.Context, slog.Level) bool { return true }

func (brokenHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "step started" {
		panic("broken")
	}
	return nil
}

// BenchmarkN7_Log measures a session of many calls without a logger, and with one whose handler
// drops everything.
func BenchmarkN7_Log(b *testing.B) {
	const rounds = 50
	noop := tool.New(llm.ToolDefinition{Name: "noop", Description: "Does nothing."}, func(context.Context, *tool.Call,
		struct{}) (tool.Result, error) {
		return tool.Result{}, nil
	})
	run := func(b *testing.B, log *slog.Logger) {
		b.ReportAllocs()
		for b.Loop() {
			steps := make([]llmtest.Step, 0, rounds+1)
			for range rounds {
				steps = append(steps, llmtest.Calls(llm.ToolCall{Name: "noop", Args: "{}"}))
			}
			model := llmtest.NewProvider("test", append(steps, llmtest.Text("done"))...)
			s, err := agent.New(b.Context(), agent.Options{Client: &llm.Client{Providers: []llm.Provider{model}},
				Provider: "test", Model: "m", System: "x",
				Env: envtest.NewMemory(nil), Tools: []tool.Tool{noop}, Logger: log})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.Submit(b.Context(), "go"); err != nil {
				b.Fatal(err)
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("none", func(b *testing.B) { run(b, nil) })
	b.Run("discard", func(b *testing.B) { run(b, slog.New(slog.DiscardHandler)) })
}
