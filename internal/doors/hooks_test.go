package doors_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// hooks is a sketch of the hooks in package ext: commands by event, in the form of Claude Code. They run in an environment and get JSON on
// stdin. They block with exit code 2 and the reason on stderr, or print JSON on stdout.
type hooks struct {
	env      env.Environment
	commands map[string]string
}

// hookOutput is the JSON that a hook may print if it does not block.
type hookOutput struct {
	Decision string          `json:"permissionDecision"` // allow, ask or deny
	Reason   string          `json:"permissionDecisionReason"`
	Input    json.RawMessage `json:"updatedInput"`
	Context  string          `json:"additionalContext"`
}

// run runs the hook of an event, if there is one. Blocked is the reason if it blocks.
func (h *hooks) run(ctx context.Context, event string, about map[string]any) (out hookOutput, blocked string, err error) {
	script, ok := h.commands[event]
	if !ok {
		return out, "", nil
	}
	about["hook_event_name"] = event
	var stdout, stderr bytes.Buffer
	cmd := env.Command{Script: script, Stdin: true, Output: func(stream int, p []byte) {
		if stream == env.Stderr {
			stderr.Write(p)
		} else {
			stdout.Write(p)
		}
	}}
	result, err := env.Run(ctx, stdinEnv{h.env, mustJSON(about)}, cmd, 10*time.Second)
	switch {
	case err != nil:
		return out, "", err
	case result.Code == 2:
		return out, cmp.Or(strings.TrimSpace(stderr.String()), "the hook "+event+" blocks it"), nil
	case result.Code != 0:
		return out, "", fmt.Errorf("the hook %s ended with code %d: %s", event, result.Code, stderr.String())
	case stdout.Len() > 0:
		err = json.Unmarshal(stdout.Bytes(), &out)
	}
	return out, "", err
}

// stdinEnv is an environment that writes an input to the commands' stdin.
type stdinEnv struct {
	env.Environment
	input string
}

func (f stdinEnv) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	p, err := f.Environment.Start(ctx, cmd)
	if err == nil {
		go func() {
			_, _ = p.Stdin().Write([]byte(f.input)) // a hook may ignore it
			_ = p.Stdin().Close()
		}()
	}
	return p, err
}

// userPromptSubmit refuses a person's message or adds to it.
func (h *hooks) userPromptSubmit(ctx context.Context, m agent.Message) (agent.Message, error) {
	out, blocked, err := h.run(ctx, "UserPromptSubmit", map[string]any{"session_id": m.Session, "prompt": m.Text})
	if blocked != "" {
		err = errors.New(blocked)
	}
	m.Context = out.Context
	return m, err
}

// preToolUse decides about calls, and may edit their arguments.
func (h *hooks) preToolUse(ctx context.Context, req tool.Request) (tool.Decision, error) {
	out, blocked, err := h.run(ctx, "PreToolUse", map[string]any{"session_id": req.SessionID, "tool_name": req.Call.Name, "tool_input": json.RawMessage(req.Call.Args)})
	switch {
	case err != nil || blocked != "":
		return tool.Decision{Reason: blocked}, err
	case out.Decision == "deny":
		return tool.Decision{Reason: out.Reason}, nil
	case out.Decision == "ask":
		return tool.Decision{Verdict: tool.Ask, Args: string(out.Input)}, nil
	}
	return tool.Decision{Verdict: tool.Allow, Args: string(out.Input)}, nil
}

// postToolUse adds to results. If the hook fails, the result is unchanged.
func (h *hooks) postToolUse(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		result, err := next(ctx, call)
		if err != nil {
			return result, err
		}
		out, blocked, _ := h.run(ctx, "PostToolUse", map[string]any{"session_id": call.SessionID, "tool_name": call.Name, "tool_input": json.RawMessage(call.Args),
			"tool_response": map[string]any{"text": result.Content.Text(), "changes": result.Changes}})
		if more := cmp.Or(blocked, out.Context); more != "" {
			result.Content = append(result.Content, llm.Text{Text: "\n" + more})
		}
		return result, nil
	}
}

