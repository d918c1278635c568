package coding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// sh returns the tool shell with a default timeout that no test reaches.
func sh() tool.Tool { return Shell(time.Minute) }

func TestC7_Shell(t *testing.T) {
	b := newFixture(t)
	for _, c := range []struct {
		name, command, want string
		fails               bool
	}{
		{"output", "echo a; echo b >&2", "a\nb\n", false},
		{"without a last newline", "printf a", "a", false},
		{"nothing", "true", "(no output)", false},
		{"exit code", "echo a; exit 3", "a\nExit code: 3", true},
		{"exit code after a line without an end", "printf a; exit 3", "a\nExit code: 3", true},
		{"exit code alone", "exit 1", "Exit code: 1", true},
		{"signal", "echo a; kill -9 $$", "a\nExit code: -1 (killed by SIGKILL)", true},
		{"no input", "cat; echo done", "done\n", false},
		{"a command that is not there", "nosuchcommand 2>/dev/null", "Exit code: 127", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := b.run(sh(), object{"command": c.command, "description": "tries something"})
			if got := o.Model.Text(); got != c.want || o.IsError != c.fails {
				t.Errorf("error %v: %q, want %q", o.IsError, got, c.want)
			}
		})
	}
}

func TestC7_RunsInTheWorkingDirectory(t *testing.T) {
	b := newFixture(t)
	b.put("here", "x")
	if got := b.ok(sh(), object{"command": "ls"}); got != "here\n" {
		t.Errorf("%q", got)
	}
}

func TestC7_Timeout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool tool.Tool
		args object
		ms   int
	}{
		"the model's": {sh(), object{"command": "echo a; sleep 600", "timeout_ms": 1200}, 1200},
		"the default": {Shell(1300 * time.Millisecond), object{"command": "echo a; sleep 600"}, 1300},
		"0 for the default": {Shell(1400 * time.Millisecond), object{"command": "echo a; sleep 600", "timeout_ms": 0},
			1400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			var o *tool.Outcome
			await.Holds(func() bool { // on a busy machine the time may be over before the command prints
				o = b.run(c.tool, c.args)
				return !strings.Contains(o.Model.Text(), "printed nothing") && strings.Contains(o.Model.Text(),
					"was running")
			})
			want := fmt.Sprintf("a\n[ERROR: Command timed out after %dms. Partial output is shown above. It was "+
				"running `sleep 600`.\nYou can retry with a longer timeout by setting the timeout_ms parameter.]\n"+
				"[To keep a server or a watcher running, start it with run_in_background.]", c.ms)
			if got := o.Model.Text(); got != want || !o.IsError {
				t.Errorf("error %v: %q, want %q", o.IsError, got, want)
			}
		})
	}
}

// asked is an environment that records the time limit of a command and starts nothing.
type asked struct {
	env.Environment
	timeout time.Duration
}

func (a *asked) Start(context.Context, env.Command) (env.Process, error) { return waited{a: a}, nil }

type waited struct {
	env.Process
	a *asked
}

func (w waited) Wait(ctx context.Context) (env.Exit, error) {
	deadline, _ := ctx.Deadline()
	w.a.timeout = time.Until(deadline)
	return env.Exit{}, nil
}

func TestC7_TimeoutIsCapped(t *testing.T) {
	for _, ms := range []int64{600_000, 600_001, 1 << 62} {
		a := &asked{}
		if _, err := (Dialect{}).shell(context.Background(), &tool.Call{Env: a}, shellArgs{Command: "x", TimeoutMS: ms},
			time.Second); err != nil {
			t.Fatal(err)
		}
		if a.timeout > 600*time.Second || a.timeout < 590*time.Second {
			t.Errorf("%d ms: waited for %v", ms, a.timeout)
		}
	}
}

func TestC7_Refusals(t *testing.T) {
	b := newFixture(t)
	b.fails(sh(), object{"command": "  "}, "command is empty")
	b.fails(sh(), object{}, `"command" is missing`)
	b.fails(sh(), object{"command": "true", "timeout_ms": -5}, "timeout_ms is -5", "60000")
	b.fails(sh(), object{"command": "true", "timeout_ms": "soon"}, `"timeout_ms" must be an integer`)
}

