package coding

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// processSession is a session with an output store and background processes.
type processSession struct {
	tool.Plain
	outputs   *tool.DirOutputs
	processes *tool.ProcessTable
}

func (h *processSession) Outputs() tool.Outputs     { return h.outputs }
func (h *processSession) Processes() tool.Processes { return h.processes }

// withProcesses returns a function that runs calls in a processSession.
func withProcesses(t *testing.T, b *fixture) (*processSession, func(tl tool.Tool, args object) *tool.Outcome) {
	t.Helper()
	h := &processSession{outputs: tool.NewOutputs(t.TempDir())}
	h.processes = tool.NewProcesses(h.outputs, 7)
	t.Cleanup(func() {
		if err := h.processes.Close(); err != nil {
			t.Error(err)
		}
		if err := h.outputs.Close(); err != nil {
			t.Error(err)
		}
	})
	registry, err := tool.NewRegistry(sh(), Process(), ReadOutput())
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	return h, func(tl tool.Tool, args object) *tool.Outcome {
		t.Helper()
		text, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		calls++
		out := registry.Run(context.Background(), llm.ToolCall{ID: fmt.Sprintf("c%d", calls), Name: tl.Name,
			Args: string(text)}, tool.Call{Env: b.env, Session: h}, nil)
		if out.Panic != "" {
			t.Fatal(out.Panic)
		}
		return out
	}
}

func TestC7_BackgroundProcessIsReadWrittenAndKilled(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	_, run := withProcesses(t, b)
	started := run(sh(), object{"command": `echo ready; while read -r line; do echo "got $line"; done; echo over; sleep 600`, "run_in_background": true})
	text := started.Model.Text()
	for n := 0; n < 100 && !strings.Contains(text, "ready\n"); n++ { // a result does not wait long for output
		text += run(Process(), object{"id": "7"}).Model.Text()
	}
	if started.IsError || !strings.Contains(text, "process 7") ||
		!strings.Contains(text, "ready\n[Process 7 is running.]") {
		t.Fatalf("%s", text)
	}
	for _, c := range []struct {
		args object
		want string
	}{
		{object{"id": "7"}, "[Process 7 is running.]"},
		{object{"id": "7", "action": "write", "input": "one\n"}, "got one\n[Process 7 is running.]"},
		{object{"id": 7, "action": "read"}, "[Process 7 is running.]"}, // models send numbers, too
		{object{"id": "7", "action": "end_input"}, "over\n[Process 7 is running.]"},
		{object{"id": "7", "action": "kill"}, "[Process 7 has ended, killed by SIGTERM.]"},
		{object{"id": "7"}, "[Process 7 has ended, killed by SIGTERM.]"},
	} {
		out := run(Process(), c.args)
		for n := 0; n < 100 && out.Model.Text() != c.want && out.Model.Text() == "[Process 7 is running.]"; n++ {
			out = run(Process(), object{"id": "7"})
		}
		if got := out.Model.Text(); out.IsError || got != c.want {
			t.Errorf("%v: error %v: %q, want %q", c.args, out.IsError, got, c.want)
		}
	}
	text = run(sh(), object{"command": "echo quick; exit 3", "run_in_background": true}).Model.Text()
	if !strings.Contains(text, "has ended") {
		text += run(Process(), object{"id": "8", "wait_ms": 60_000}).Model.Text()
	}
	if !strings.Contains(text, "quick\n") || !strings.HasSuffix(text, "[Process 8 has ended. Exit code: 3]") {
		t.Errorf("a command that fails at once: %s", text)
	}
}

// startedAndOver is an environment whose calls are interrupted as soon as they have started a
// command.
type startedAndOver struct {
	env.Environment
	interrupt func()
}

func (e startedAndOver) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	p, err := e.Environment.Start(context.WithoutCancel(ctx), cmd)
	e.interrupt()
	return p, err
}

// A process that was started runs on after an interrupt, so the model learns its id.
func TestC7_InterruptedStartNamesTheProcess(t *testing.T) {
	b := newFixture(t)
	h, run := withProcesses(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	over := &fixture{b.TB, b.dir, startedAndOver{b.env, cancel}}
	out := over.runCall(ctx, sh(), object{"command": "sleep 600", "run_in_background": true}, tool.Call{Session: h})
	if got := out.Model.Text(); !out.IsError || !strings.Contains(got, "process 7 was started") {
		t.Errorf("%s", got)
	}
	if got := run(Process(), object{"id": "7", "action": "kill"}).Model.Text(); !strings.HasSuffix(got,
		"[Process 7 has ended, killed by SIGTERM.]") {
		t.Errorf("%s", got)
	}
}

func TestC7_BackgroundProcessIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	_, run := withProcesses(t, b)
	b.put("gate", "x")
	run(sh(), object{"command": "while [ -e gate ]; do sleep 0.01; done; echo through", "run_in_background": true})
	waited := make(chan string)
	go func() { waited <- run(Process(), object{"id": "7", "wait_ms": 60_000}).Model.Text() }()
	b.ok(sh(), object{"command": "rm gate"})
	if got := <-waited; got != "through\n[Process 7 has ended. Exit code: 0]" {
		t.Errorf("%q", got)
	}
}

