//go:build unix

package hooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/ext/hooks"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/tool"
)

// ran holds hooks that run on this machine, and what they told.
type ran struct {
	*hooks.Hooks
	dir string

	mu    sync.Mutex
	warns []string
	runs  []hooks.Run
}

func (r *ran) warned() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.warns, "\n")
}

// newHooks returns the hooks of a file, which run in a directory of their own.
func newHooks(t testing.TB, file string, change ...func(*hooks.Options)) *ran {
	t.Helper()
	p := hooks.Parse(ext.File{Name: "hooks.json", Data: []byte(file)})
	if len(p.Mistakes) > 0 {
		t.Fatal(p.Mistakes)
	}
	r := &ran{dir: t.TempDir()}
	local, err := env.NewLocal(r.dir, env.LocalOptions{Grace: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	o := hooks.Options{Hooks: p.Hooks, Env: func(ext.Origin) (env.Environment, error) { return local, nil },
		Project: r.dir, Dir: r.dir,
		Warn: func(code, text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.warns = append(r.warns, code+": "+text)
		},
		Ran: func(run hooks.Run) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.runs = append(r.runs, run)
		}}
	for _, f := range change {
		f(&o)
	}
	r.Hooks = hooks.New(o)
	t.Cleanup(func() {
		r.End(context.WithoutCancel(t.Context()))
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// hook returns a file with one hook.
func hook(t testing.TB, event hooks.Event, command string, more ...any) string {
	t.Helper()
	h := map[string]any{"type": "command", "command": command}
	for i := 0; i+1 < len(more); i += 2 {
		h[more[i].(string)] = more[i+1]
	}
	data, err := json.Marshal(
		map[string]any{"hooks": map[string]any{string(event): []any{map[string]any{"hooks": []any{h}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// request returns a call as a permission hook gets it.
func request(name, args string) tool.Request {
	return tool.Request{SessionID: "s", Call: llm.ToolCall{ID: "c", Name: name, Args: args}}
}

func strict(o *hooks.Options) { o.Strict = true }

// A hook that fails has no effect, or blocks if it must not fail. It is told once, however often it
// fails, and nothing of it is left.
func TestM9_Faults(t *testing.T) {
	large := `{"command": "` + strings.Repeat("x", 256<<10) + `"}` // more than any pipe holds
	for name, c := range map[string]struct{ command, want string }{
		"hangs":                         {"sleep 600", "took longer than"},
		"hangs and ignores TERM":        {"trap '' TERM; while :; do sleep 1; done", "took longer than"},
		"floods":                        {"head -c 3000000 /dev/zero", "more than 1 MiB"},
		"floods with JSON":              {`printf '{"a": "'; head -c 3000000 /dev/zero | tr '\0' x`, "more than 1 MiB"},
		"dies":                          {"kill -SEGV $$", "SIGSEGV"},
		"fails":                         {"echo bad luck >&2; exit 1", "code 1: bad luck"},
		"cannot start":                  {"/no/such/guard", "could not be started"},
		"is not executable":             {"touch x; ./x", "could not be started"},
		"prints half of its JSON":       {`echo '{"hookSpecificOutput": {'`, "not JSON"},
		"prints JSON of another form":   {`echo '{"continue": "no"}'`, "another form"},
		"prints a text before its JSON": {`echo hello; echo '{"decision": "block"}'`, "before its JSON"},
		"decides in the wrong place":    {`echo '{"permissionDecision": "deny"}'`, "in the wrong place"},
		"decides something unknown":     {`echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "maybe"}}'`, "maybe"},
		"is for another event": {`echo '{"hookSpecificOutput": {"hookEventName": "Stop"}}'`,
			"for Stop instead of PreToolUse"},
		"kills its group": {"kill -KILL 0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := 20.0
			if strings.HasPrefix(name, "hangs") {
				timeout = 0.05
			}
			file := hook(t, hooks.PreToolUse, c.command, "timeout", timeout)
			lenient, guarded := newHooks(t, file), newHooks(t, file, strict)
			for range 2 {
				if o, err := lenient.BeforeRules(t.Context(), request("shell", large)); err != nil ||
					o.Says != hooks.NoOpinion {
					t.Errorf("%+v, %v", o, err)
				}
			}
			if got := lenient.warned(); strings.Count(got, "hook_failed: ") != 1 || !strings.Contains(got, c.want) ||
				!strings.Contains(got, "hooks.json, line 1") {
				t.Errorf("warned of %s, want %q", got, c.want)
			}
			o, err := guarded.BeforeRules(t.Context(), request("shell", large))
			if err != nil || o.Says != hooks.Denies || !strings.Contains(o.Reason, c.want) ||
				!strings.Contains(o.Reason, "must not fail") {
				t.Errorf("%+v, %v", o, err)
			}
			for _, run := range lenient.runs {
				if len(run.Stdout) > 1<<20 || len(run.Stderr) > 1<<20 {
					t.Errorf("%d and %d bytes are kept", len(run.Stdout), len(run.Stderr))
				}
			}
			blocking := newHooks(t, hook(t, hooks.PreToolUse, c.command, "timeout", timeout, "onFailure", "block"))
			if o, err := blocking.BeforeRules(t.Context(), request("shell", `{"command": "x"}`)); err != nil ||
				o.Says != hooks.Denies {
				t.Errorf("with onFailure: %+v, %v", o, err)
			}
		})
	}
}

// A hook need not read its input, and may leave processes behind. These are ended.
func TestM9_NoFaults(t *testing.T) {
	large := `{"command": "` + strings.Repeat("x", 256<<10) + `"}`
	for name, command := range map[string]string{
		"reads nothing":                   "true",
		"closes its input":                "exec 0<&-; echo '{}'",
		"reads a byte":                    "head -c 1 >first",
		"leaves a daemon":                 "sleep 600 & echo '{}'",
		"leaves a daemon with its input":  "sleep 600 <&0 & echo '{}'",
		"leaves one in another session":   "setsid sleep 600 <&0 >/dev/null 2>&1 & echo '{}'",
		"prints text":                     "echo fine",
		"prints much on standard error":   "head -c 3000000 /dev/zero >&2",
		"prints an empty object":          "echo '{}'",
		"prints null and an unknown part": `echo '{"continue": true, "hookSpecificOutput": {"hookEventName": "PreToolUse", "unknown": [1]}, "other": null}'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHooks(t, hook(t, hooks.PreToolUse, command))
			if o, err := h.BeforeRules(t.Context(), request("shell", large)); err != nil || o != (hooks.Opinion{}) ||
				h.warned() != "" {
				t.Errorf("%+v, %v, warned of %s", o, err, h.warned())
			}
		})
	}
}

// The end of the context ends hooks, without a warning, and nothing is decided.
func TestM9_ContextEnds(t *testing.T) {
	h := newHooks(t, hook(t, hooks.PreToolUse, "echo > begun; sleep 600", "timeout", 600), strict)
	ctx, cancel := context.WithCancelCause(t.Context())
	over, ended := errors.New("over"), make(chan struct{})
	go func() {
		defer close(ended)
		if o, err := h.BeforeRules(ctx, request("shell", `{"command": "x"}`)); !errors.Is(err, over) ||
			o != (hooks.Opinion{}) {
			t.Errorf("%+v, %v", o, err)
		}
	}()
	await.For(t, "the beginning of the hook", func() bool {
		_, err := os.Stat(filepath.Join(h.dir, "begun"))
		return err == nil
	})
	cancel(over)
	await.Receive(t, "the end of the hook", ended)
	if h.warned() != "" {
		t.Errorf("warned of %s", h.warned())
	}
}

// What hooks decide by codes and JSON, and what several hooks decide together.
func TestM9_Decisions(t *testing.T) {
	specific := func(fields string) string {
		return `echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", ` + fields + `}}'`
	}
	for name, c := range map[string]struct {
		commands []string
		want     hooks.Opinion
	}{
		"code 2": {[]string{"echo not here >&2; exit 2"},
			hooks.Opinion{Says: hooks.Denies, Reason: "not here"}},
		"code 2 beats JSON": {[]string{specific(`"permissionDecision": "allow"`) + "; echo no >&2; exit 2"},
			hooks.Opinion{Says: hooks.Denies, Reason: "no"}},
		"deny": {[]string{specific(`"permissionDecision": "deny", "permissionDecisionReason": "why"`)},
			hooks.Opinion{Says: hooks.Denies, Reason: "why"}},
		"deny after a byte order mark": {[]string{`printf '\357\273\277'; ` +
			specific(`"permissionDecision": "deny", "permissionDecisionReason": "why"`)},
			hooks.Opinion{Says: hooks.Denies, Reason: "why"}},
		"ask": {[]string{specific(`"permissionDecision": "ask", "permissionDecisionReason": "look"`)},
			hooks.Opinion{Says: hooks.Asks, Reason: "look"}},
		"allow": {[]string{specific(`"permissionDecision": "allow"`)}, hooks.Opinion{Says: hooks.Allows}},
		"block, deprecated": {[]string{`echo '{"decision": "block", "reason": "old"}'`},
			hooks.Opinion{Says: hooks.Denies, Reason: "old"}},
		"approve": {[]string{`echo '{"decision": "approve"}'`}, hooks.Opinion{Says: hooks.Allows}},
		"continue is false": {[]string{`echo '{"continue": false, "stopReason": "enough"}'`},
			hooks.Opinion{Says: hooks.Denies, Reason: "enough"}},
		"other arguments": {[]string{specific(`"updatedInput": {"command": "echo new"}`)},
			hooks.Opinion{Args: `{"command":"echo new","timeout_ms":1000}`}},
		"the first changes": {[]string{specific(`"updatedInput": {"command": "1"}`),
			specific(`"updatedInput": {"command": "2"}`)}, hooks.Opinion{Args: `{"command":"1","timeout_ms":1000}`}},
		"in other units": {[]string{specific(`"updatedInput": {"timeout": 5}`)},
			hooks.Opinion{Args: `{"command":"x","timeout_ms":5}`}},
		"the strictest wins": {[]string{specific(`"permissionDecision": "allow"`), "sleep 0.1; echo slow >&2; exit 2",
			specific(`"permissionDecision": "ask", "permissionDecisionReason": "?"`)}, hooks.Opinion{Says: hooks.Denies,
			Reason: "slow"}},
		"the first reason": {[]string{"sleep 0.1; echo 1 >&2; exit 2", "echo 2 >&2; exit 2"},
			hooks.Opinion{Says: hooks.Denies, Reason: "1"}},
		"context of a deny": {[]string{specific(
			`"permissionDecision": "deny", "permissionDecisionReason": "why", "additionalContext": "more"`)},
			hooks.Opinion{Says: hooks.Denies, Reason: "why\nmore"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list []any
			for _, command := range c.commands {
				list = append(list, map[string]any{"type": "command", "command": command})
			}
			data, err := json.Marshal(
				map[string]any{"hooks": map[string]any{"PreToolUse": []any{map[string]any{"matcher": "Bash",
					"hooks": list}}}})
			if err != nil {
				t.Fatal(err)
			}
			h := newHooks(t, string(data))
			if o, err := h.BeforeRules(t.Context(),
				request("shell", `{"command": "x", "timeout_ms": 1000}`)); err != nil || o != c.want {
				t.Errorf("%+v, %v; want %+v", o, err, c.want)
			}
		})
	}
}

// Equal commands run once for a call, and a matcher chooses which hooks run.
func TestM9_Matchers(t *testing.T) {
	var groups []string
	for _, m := range []string{"Bash", "Bash|Edit", "Edit", "^Ba", "", "*", "mcp__files", "mcp__files__.*",
		"apply_patch", "Task", "Write"} {
		groups = append(groups, `{"matcher": "`+m+`", "hooks": [{"type": "command", "command": "echo '`+m+
			`' >>ran"}, {"type": "command", "command": "echo '`+m+`' >>ran"}]}`)
	}
	h := newHooks(t, `{"hooks": {"PreToolUse": [`+strings.Join(groups, ",")+`]}}`)
	for call, want := range map[string]string{
		"shell": "* Bash Bash|Edit ^Ba", "run_shell_command": "* Bash Bash|Edit ^Ba", "edit_file": "* Bash|Edit Edit",
		"replace":          "* Bash|Edit Edit",
		"mcp__files__read": "* mcp__files mcp__files__.*", "spawn_agent": "* Task", "write_file": "* Write",
		"read_file":   "*",
		"apply_patch": "* * Bash|Edit Edit Write apply_patch apply_patch",
	} {
		_ = os.Remove(filepath.Join(h.dir, "ran"))
		args := `{}`
		if call == "apply_patch" {
			args = `{"patch": "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n@@\n-x\n+y\n*** End Patch"}`
		}
		if _, err := h.BeforeRules(t.Context(), request(call, args)); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(h.dir, "ran"))
		got := strings.Split(strings.TrimSpace(string(data)), "\n")
		if joined := sorted(got); err != nil || joined != want {
			t.Errorf("%s: %q, %v; want %q", call, joined, err, want)
		}
	}
}

// Hooks get neither secrets nor the keys of providers, and what they say is masked. A secret in an
// argument survives a hook that changes another one.
func TestM9_Secrets(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-key-of-a-provider")
	t.Setenv("MY_TOKEN", "token-of-the-user")
	m := secret.New()
	if err := m.Register("TOKEN", "a-very-secret-value"); err != nil {
		t.Fatal(err)
	}
	h := newHooks(t, hook(t, hooks.PreToolUse,
		`cat >seen; env >>seen; echo '{"systemMessage": "it is a-very-secret-value", "hookSpecificOutput": {"hookEventName": "PreToolUse",
		"updatedInput": {"content": '"$(sed 's/.*"content":\("[^"]*"\).*/\1/;q' seen)"', "file_path": "/other"}}}'`),
		func(o *hooks.Options) { o.Mask = m })
	o, err := h.BeforeRules(t.Context(),
		request("write_file", `{"file_path": "/x", "content": "key=a-very-secret-value"}`))
	if err != nil || o.Args != `{"content":"key=a-very-secret-value","file_path":"/other"}` {
		t.Errorf("%+v, %v; %s", o, err, h.warned())
	}
	seen, err := os.ReadFile(filepath.Join(h.dir, "seen"))
	for _, hidden := range []string{"a-very-secret-value", "sk-key-of-a-provider", "token-of-the-user"} {
		if err != nil || strings.Contains(string(seen)+h.warned(), hidden) {
			t.Errorf("%s is in %s\n%s, %v", hidden, seen, h.warned(), err)
		}
	}
	if !strings.Contains(string(seen), "CLAUDE_PROJECT_DIR="+h.dir) {
		t.Errorf("seen %s", seen)
	}
}

// A hook with async does not hold up the session, decides nothing, and ends with the session.
func TestM9_Async(t *testing.T) {
	h := newHooks(t, hook(t, hooks.PreToolUse, "cat >/dev/null; echo begun >begun; sleep 600; exit 2", "async", true,
		"timeout", 600))
	for range 30 {
		if o, err := h.BeforeRules(t.Context(), request("shell", `{"command": "x"}`)); err != nil ||
			o != (hooks.Opinion{}) {
			t.Fatalf("%+v, %v", o, err)
		}
	}
	if got := h.warned(); strings.Count(got, "\n") != 0 || !strings.Contains(got, "16 hooks run beside the session") {
		t.Errorf("warned of %s", got)
	}
	h.End(t.Context())
	if len(h.runs) != 16 {
		t.Errorf("%d runs", len(h.runs))
	}
}

// A host that is told of a problem may call the hooks.
func TestM9_WarnMayCallHooks(t *testing.T) {
	var h *ran
	warned := false
	h = newHooks(t, hook(t, hooks.Notification, "true"), func(o *hooks.Options) {
		o.Warn = func(string, string) {
			warned = true
			h.Notify("s", "permission_prompt", "the host shows a warning")
		}
	})
	for range 17 {
		h.Beside(func(ctx context.Context) { <-ctx.Done() })
	}
	if !warned {
		t.Error("the host was not told that too many run")
	}
}

// A null in the output of a hook is as good as nothing.
func TestM9_NullReplacesNothing(t *testing.T) {
	h := newHooks(t, hook(t, hooks.PostToolUse,
		`echo '{"hookSpecificOutput": {"updatedMCPToolOutput": null, "updatedToolOutput": null}}'`))
	got, err := h.Middleware(func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Text("the output"),
			nil
	})(t.Context(),
		&tool.Call{ID: "1", Name: "shell", Args: `{"command": "x"}`})
	if err != nil || got.Content.Text() != "the output" {
		t.Errorf("the result is %q, %v", got.Content.Text(), err)
	}
	h = newHooks(t, hook(t, hooks.PermissionRequest,
		`echo '{"hookSpecificOutput": {"decision": {"behavior": "allow", "updatedPermissions": null}}}'`))
	if o, err := h.BeforeQuestion(t.Context(), request("shell", `{"command": "x"}`)); err != nil ||
		o.Says != hooks.Allows || h.warned() != "" {
		t.Errorf("%+v, %v, %s", o, err, h.warned())
	}
}

// sorted returns words in order.
func sorted(words []string) string {
	slices.Sort(words)
	return strings.TrimSpace(strings.Join(words, " "))
}

// What a hook has left running is gone when its answer counts, not only when the session ends.
func TestM9_NothingIsLeft(t *testing.T) {
	h := newHooks(t, hook(t, hooks.PreToolUse, "sleep 600 >fifo & echo '{}'"))
	fifo := filepath.Join(h.dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := h.BeforeRules(t.Context(), request("shell", `{"command": "x"}`)); err != nil {
		t.Fatal(err)
	}
	// does not return while a process has the other end open
	if data, err := io.ReadAll(f); err != nil || len(data) > 0 {
		t.Errorf("%q, %v", data, err)
	}
}
