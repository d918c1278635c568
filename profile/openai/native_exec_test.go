package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

func TestE2_ExecCommandResult(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home) // a login shell reads its .profile
	if err := os.WriteFile(filepath.Join(home, ".profile"), []byte("GREETING=login\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newFixture(t)
	r.put("sub/f", "inside")
	for _, c := range []struct {
		args    object
		isError bool
		want    string
	}{
		{object{"cmd": "echo out; echo err >&2; exit 3"}, true,
			"Process exited with code 3\nOriginal token count: 2\nOutput:\nout\nerr\n"},
		{object{"cmd": "cat f", "workdir": "sub"}, false,
			"Process exited with code 0\nOriginal token count: 2\nOutput:\ninside"},
		{object{"cmd": "true"}, false, "Process exited with code 0\nOriginal token count: 0\nOutput:\n"},
		// there is no input
		{object{"cmd": "cat; echo end"}, false, "Process exited with code 0\nOriginal token count: 1\nOutput:\nend\n"},
		{object{"cmd": "kill -9 $$"}, true,
			"Process exited with code -1 (killed by SIGKILL)\nOriginal token count: 0\nOutput:\n"},
		{object{"cmd": "test -t 1 && echo 'a terminal'", "tty": true}, false,
			"Process exited with code 0\nOriginal token count: 3\nOutput:\na terminal\n"},
		{object{"cmd": "echo \"$0\" 'it'\\''s'", "shell": "/bin/sh"}, false,
			"Process exited with code 0\nOriginal token count: 4\nOutput:\n/bin/sh it's\n"},
		{object{"cmd": "echo $GREETING", "login": true}, false,
			"Process exited with code 0\nOriginal token count: 2\nOutput:\nlogin\n"},
		{object{"cmd": "echo x", "sandbox_permissions": "require_escalated", "justification": "?",
			"prefix_rule": []string{"echo"}}, false,
			"Process exited with code 0\nOriginal token count: 1\nOutput:\nx\n"},
	} {
		r.want(fmt.Sprint(c.args), r.exec(c.args), c.isError, c.want)
	}
}

func TestE2_ExecCommandYieldsAndGoesOn(t *testing.T) {
	r := newFixture(t)
	r.put("gate", "")
	script := "echo begun; touch seen; while [ -e gate ]; do sleep 0.01; done; echo through; exit 4"
	first := r.exec(object{"cmd": script, "yield_time_ms": 250}).Model.Text()
	if !strings.Contains(first, "\nProcess running with session ID 7\n") {
		t.Fatalf("it still runs: %s", first)
	}
	if !strings.HasSuffix(first, "Output:\nbegun\n") { // on a machine that is very busy
		r.sh("until [ -e seen ]; do sleep 0.01; done")
		if _, err := r.session.Processes().Read(context.Background(), "7", 0); err != nil {
			t.Fatal(err)
		}
	}
	r.sh("rm gate")
	r.want("its end", r.stdin(object{"session_id": 7}), true,
		"Process exited with code 4\nOriginal token count: 2\nOutput:\nthrough\n")
	r.want("once more", r.stdin(object{"session_id": 7}), true,
		"Process exited with code 4\nOriginal token count: 0\nOutput:\n")
}

func TestE2_WriteStdinToATerminal(t *testing.T) {
	r := newFixture(t)
	r.exec(object{"cmd": "stty -echo; echo ready; read -r line; echo \"got $line\"; cat; exit 5", "tty": true,
		"yield_time_ms": 250})
	var all strings.Builder
	for _, chars := range []string{"one\n", "two\n", "\x04"} {
		wait := 250 // the last one waits for the end
		if chars == "\x04" {
			wait = 30_000
		}
		out := r.stdin(object{"session_id": 7, "chars": chars, "yield_time_ms": wait})
		all.WriteString(out.Model.Text())
	}
	for _, want := range []string{"got one\n", "two\n", "Process exited with code 5\n"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, all.String())
		}
	}
}