// stop sends the agent back to work.
func (h *hooks) stop(ctx context.Context, stop agent.Stop) (prompt string, err error) {
	event := "Stop"
	if stop.Agent != "" {
		event = "SubagentStop"
	}
	_, prompt, err = h.run(ctx, event, map[string]any{"session_id": stop.Session, "stop_hook_active": stop.Confirms > 0})
	return prompt, err
}

// preCompact prevents the compaction, or says what the summary must keep.
func (h *hooks) preCompact(ctx context.Context, about agent.Compacting) (keep string, err error) {
	trigger := "auto"
	if about.Requested {
		trigger = "manual"
	}
	out, blocked, err := h.run(ctx, "PreCompact", map[string]any{"session_id": about.Session, "trigger": trigger})
	if blocked != "" {
		err = errors.New(blocked)
	}
	return out.Context, err
}

// Commands in the form of Claude Code's hooks can refuse, change and extend what a session does.
func TestJ_Hooks(t *testing.T) {
	denied, edited := shell("rm -rf everything"), shell("echo old")
	denied.ID, edited.ID = "denied", "edited"
	h := newHost(t, env.LocalOptions{}, llmtest.Calls(denied, edited), llmtest.Text("done"), llmtest.Text("now it is done"))
	run := &hooks{env: h.env, commands: map[string]string{
		"UserPromptSubmit": `grep -q password && { echo "keep your passwords" >&2; exit 2; }; echo '{"additionalContext":"It is Sunday."}'`,
		"PreToolUse": `case "$(tee -a seen)" in *rm\ -rf*) echo "no rm here" >&2; exit 2;;
			*) echo '{"permissionDecision":"allow","updatedInput":{"command":"echo new"}}';; esac`,
		"PostToolUse": `grep -q '"text":"new' && echo '{"additionalContext":"The linter is content."}'`,
		"Stop":        `grep -q '"stop_hook_active":true' || { echo "run the tests first" >&2; exit 2; }`,
		"PreCompact":  `grep -q '"trigger":"manual"' && { echo "not today" >&2; exit 2; }`,
	}}
	o := h.options(t, "hooked")
	o.BeforeInput, o.Authorize, o.Middleware, o.BeforeStop, o.BeforeCompact = run.userPromptSubmit, run.preToolUse, []tool.Middleware{run.postToolUse}, run.stop, run.preCompact
	o.Compaction.KeepTurns = 1
	s := h.start(t, o)
	if result, err := s.Submit(t.Context(), "my password is 1234"); err == nil || !strings.Contains(err.Error(), "keep your passwords") || result.Reason != "" {
		t.Errorf("Submit = %+v, %v", result, err)
	}
	submit(t, s, "go", agent.ReasonCompleted)
	if heard := mustJSON(h.model.Requests()[0].Messages); !strings.Contains(heard, "It is Sunday.") || strings.Contains(heard, "1234") {
		t.Errorf("the model heard %s", heard)
	}
	if end := h.callEnd(t, "denied"); !end.IsError || !strings.Contains(end.Output, "no rm here") {
		t.Errorf("the denied call came to %q", end.Output)
	}
	if got := h.callEnd(t, "edited").Output; !strings.HasPrefix(got, "new\n") || !strings.HasSuffix(got, "The linter is content.") {
		t.Errorf("the edited call came to %q", got)
	}
	for _, start := range only[*agent.ToolCallStart](h) {
		if start.CallID == "edited" && (string(start.Arguments) != `{"command":"echo old"}` || string(start.Effective) != `{"command":"echo new"}`) {
			t.Errorf("the edited call began as %s", mustJSON(start))
		}
	}
	if back := only[*agent.SteeringInjected](h); len(back) != 2 || back[0].Text != "It is Sunday." || back[1].Text != "run the tests first" || back[1].Source != "hook" {
		t.Errorf("the hooks said %s", mustJSON(back))
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if warned := only[*agent.Warning](h); len(warned) != 1 || !strings.Contains(warned[0].Text, "not today") || h.model.Left() != 0 {
		t.Errorf("warned of %s, %d answers left", mustJSON(warned), h.model.Left())
	}
	if got := strings.Count(read(t, h.dir, "seen"), `"session_id":"hooked"`); got != 2 {
		t.Errorf("the hook was asked %d times", got)
	}
}
