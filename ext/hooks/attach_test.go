//go:build unix

package hooks_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/ext/hooks"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// attached are hooks for every door that Attach opens.
const attached = `{"hooks": {
	"SessionStart": [{"hooks": [{"type": "command", "command": "echo It is Friday."}]}],
	"SessionEnd": [{"hooks": [{"type": "command", "command": "touch ended"}]}],
	"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo Be quick."}]}],
	"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "grep -q push || exit 0; echo A person pushes. >&2; exit 2"}]}],
	"PermissionRequest": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "sh permit.sh"}]}],
	"PostToolUse": [{"hooks": [{"type": "command", "command":
		"echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PostToolUse\", \"additionalContext\": \"It was run.\"}}'"}]}],
	"Stop": [{"hooks": [{"type": "command", "command": "grep -q '\"stop_hook_active\":true' && exit 0; echo And the changelog? >&2; exit 2"}]}]
}}`

// permit allows and denies commands for PermissionRequest, and changes some.
const permit = `
say() { echo '{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {'"$1"'}}}'; exit 0; }
call=$(cat)
case $call in
*"touch made"*) say '"behavior": "allow"' ;;
*"touch night"*) say '"behavior": "deny", "message": "not at night"' ;;
*"touch draft"*) say '"behavior": "allow", "updatedInput": {"command": "touch final"}' ;;
*"touch plan"*) say '"behavior": "allow", "updatedInput": {"command": "touch forbidden"}' ;;
*"touch hint"*) say '"updatedInput": {"command": "touch refused"}' ;;
esac`

// A session with attached hooks asks them at every door, behind what its options have there.
func TestQ3_Attach(t *testing.T) {
	dir := t.TempDir()
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = local.Close() }()
	parsed := hooks.Parse(ext.File{Name: "hooks.json", Data: []byte(attached)})
	if len(parsed.Mistakes) > 0 {
		t.Fatal(parsed.Mistakes)
	}
	if err := os.WriteFile(filepath.Join(dir, "permit.sh"), []byte(permit), 0o600); err != nil {
		t.Fatal(err)
	}
	h := hooks.New(hooks.Options{Hooks: parsed.Hooks, Dir: dir, Env: func(ext.Origin) (env.Environment,
		error) {
		return local, nil
	},
		Warn: func(code, text string) { t.Error(code, text) }})
	run := func(command string) llmtest.Step {
		return llmtest.Calls(llmtest.Call("shell", map[string]any{"command": command}))
	}
	model := llmtest.NewProvider("test", run("git push"), run("touch made"), run("touch refused"),
		run("touch night"), run("touch draft"), run("touch plan"), run("touch hint"), llmtest.Text("Done."),
		llmtest.Text("It is in the changelog."))
	var results []string
	o := agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{model}},
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Prompt: "You work.",
			Tools: []tool.Tool{coding.Shell(0)}},
		Env: local,
		OnEvent: func(ev agent.Event) {
			if e, ok := ev.(*agent.ToolCallEnd); ok {
				results = append(results, e.Output)
			}
		},
		Hooks: agent.Hooks{
			Authorize: func(_ context.Context, req tool.Request) (tool.Decision, error) {
				if strings.Contains(req.Access.Command, "forbidden") {
					return tool.Decision{Reason: "forbidden by the host"}, nil
				}
				return tool.Decision{Verdict: tool.Ask}, nil
			},
			Approve: func(context.Context, tool.Request) (tool.Decision, error) {
				return tool.Decision{Reason: "not now"}, nil
			},
			BeforeInput: func(_ context.Context, m agent.Message) (agent.Message, error) {
				m.Context = "By the host."
				return m, nil
			},
		},
	}
	h.Attach(&o)
	s, err := agent.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(t.Context(), s, "startup", "model-1"); err != nil {
		t.Fatal(err)
	}
	result, err := s.Submit(t.Context(), "Publish it.")
	if err != nil || result.Text != "It is in the changelog." {
		t.Errorf("%+v, %v", result, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}

	for i, want := range []string{"A person pushes.", "It was run.", "not now", "not at night", "It was run.",
		"forbidden by the host", "not now"} {
		if i >= len(results) || !strings.Contains(results[i], want) {
			t.Errorf("call %d, which was to end with %q: %q", i, want, results)
		}
	}
	for file, want := range map[string]bool{"made": true, "refused": false, "final": true, "draft": false,
		"forbidden": false, "ended": true} {
		if _, err := os.Stat(filepath.Join(dir, file)); (err == nil) != want {
			t.Errorf("%s: %v", file, err)
		}
	}
	var sent strings.Builder
	for _, m := range slices.Concat(model.Requests()[0].Messages[1:], model.Requests()[8].Messages) {
		sent.WriteString(m.Parts.Text() + "\n")
	}
	for _, want := range []string{"It is Friday.", "By the host.\n\nBe quick.", "And the changelog?"} {
		if !strings.Contains(sent.String(), want) {
			t.Errorf("the model was not told %q:\n%s", want, sent.String())
		}
	}
}

// What the options have decides first, and hooks can be attached to options that have nothing.
func TestQ3_AttachBehindTheOptions(t *testing.T) {
	h := newHooks(t, `{"hooks": {
		"Notification": [{"hooks": [{"type": "command", "command": "touch asked"}]}],
		"Stop": [{"hooks": [{"type": "command", "command": "echo from the hook >&2; exit 2"}]}],
		"PreCompact": [{"hooks": [{"type": "command", "command":
			"echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PreCompact\", \"additionalContext\": \"Keep the names.\"}}'"}]}]}}`)
	var o agent.Options
	h.Attach(&o)
	if o.Authorize != nil || o.Approve != nil {
		t.Error("without hooks about permissions, Attach has changed who permits")
	}
	if prompt, err := o.BeforeStop(t.Context(), agent.Stop{}); prompt != "from the hook" || err != nil {
		t.Errorf("%q, %v", prompt, err)
	}
	own := "from the host"
	o = agent.Options{Hooks: agent.Hooks{BeforeStop: func(context.Context, agent.Stop) (string, error) {
		return own,
			nil
	},
		BeforeCompact: func(context.Context, agent.Compacting) (string, error) { return "Keep the dates.", nil }}}
	h.Attach(&o)
	for _, want := range []string{"from the host", "from the hook"} {
		if prompt, err := o.BeforeStop(t.Context(), agent.Stop{}); prompt != want || err != nil {
			t.Errorf("%q, %v, want %q", prompt, err, want)
		}
		own = ""
	}
	if keep, err := o.BeforeCompact(t.Context(), agent.Compacting{}); keep != "Keep the dates.\n\nKeep the names." ||
		err != nil {
		t.Errorf("%q, %v", keep, err)
	}
	o.OnEvent(&agent.InputRequested{Question: "Which one?"})
	await.For(t, "the notification of the hook", func() bool {
		_, err := os.Stat(filepath.Join(h.dir, "asked"))
		return err == nil
	})
	h.End(t.Context())
}