func TestE2_WriteStdinInterrupts(t *testing.T) {
	r := newFixture(t)
	r.exec(object{"cmd": "sleep 600", "yield_time_ms": 250})
	r.exec(object{"cmd": "trap 'echo caught; exit 6' INT; touch ready; while :; do sleep 0.01; done", "tty": true,
		"yield_time_ms": 250})
	r.sh("until [ -e ready ]; do sleep 0.01; done")
	if out := r.stdin(object{"session_id": 7, "chars": "x"}); !out.IsError || !strings.Contains(out.Model.Text(),
		"tty set to true") {
		t.Errorf("a command without input takes some: %s", out.Model.Text())
	}
	r.want("without a terminal", r.stdin(object{"session_id": 7, "chars": "\x03"}), true,
		"Process exited with code -1 (killed by SIGTERM)\nOriginal token count: 0\nOutput:\n")
	out := r.stdin(object{"session_id": 8, "chars": "\x03", "yield_time_ms": 30_000})
	if text := out.Model.Text(); !strings.Contains(text, "caught\n") || !strings.Contains(text, "exited with code 6") {
		t.Errorf("with a terminal: %s", text)
	}
}

func TestE2_ExecCommandOutputIsCut(t *testing.T) {
	r := newFixture(t)
	count := "i=1; while [ $i -le 30000 ]; do echo line $i; i=$((i + 1)); done" // 318,894 bytes
	for _, c := range []struct {
		tokens       any
		chars, extra int
	}{{100, 400, 0}, {nil, 40_000, 200}, {1_000_000, 40_000, 200}} {
		args := object{"cmd": count, "yield_time_ms": 30_000}
		if c.tokens != nil {
			args["max_output_tokens"] = c.tokens
		}
		out := r.exec(args)
		text := out.Model.Text()
		head, output, _ := strings.Cut(text, "Output:\n")
		if held := out.Gap.At - len(head) - len("Output:\n"); c.tokens == nil && held != 128<<10 {
			t.Errorf("the gap is after %d bytes of output", held)
		}
		marker := regexp.MustCompile(`\n?\[WARNING: .*\]\n`).FindString(output)
		kept := len(output) - len(marker)
		if marker == "" || kept > c.chars || kept < c.chars-c.extra-2 ||
			!strings.Contains(text, "Original token count: 79724\n") ||
			!strings.HasPrefix(output, "line 1\n") || !strings.HasSuffix(output, "line 30000\n") {
			t.Errorf("%v tokens: %d bytes kept of %d, marker %q: %.300s", c.tokens, kept, c.chars, marker, text)
		}
	}
}

func TestE2_ExecCommandIsInterruptedWithItsCall(t *testing.T) {
	r := newFixture(t)
	ctx, cancel := context.WithCancel(context.Background())
	live := func(_ int, p []byte) {
		if strings.Contains(string(p), "begun") {
			cancel()
		}
	}
	out := r.call(ctx, "exec_command", object{"cmd": "echo begun; exec sleep 600", "yield_time_ms": 30_000},
		tool.Call{Live: live}, nil)
	if text := out.Model.Text(); !out.IsError ||
		!strings.HasPrefix(text, "begun\n[ERROR: The command was interrupted") {
		t.Errorf("%s", text)
	}
	if got, err := r.session.Processes().Read(context.Background(), "7", 0); err != nil || got.Ran.Exit == nil ||
		got.Ran.Exit.Signal == "" {
		t.Errorf("it was not killed: %+v, %v", got.Ran, err)
	}
}

func TestE2_ExecCommandAppliesPatches(t *testing.T) {
	r := newFixture(t)
	r.put("sub/a.txt", "old\n")
	args := object{"cmd": "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** End " +
		"Patch\nEOF", "workdir": "sub"}
	if out := r.exec(args); out.IsError || r.get("sub/a.txt") != "new\n" {
		t.Errorf("%s: %q", out.Model.Text(), r.get("sub/a.txt"))
	}
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	access, err := execCommand().Access(string(text))
	if err != nil || fmt.Sprint(access.Paths) != "[sub/a.txt]" || access.Command != "" {
		t.Errorf("%+v, %v", access, err)
	}
}

