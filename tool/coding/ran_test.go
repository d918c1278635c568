package coding

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/tool"
)

// ranIs compares the Ran of a result, without the duration and the names of processes left running.
func ranIs(t *testing.T, what string, out *tool.Outcome, want tool.Ran) {
	t.Helper()
	if out.Ran == nil {
		t.Errorf("%s: the result says nothing of the command: %s", what, out.Model.Text())
		return
	}
	got := *out.Ran
	if got.Exit != nil {
		exit := *got.Exit
		if exit.Duration <= 0 {
			t.Errorf("%s: it took %v", what, exit.Duration)
		}
		exit.Duration, exit.Killed = 0, nil // how far it had come when it was killed
		if len(exit.Left) > 0 {
			exit.Left = []string{"something"}
		}
		got.Exit = &exit
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -want +got\n%s", what, diff)
	}
}

func exited(code int) *env.Exit { return &env.Exit{Code: code} }

func killedBy(signal string) *env.Exit { return &env.Exit{Code: -1, Signal: signal} }

// Ran describes the end of a command, whatever the command printed.
func TestJ4_ShellRan(t *testing.T) {
	b := newFixture(t)
	for command, want := range map[string]tool.Ran{
		"true":                               {Exit: exited(0)},
		"echo a; printf b":                   {Exit: exited(0), Bytes: 3, Lines: 2},
		"echo 'Exit code: 7'":                {Exit: exited(0), Bytes: 13, Lines: 1},
		`printf '\033[31mred\033[0m\n'`:      {Exit: exited(0), Bytes: 13, Lines: 1}, // before cleaning
		"echo a; exit 3":                     {Exit: exited(3), Bytes: 2, Lines: 1},
		"kill -KILL $$":                      {Exit: killedBy("SIGKILL")},
		"sleep 600 >/dev/null 2>&1 & exit 2": {Exit: &env.Exit{Code: 2, Left: []string{"something"}}},
	} {
		out := b.run(sh(), object{"command": command})
		ranIs(t, command, out, want)
		if out.IsError != want.Failed() {
			t.Errorf("%s: an error: %v", command, out.IsError)
		}
	}
	var out *tool.Outcome
	await.Holds(func() bool { // on a busy machine the time may be over before the command prints
		out = b.run(sh(), object{"command": "echo a; exec sleep 600", "timeout_ms": 1000})
		return out.Ran == nil || out.Ran.Bytes > 0
	})
	if out.Ran == nil || out.Ran.Exit == nil || out.Ran.Exit.Signal == "" {
		t.Fatalf("the time is over: %+v", out.Ran)
	}
	ranIs(t, "the time is over", out, tool.Ran{Exit: killedBy(out.Ran.Exit.Signal), TimedOut: time.Second, Bytes: 2,
		Lines: 1})
}

// A result has the beginning and the end of a long output, and Ran has its size.
func TestJ4_ShellRanLongOutput(t *testing.T) {
	b := newFixture(t)
	out := b.run(sh(), object{"command": "seq 1 1000000"})
	const bytes = 6888896
	ranIs(t, "seq", out, tool.Ran{Exit: exited(0), Bytes: bytes, Lines: 1_000_000,
		Omitted: bytes - int64(len(out.Content.Text()))})
}

func TestJ4_ShellRanInterrupted(t *testing.T) {
	b := newFixture(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	out := b.runCall(ctx, sh(), object{"command": "echo a; exec sleep 600"},
		tool.Call{Live: func(int, []byte) { cancel(errors.New("enough")) }})
	if out.Ran == nil || out.Ran.Exit == nil || out.Ran.Exit.Signal == "" {
		t.Fatalf("%+v", out.Ran)
	}
	ranIs(t, "while it ran", out, tool.Ran{Exit: killedBy(out.Ran.Exit.Signal), Interrupted: true, Bytes: 2, Lines: 1})
	out = b.runCall(ctx, sh(), object{"command": "echo a"}, tool.Call{})
	if out.Ran == nil || !strings.Contains(out.Ran.Err, "enough") {
		t.Fatalf("before it began: %+v", out.Ran)
	}
	ranIs(t, "before it began", out, tool.Ran{Interrupted: true, Err: out.Ran.Err})
	if out.Ran.Running() {
		t.Error("what never began is said to run")
	}
}

// A command that is interrupted and ends by itself is not reported as killed.
func TestJ4_InterruptedAndEnded(t *testing.T) {
	b := newFixture(t)
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{Grace: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	b.env = local
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	out := b.runCall(ctx, sh(), object{"command": "trap 'exit 3' TERM; echo a; while :; do sleep 0.02; done"},
		tool.Call{Live: func(int, []byte) { cancel(errors.New("enough")) }})
	// The shell may say that what it ran was terminated.
	if got := out.Model.Text(); !strings.HasSuffix(got,
		"\n[ERROR: The command was interrupted and ended with exit code 3. Output up to then is shown above.]") {
		t.Errorf("%q: %+v", got, out.Ran.Exit)
	}
}

func TestJ4_ShellRanWhereNothingRuns(t *testing.T) {
	b := newFixture(t)
	b.env = env.ReadOnly(b.env)
	out := b.run(sh(), object{"command": "echo a"})
	if out.Ran == nil || out.Ran.Err == "" || !out.IsError {
		t.Fatalf("%+v", out.Ran)
	}
	ranIs(t, "read-only", out, tool.Ran{Err: out.Ran.Err})
}

// A background command keeps its id from start to end, in the results of every tool that looks at
// it.
func TestJ4_BackgroundRan(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	_, run := withProcesses(t, b)
	out := run(sh(), object{"command": `read -r line; echo "got $line"; exit 4`, "run_in_background": true})
	ranIs(t, "started", out, tool.Ran{ID: "7"})
	if !out.Ran.Running() || out.Ran.Failed() {
		t.Errorf("%+v", out.Ran)
	}
	ranIs(t, "read", run(Process(), object{"id": "7"}), tool.Ran{ID: "7"})
	out = run(Process(), object{"id": "7", "action": "write", "input": "it\n", "wait_ms": 600_000})
	ranIs(t, "ended", out, tool.Ran{ID: "7", Exit: exited(4), Bytes: 7, Lines: 1})
	ranIs(t, "read again", run(Process(), object{"id": "7"}), tool.Ran{ID: "7", Exit: exited(4)})

	run(sh(), object{"command": "sleep 600", "run_in_background": true})
	out = run(Process(), object{"id": "8", "action": "kill"})
	if out.Ran == nil || out.Ran.Exit == nil || out.Ran.Exit.Signal == "" {
		t.Errorf("killed: %+v", out.Ran)
	}
	out = run(sh(), object{"command": "sleep 600 >/dev/null 2>&1 & true"})
	ranIs(t, "left running", out, tool.Ran{ID: "9", Exit: &env.Exit{Left: []string{"something"}}})
	if out = run(Process(), object{"id": "99"}); out.Ran != nil || !out.IsError {
		t.Errorf("a process that there is not: %+v", out.Ran)
	}
}
