//go:build unix

package hooks_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/ext/hooks"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/tool"
)

// Prompts are refused, or get context. Plain text is context as well.
func TestM9_Prompts(t *testing.T) {
	for command, want := range map[string]struct{ context, refused string }{
		`grep -q '"prompt":"my password' && { echo keep it >&2; exit 2; }`: {"", "keep it"},
		"echo It is Sunday.": {"It is Sunday.", ""},
		`echo '{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "It is Monday."}}'`: {"It is Monday.", ""},
		`echo '{"decision": "block", "reason": "no"}'`:                                                               {"", "no"},
		`echo '{"continue": false, "stopReason": "closed"}'`:                                                         {"", "closed"},
		"head -c 900000 /dev/zero | tr '\\0' x":                                                                      {"", ""},
	} {
		h := newHooks(t, hook(t, hooks.UserPromptSubmit, command))
		m, err := h.BeforeInput(t.Context(), agent.Message{Session: "s", Text: "my password is 1234"})
		switch {
		case want.refused != "":
			if err == nil || err.Error() != want.refused {
				t.Errorf("%s: %v, want %q", command, err, want.refused)
			}
		case err != nil || want.context != "" && m.Context != want.context || len(m.Context) > 11_000 ||
			m.Text != "my password is 1234":
			t.Errorf("%s: %d bytes, %q, %v", command, len(m.Context), m.Text, err)
		}
	}
}

// Compactions are prevented, or told what to keep, by their trigger.
func TestM9_Compactions(t *testing.T) {
	h := newHooks(t, `{"hooks": {"PreCompact": [{"matcher": "manual", "hooks": [{"type": "command", "command": "cat >seen; echo not today >&2; exit 2"}]},
		{"matcher": "auto", "hooks": [{"type": "command", "command": "echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PreCompact\", \"additionalContext\": \"Keep the names.\"}}'"}]}]}}`)
	if _, err := h.BeforeCompact(t.Context(), agent.Compacting{Session: "s", Requested: true}); err == nil ||
		err.Error() != "not today" {
		t.Error(err)
	}
	if keep, err := h.BeforeCompact(t.Context(), agent.Compacting{Session: "s"}); err != nil ||
		keep != "Keep the names." {
		t.Errorf("%q, %v", keep, err)
	}
	if seen, err := os.ReadFile(filepath.Join(h.dir, "seen")); err != nil || !strings.Contains(string(seen),
		`"trigger":"manual"`) {
		t.Errorf("%s, %v", seen, err)
	}
}

// Guards that fail block prompts, ends and compactions if they must not fail.
func TestM9_StrictGuards(t *testing.T) {
	const file = `{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "exit 1"}]}], "Stop": [{"hooks": [{"type": "command", "command": "exit 1"}]}],
		"PreCompact": [{"hooks": [{"type": "command", "command": "exit 1"}]}], "PostToolUse": [{"hooks": [{"type": "command", "command": "exit 1"}]}]}}`
	for _, fails := range []bool{false, true} {
		h := newHooks(t, file, func(o *hooks.Options) { o.Strict = fails })
		_, input := h.BeforeInput(t.Context(), agent.Message{Session: "s", Text: "x"})
		prompt, err := h.BeforeStop(t.Context(), agent.Stop{Session: "s"})
		_, compact := h.BeforeCompact(t.Context(), agent.Compacting{Session: "s"})
		if (input != nil) != fails || (prompt != "") != fails || err != nil || (compact != nil) != fails {
			t.Errorf("must not fail %v: %v; %q, %v; %v", fails, input, prompt, err, compact)
		}
		if got := h.warned(); strings.Count(got, "hook_failed") != 3 {
			t.Errorf("warned of %s", got)
		}
	}
}

// Secrets are masked in all that hooks get: prompts, last words, results and errors.
func TestM9_SecretsInPayloads(t *testing.T) {
	const hidden = "a-very-secret-value"
	m := secret.New()
	if err := m.Register("TOKEN", hidden); err != nil {
		t.Fatal(err)
	}
	const see = `[{"hooks": [{"type": "command", "command": "cat >>seen"}]}]`
	h := newHooks(t, `{"hooks": {"UserPromptSubmit": `+see+`, "Stop": `+see+`, "PostToolUse": `+see+
		`, "PostToolUseFailure": `+see+`}}`, func(o *hooks.Options) { o.Mask = m })
	say := "it is " + hidden
	if _, err := h.BeforeInput(t.Context(), agent.Message{Session: "s", Text: say}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.BeforeStop(t.Context(), agent.Stop{Session: "s", Text: say}); err != nil {
		t.Fatal(err)
	}
	for _, failed := range []error{nil, errors.New(say)} {
		handler := h.Middleware(func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{Content: llm.TextParts(say)}, failed
		})
		for _, name := range []string{"shell", "read_file", "write_file", "mcp__a__b"} {
			if _, err := handler(t.Context(), &tool.Call{ID: "c", Name: name, Args: `{"x": "` + hidden + `"}`,
				SessionID: "s"}); !errors.Is(err, failed) {
				t.Fatal(err)
			}
		}
	}
	seen, err := os.ReadFile(filepath.Join(h.dir, "seen"))
	if err != nil || strings.Count(string(seen), "\n") != 10 || strings.Count(string(seen), "it is ") != 11 ||
		strings.Contains(string(seen), hidden) {
		t.Errorf("hooks got %s, %v", seen, err)
	}
}