func TestE2_ExecCommandWithoutBackgroundProcesses(t *testing.T) {
	r := newFixture(t)
	r.session = new(tool.Plain)
	r.want("to its end", r.exec(object{"cmd": "sleep 0.4; echo over; exit 2", "yield_time_ms": 250}), true,
		"Process exited with code 2\nOriginal token count: 2\nOutput:\nover\n")
	if out := r.stdin(object{"session_id": 1}); !out.IsError || !strings.Contains(out.Model.Text(),
		"no command outlives its call") {
		t.Errorf("%s", out.Model.Text())
	}
}

func TestE2_ExecRefusals(t *testing.T) {
	r := newFixture(t)
	for _, c := range []struct {
		tool string
		args object
		want string
	}{
		{"exec_command", object{"cmd": " "}, "cmd is empty"},
		{"exec_command", object{"cmd": "true", "yield_time_ms": -1}, "cannot be negative"},
		{"exec_command", object{"cmd": "true", "workdir": "nowhere"}, "nowhere"},
		{"exec_command", object{"cmd": "true", "sandbox_permissions": "all"}, "sandbox_permissions"},
		{"write_stdin", object{"session_id": 7, "max_output_tokens": -1}, "cannot be negative"},
		{"write_stdin", object{"session_id": 70}, `no command has the id "70"`},
		{"write_stdin", object{"session_id": 1.5, "chars": "x"}, `no command has the id "1.5"`},
	} {
		out := r.run(c.tool, c.args)
		if text := out.Model.Text(); !out.IsError || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: error %v: %s", c.tool, c.args, out.IsError, text)
		}
	}
}

// noTerminals is an environment of a system on which commands get no terminal.
type noTerminals struct{ env.Environment }

func (n noTerminals) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	if cmd.TTY != nil {
		return nil, fmt.Errorf("a terminal: %w", errors.ErrUnsupported)
	}
	return n.Environment.Start(ctx, cmd)
}

func TestE2_ExecCommandTakesInputWhereThereAreNoTerminals(t *testing.T) {
	r := newFixture(t)
	r.env = noTerminals{r.env}
	// the attempt with a terminal took the id 7
	r.exec(object{"cmd": "read -r line; echo got $line", "tty": true, "yield_time_ms": 250})
	r.want("the answer", r.stdin(object{"session_id": 8, "chars": "one\n", "yield_time_ms": 30_000}), false,
		"Process exited with code 0\nOriginal token count: 2\nOutput:\ngot one\n")
}

func TestE2_YieldTimes(t *testing.T) {
	for _, c := range []struct {
		ms   float64
		want time.Duration
	}{{0, execYield}, {1, minYield}, {700, 700 * time.Millisecond}, {1e300, maxYield}} {
		if got := yieldTime(c.ms, execYield, minYield, maxYield); got != c.want {
			t.Errorf("%v ms: %v, want %v", c.ms, got, c.want)
		}
	}
}