func TestC7_LiveOutput(t *testing.T) {
	b := newFixture(t)
	var mu sync.Mutex
	streams := map[int]string{}
	o := b.runCall(context.Background(), sh(), object{"command": "echo a; echo b >&2"},
		tool.Call{Live: func(stream int, p []byte) {
			mu.Lock()
			defer mu.Unlock()
			streams[stream] += string(p)
		}})
	if o.IsError || streams[env.Stdout] != "a\n" || streams[env.Stderr] != "b\n" {
		t.Errorf("%v", streams)
	}
}

func TestC7_InterruptKeepsTheOutput(t *testing.T) {
	b := newFixture(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	o := b.runCall(ctx, sh(), object{"command": "echo before; sleep 600"},
		tool.Call{Live: func(int, []byte) { cancel(errors.New("enough")) }})
	if got, want := o.Model.Text(),
		"before\n[ERROR: The command was interrupted and killed. Output up to then is shown above.]"; got != want ||
		!o.IsError {
		t.Errorf("error %v: %q, want %q", o.IsError, got, want)
	}
}

func TestC7_InterruptBeforeTheStart(t *testing.T) {
	b := newFixture(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	o := b.runCall(ctx, sh(), object{"command": "touch ran"}, tool.Call{})
	if got := o.Model.Text(); !o.IsError || !strings.Contains(got, "interrupted") || !strings.Contains(got, "enough") {
		t.Errorf("error %v: %q", o.IsError, got)
	}
	if got := b.ok(Glob(), object{"pattern": "ran"}); !strings.Contains(got, "No files match") {
		t.Error("the command ran")
	}
}

func TestC7_WhatIsLeftRunningIsNamed(t *testing.T) {
	b := newFixture(t)
	got := b.ok(sh(), object{"command": "sleep 4321 >/dev/null 2>&1 & echo started"})
	if !strings.HasPrefix(got, "started\n[The command has ended but left processes running") ||
		!strings.Contains(got, "sleep 4321") {
		t.Errorf("%q", got)
	}
}

// The model reads which limit a command reached.
func TestL6_LimitsAreTold(t *testing.T) {
	dir := t.TempDir()
	limited, err := env.NewLocal(dir, env.LocalOptions{Limits: env.Limits{FileSize: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	b := &fixture{t, dir, limited}
	defer func() {
		if err := limited.Close(); err != nil {
			t.Error(err)
		}
	}()
	o := b.run(sh(), object{"command": "head -c 2000000 /dev/zero >big; echo $?; sleep 4321 >/dev/null 2>&1 & " +
		"exit 153"})
	if got := o.Model.Text(); !o.IsError ||
		!strings.Contains(got, "Exit code: 153\n[The command reached its limit: files up to 1 MiB. ") ||
		!strings.Contains(got, "limit.]\n[The command has ended but left processes running") {
		t.Errorf("%q", got)
	}
	if o := b.run(sh(), object{"command": "head -c 2000 /dev/zero >small; exit 1"}); strings.Contains(o.Model.Text(),
		"limit") {
		t.Errorf("%q", o.Model.Text())
	}
}

func TestC7_LongOutputIsCountedExactly(t *testing.T) {
	b := newFixture(t)
	const size, line = 12 << 20, "ä234567\n" // 9 bytes, 8 characters
	o := b.run(sh(), object{"command": fmt.Sprintf("yes ä234567 | head -c %d", size)})
	chars, lines := int64(size/len(line)*8+utf8.RuneCountInString(line[:size%len(line)])), int64(size/len(line))
	text := o.Content.Text()
	if !utf8.ValidString(text) || len(text) > 2*capture.DefaultKept || len(text) < 2*capture.DefaultKept-8 {
		t.Errorf("%d bytes kept", len(text))
	}
	if got := o.Gap.Chars + int64(utf8.RuneCountInString(text)); got != chars {
		t.Errorf("%d characters, want %d", got, chars)
	}
	if got := o.Gap.Lines + int64(strings.Count(text, "\n")); got != lines {
		t.Errorf("%d lines, want %d", got, lines)
	}
	if got := o.Gap.Bytes + int64(len(text)); got != size {
		t.Errorf("%d bytes, want %d", got, size)
	}
	if want := fmt.Sprintf("%d characters were removed from the middle",
		chars-30_000); !strings.Contains(o.Model.Text(), want) {
		t.Errorf("the model is not told that %s", want)
	}
}

func TestC7_EnvironmentThatCannotRun(t *testing.T) {
	o := (&fixture{t, "", refusing{}}).run(sh(), object{"command": "true"})
	if got := o.Model.Text(); !o.IsError || !strings.Contains(got, "no commands here") {
		t.Errorf("error %v: %q", o.IsError, got)
	}
}

// refusing is an environment that runs no commands.
type refusing struct{ env.Environment }

func (refusing) Start(context.Context, env.Command) (env.Process, error) {
	return nil, errors.New("no commands here")
}

func TestC7_Access(t *testing.T) {
	access, err := sh().Access(`{"command":"rm -rf /"}`)
	if err != nil || access.Effect != tool.Writes || access.Command != "rm -rf /" {
		t.Errorf("%+v, %v", access, err)
	}
}

// TestAC5_6_LimitsOfTheTools pins the limits of the tools.
func TestAC5_6_LimitsOfTheTools(t *testing.T) {
	for want, got := range map[tool.Limit]tool.Tool{
		{Chars: 50_000, Keep: tool.KeepHeadTail}:             ReadFile(),
		{Chars: 1_000, Keep: tool.KeepTail}:                  WriteFile(),
		{Chars: 10_000, Keep: tool.KeepTail}:                 EditFile(),
		{Chars: 30_000, Lines: 256, Keep: tool.KeepHeadTail}: sh(),
		{Chars: 20_000, Lines: 200, Keep: tool.KeepTail}:     Grep(),
		{Chars: 20_000, Lines: 500, Keep: tool.KeepHead}:     Glob(),
	} {
		if got.Limit != want {
			t.Errorf("%s: %+v, want %+v", got.Name, got.Limit, want)
		}
	}
}

func TestC6_PatchInShell(t *testing.T) {
	b := newFixture(t)
	b.put("sub/a.txt", "one\n")
	script := "cd sub && apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End " +
		"Patch\nEOF\n"
	b.ok(sh(), object{"command": script})
	if got := b.get("sub/a.txt"); got != "two\n" {
		t.Errorf("%q", got)
	}
	access, err := sh().Access(string(mustJSON(t, object{"command": script})))
	if err != nil || access.Command != "" || len(access.Paths) != 1 || access.Paths[0] != "sub/a.txt" {
		t.Errorf("%+v, %v", access, err)
	}
}

func mustJSON(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestC3_Parameters pins the names of parameters and requires a description of each.
func TestC3_Parameters(t *testing.T) {
	for names, tl := range map[string]tool.Tool{
		"file_path* limit offset":                           ReadFile(),
		"content* file_path*":                               WriteFile(),
		"file_path* new_string* old_string* replace_all":    EditFile(),
		"command* description run_in_background timeout_ms": sh(),
		"action id* input wait_ms":                          Process(),
		"path pattern*":                                     Glob(),
		"case_insensitive context glob_filter max_results output_mode path pattern*": Grep(),
	} {
		if got := parameterNames(t, tl.ToolDefinition); got != names {
			t.Errorf("%s: %s, want %s", tl.Name, got, names)
		}
	}
}

func parameterNames(t *testing.T, def llm.ToolDefinition) string {
	schema := parseParameters(t, def.Parameters)
	if def.Description == "" || schema.Type != "object" {
		t.Errorf("%s: %+v", def.Name, schema)
	}
	var names []string
	for name, p := range schema.Properties {
		if p.Description == "" || p.Type == "" {
			t.Errorf("%s.%s is not explained", def.Name, name)
		}
		for _, r := range schema.Required {
			if r == name {
				name += "*"
			}
		}
		names = append(names, name)
	}
	return sorted(names)
}