func TestC7_ProcessRefusals(t *testing.T) {
	b := newFixture(t)
	_, run := withProcesses(t, b)
	b.fails(sh(), object{"command": "true", "run_in_background": true},
		"nothing can run in the background here; run the command without run_in_background")
	b.fails(Process(), object{"id": "1"}, "nothing can run in the background here")
	fails := func(args object, want string) {
		t.Helper()
		if out := run(Process(), args); !out.IsError || !strings.Contains(out.Model.Text(), want) {
			t.Errorf("%v: error %v: %s", args, out.IsError, out.Model.Text())
		}
	}
	fails(object{"id": "7"}, "none runs in the background")
	run(sh(), object{"command": "true", "run_in_background": true})
	fails(object{"id": "3"}, "before the session was resumed")
	fails(object{"id": "bash"}, "the ids are 7")
	fails(object{"id": "7", "action": "dance"}, `no action "dance"`)
	fails(object{"id": "7", "action": "write"}, "input is empty")
	fails(object{"id": "7", "input": "x"}, "goes with the action write")
	fails(object{"id": "7", "wait_ms": -1}, "wait_ms is -1")
	fails(object{"id": "7", "action": "write", "input": "x"}, "has ended")
}

func TestC7_WhatACommandLeavesRunningDiesWithTheSession(t *testing.T) {
	b := newFixture(t)
	h, run := withProcesses(t, b)
	out := run(sh(), object{"command": "(trap '' HUP; exec sleep 600) >/dev/null 2>&1 & echo $! > pid; echo started"})
	if text := out.Model.Text(); out.IsError || !strings.Contains(text, "left processes running") ||
		!strings.Contains(text, "by the id 7") {
		t.Fatalf("%s", text)
	}
	if err := h.processes.Close(); err != nil {
		t.Fatal(err)
	}
	// a zombie waits for process 1
	if left := b.run(sh(), object{"command": "ps -o stat= -p $(cat pid) | grep -v Z"}); !left.IsError {
		t.Errorf("it is still there: %s", left.Model.Text())
	}
	if out := run(sh(), object{"command": "true", "run_in_background": true}); !out.IsError ||
		!strings.Contains(out.Model.Text(), "the session has ended") {
		t.Errorf("a closed table starts commands: %s", out.Model.Text())
	}
}

func TestC7_TooManyBackgroundProcesses(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	h, _ := withProcesses(t, b)
	for range tool.MaxProcesses {
		if _, err := h.processes.Start(context.Background(), b.env, env.Command{Script: "sleep 600"}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := h.processes.Start(context.Background(), b.env, env.Command{Script: "true"})
	if err == nil || !strings.Contains(err.Error(), "end one of them first") {
		t.Fatal(err)
	}
	if err := h.processes.Kill(context.Background(), "7"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.processes.Start(context.Background(), b.env, env.Command{Script: "true"}); err != nil {
		t.Error(err)
	}
}

func TestC7_AProcessThatReadsNothingDoesNotHoldTheCall(t *testing.T) {
	b := newFixture(t)
	h, _ := withProcesses(t, b)
	id, err := h.processes.Start(context.Background(), b.env, env.Command{Script: "sleep 600", Stdin: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := h.processes.Write(ctx, id, strings.Repeat("x", 1<<20)); err == nil || !strings.Contains(err.Error(),
		"does not read its input") {
		t.Error(err)
	}
}

// TestD5_LongOutputIsKeptAsItCame checks that the store has the bytes of a command, and the model
// the text.
func TestD5_LongOutputIsKeptAsItCame(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	h, run := withProcesses(t, b)
	for name, lines := range map[string]int{"short, in memory": 500, "long, spooled at once": 50_000} {
		out := run(sh(), object{"command": fmt.Sprintf(
			`i=1; while [ $i -le %d ]; do printf '\033[31mline %%d\033[0m\n' $i; i=$((i + 1)); done`, lines)})
		if !out.Truncated || out.OutputRef == "" || strings.Contains(out.Model.Text(), "\x1b") ||
			!strings.Contains(out.Model.Text(), out.OutputRef) {
			t.Fatalf("%s: ref %q, truncated %v: %.300s", name, out.OutputRef, out.Truncated, out.Model.Text())
		}
		r, err := h.outputs.Open(out.OutputRef)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 20)
		if _, err := r.Read(got); err != nil || !strings.HasPrefix(string(got), "\x1b[31mline 1\x1b[0m\n") {
			t.Errorf("%s: the store has %q, %v", name, got, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		last := run(ReadOutput(), object{"id": out.OutputRef, "pattern": fmt.Sprintf("^line %d$", lines)})
		if want := fmt.Sprintf("%d | line %d\n", lines, lines); last.IsError || !strings.HasSuffix(last.Model.Text(),
			want) {
			t.Errorf("%s: %q, want %q", name, last.Model.Text(), want)
		}
	}
}