// A patch written as a command changes a read-only file only after an approval, like a call of
// apply_patch.
func TestI6_ExecCommandPatchesNeedAnApproval(t *testing.T) {
	b := newFixture(t)
	b.put("f", "1\n")
	file := filepath.Join(b.dir, "f")
	if err := os.Chmod(file, 0o444); err != nil {
		t.Fatal(err)
	}
	args := object{"cmd": "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: f\n-1\n+2\n*** End Patch\nEOF",
		"workdir": "."}
	if out := b.exec(args); !out.IsError || !strings.Contains(out.Model.Text(),
		"f: the file is read-only (mode -r--r--r--)") || b.get("f") != "1\n" {
		t.Errorf("no hook: %s, and the file is %q", out.Model.Text(), b.get("f"))
	}
	var asked []tool.Guarded
	allow := func(_ context.Context, req tool.Request) (tool.Decision, error) {
		asked = append(asked, req.Access.Guarded...)
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	if out := b.call(context.Background(), "exec_command", args, tool.Call{}, allow); out.IsError ||
		b.get("f") != "2\n" {
		t.Errorf("approved: %s, and the file is %q", out.Model.Text(), b.get("f"))
	}
	if len(asked) != 1 || !strings.HasSuffix(asked[0].Path, "/f") || !strings.Contains(asked[0].Why, "read-only") {
		t.Errorf("asked about %+v", asked)
	}
}

func TestJ4_ExecRan(t *testing.T) {
	r := newFixture(t)
	ranIs(t, "success", r.exec(object{"cmd": "echo a"}),
		tool.Ran{ID: "7", Exit: &env.Exit{Code: 0}, Bytes: 2, Lines: 1})
	ranIs(t, "failure", r.exec(object{"cmd": "exit 3"}), tool.Ran{ID: "8", Exit: &env.Exit{Code: 3}})
	ranIs(t, "signal", r.exec(object{"cmd": "kill -KILL $$"}),
		tool.Ran{ID: "9", Exit: &env.Exit{Code: -1, Signal: "SIGKILL"}})
	ranIs(t, "left", r.exec(object{"cmd": "sleep 600 >/dev/null 2>&1 & true"}),
		tool.Ran{ID: "10", Exit: &env.Exit{Left: []string{"something"}}})
	ranIs(t, "running", r.exec(object{"cmd": "exec sleep 600", "yield_time_ms": 250}), tool.Ran{ID: "11"})
	out := r.stdin(object{"session_id": 11, "chars": "\x03"})
	if out.Ran == nil || out.Ran.ID != "11" || out.Ran.Exit == nil || out.Ran.Exit.Signal == "" {
		t.Errorf("interrupted: %+v", out.Ran)
	}
	if out := r.exec(object{"cmd": "test -t 0 && exit 5", "tty": true}); out.Ran == nil || !out.Ran.Terminal ||
		out.Ran.Exit == nil || out.Ran.Exit.Code != 5 {
		t.Errorf("on a terminal: %+v", out.Ran)
	}
}

// In a session without background processes, a command that times out says so as shell does.
func TestJ4_ExecRanToTheEnd(t *testing.T) {
	b := newFixture(t)
	b.session = new(tool.Plain)
	ranIs(t, "success", b.exec(object{"cmd": "echo a; exit 3"}), tool.Ran{Exit: &env.Exit{Code: 3}, Bytes: 2, Lines: 1})
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	out := b.call(ctx, "exec_command", object{"cmd": "echo a; exec sleep 600"},
		tool.Call{Live: func(int, []byte) { cancel(errors.New("enough")) }}, nil)
	if out.Ran == nil || !out.Ran.Interrupted || !out.IsError {
		t.Errorf("%+v", out.Ran)
	}
}

// endless is an environment whose commands end when they are killed.
type endless struct{ env.Environment }

func (endless) Start(context.Context, env.Command) (env.Process, error) {
	return &endlessProcess{killed: make(chan struct{})}, nil
}

func (endless) Platform() env.Platform { return env.Platform{} }

type endlessProcess struct {
	env.Process
	killed chan struct{}
}

func (p *endlessProcess) Wait(ctx context.Context) (env.Exit, error) {
	select {
	case <-p.killed:
		return env.Exit{Code: -1, Signal: "SIGTERM", Duration: time.Minute}, nil
	case <-ctx.Done():
		return env.Exit{}, context.Cause(ctx)
	}
}

func (p *endlessProcess) Kill(context.Context) error {
	close(p.killed)
	return nil
}

// The result of a command that timed out names no parameter that the tool lacks.
func TestJ4_ExecTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &fixture{TB: t, env: endless{}, session: new(tool.Plain)}
		out := b.exec(object{"cmd": "sleep 601"})
		ranIs(t, "exec_command", out, tool.Ran{Exit: &env.Exit{Code: -1, Signal: "SIGTERM"}, TimedOut: env.MaxTimeout})
		const want = "[ERROR: Command timed out after 600000ms. It printed nothing.\nRun a part of it at a time.]"
		if got := out.Model.Text(); got != want || !out.IsError {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	})
}
