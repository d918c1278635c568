package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Opinion holds what hooks decide about a call. The zero value decides nothing.
type Opinion struct {
	Says   Stance
	Reason string // for the model if they deny, for the person if they ask
	Args   string // when not empty, replaces the arguments
}

// BeforeRules asks the hooks for PreToolUse about a call.
func (h *Hooks) BeforeRules(ctx context.Context, req tool.Request) (Opinion, error) {
	return h.judge(ctx, PreToolUse, req)
}

// BeforeQuestion asks the hooks for PermissionRequest about a call that a person would be asked
// about.
func (h *Hooks) BeforeQuestion(ctx context.Context, req tool.Request) (Opinion, error) {
	return h.judge(ctx, PermissionRequest, req)
}

// judge asks the hooks of an event about a call.
func (h *Hooks) judge(ctx context.Context, event Event, req tool.Request) (o Opinion, err error) {
	if !h.Has(event) {
		return o, nil
	}
	views, err := viewsOf(req.Call, filepath.ToSlash(req.Dir))
	if err != nil {
		return o, err
	}
	var answers []answer
	for i := range views {
		v := &views[i]
		if v.Input, err = h.masked(v.Input); err != nil {
			return o, err
		}
		a, err := h.askAbout(ctx, event, v, &req, nil)
		if err != nil {
			return o, err
		}
		if answers = append(answers, a); a.updated == nil {
			continue
		}
		if v.back == nil {
			return Opinion{}, errors.New("a hook wants to change the arguments of this call (updatedInput), which is " +
				"not possible for a call about several files or a patch")
		}
		if o.Args, err = v.back(v.Input, a.updated); err != nil {
			return Opinion{}, fmt.Errorf("a hook wants to change the arguments of this call: %w", err)
		}
		if o.Args == req.Call.Args {
			o.Args = ""
		}
	}
	whole := combine(answers)
	o.Says, o.Reason = whole.stance, whole.reason
	said := strings.Join(whole.context, "\n\n")
	if o.Says == Denies && said != "" {
		o.Reason += "\n" + said
	} else {
		h.keep(callKey{req.SessionID, req.Call.ID}, said)
	}
	if whole.stop {
		h.interrupt()
	}
	return o, nil
}

// askAbout asks the hooks of an event about a view of a call and what came of it.
func (h *Hooks) askAbout(ctx context.Context, event Event, v *view, req *tool.Request,
	outcome map[string]any) (answer, error) {
	payload := map[string]any{"tool_name": v.Name, "tool_input": v.Input, "tool_use_id": req.Call.ID}
	maps.Copy(payload, outcome)
	return h.ask(ctx, occasion{event: event, names: v.names, session: req.SessionID,
		agent: h.agentOf(ctx, req.AgentID), dir: req.Dir, payload: payload, call: req})
}

// masked returns a value with secrets masked, as it comes back from JSON.
func (h *Hooks) masked(input map[string]any) (map[string]any, error) {
	data, err := h.encode(input)
	if err != nil {
		return nil, err
	}
	var again map[string]any
	err = decode(data, &again)
	return again, err
}

// keep keeps a text for the result of a call.
func (h *Hooks) keep(key callKey, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if text == "" || len(h.pending) == mostPending {
		return
	}
	if was := h.pending[key]; was != "" {
		text = was + "\n\n" + text
	}
	h.pending[key] = text
}

// Middleware implements tool.Middleware. It asks the hooks for PostToolUse and PostToolUseFailure
// about results, and tells those for SubagentStart of agents.
func (h *Hooks) Middleware(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		within := *call
		if call.Session != nil {
			within.Session = &session{Session: call.Session, hooks: h, call: call}
		}
		result, err := next(ctx, &within)
		if errors.Is(err, tool.ErrNotBegun) {
			return result, err
		}
		key := callKey{call.SessionID, call.ID}
		h.mu.Lock()
		said := h.pending[key]
		delete(h.pending, key)
		h.mu.Unlock()
		var texts []string
		if said != "" {
			texts = append(texts, "A hook says: "+said)
		}
		if ctx.Err() == nil {
			more := h.after(ctx, call, &result, err)
			texts = append(texts, more...)
		}
		if len(texts) == 0 {
			return result, err
		}
		if err != nil {
			result, err = tool.Errorf("%v", err), nil
		}
		result.Content = append(result.Content[:len(result.Content):len(result.Content)],
			llm.Text{Text: "\n" + strings.Join(texts, "\n")})
		return result, nil
	}
}

// after asks the hooks about a result and returns what the model is to read.
func (h *Hooks) after(ctx context.Context, call *tool.Call, result *tool.Result, failed error) (texts []string) {
	event := PostToolUse
	if failed != nil || result.IsError {
		event = PostToolUseFailure
	}
	if !h.Has(event) {
		return nil
	}
	dir := ""
	if call.Env != nil {
		dir = call.Env.WorkDir()
	}
	req := tool.Request{SessionID: call.SessionID, AgentID: call.AgentID, Dir: dir, Access: call.Access,
		Call: llm.ToolCall{ID: call.ID, Name: call.Name, Args: call.Args}}
	views, err := viewsOf(req.Call, filepath.ToSlash(dir))
	if err != nil {
		return nil // then the call was refused
	}
	for i := range views {
		v := &views[i]
		outcome := map[string]any{"tool_response": response(v, result)}
		if event == PostToolUseFailure {
			outcome = map[string]any{"error": resultText(result), "is_interrupt": false}
		}
		if failed != nil {
			outcome["error"] = failed.Error()
		}
		a, err := h.askAbout(ctx, event, v, &req, outcome)
		if err != nil {
			return texts
		}
		if a.replace != nil {
			replace(result, a.replace)
		}
		if a.stance == Denies && a.reason != "" {
			texts = append(texts, fmt.Sprintf("A hook for %s objects: %s", event, a.reason))
		}
		for _, text := range a.context {
			texts = append(texts, "A hook says: "+text)
		}
		if a.stop {
			h.interrupt()
		}
	}
	return texts
}

// maxResponse limits, in characters, the text of a result that hooks get.
const maxResponse = 1 << 20

// resultText returns the text of a result for hooks.
func resultText(result *tool.Result) string {
	text, _ := tool.Limit{Chars: maxResponse}.Apply(result.Content.Text(), result.Gap, "")
	return text
}

// response returns a result in the form that Claude Code's tools have.
func response(v *view, result *tool.Result) map[string]any {
	text := resultText(result)
	switch v.Name {
	case "Bash":
		r := map[string]any{"stdout": text, "stderr": "", "interrupted": false, "isImage": false}
		if ran := result.Ran; ran != nil {
			r["interrupted"] = ran.Interrupted
			if ran.Exit != nil {
				r["exitCode"] = ran.Exit.Code
			}
		}
		return r
	case "Write", "Edit":
		return map[string]any{"filePath": v.Input["file_path"], "success": true, "text": text}
	case "Read":
		return map[string]any{"type": "text", "file": map[string]any{"filePath": v.Input["file_path"], "content": text}}
	}
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}, "text": text}
}

// replace puts what a hook has printed in the place of a result's text.
func replace(result *tool.Result, data json.RawMessage) {
	var text string
	var blocks []struct{ Text string }
	var object struct {
		Stdout, Stderr, Text string
		Content              []struct{ Text string }
	}
	switch {
	case json.Unmarshal(data, &text) == nil:
	case json.Unmarshal(data, &blocks) == nil:
		for _, b := range blocks {
			text += b.Text
		}
	case json.Unmarshal(data, &object) == nil && object.Stdout+object.Stderr+object.Text != "":
		text = object.Stdout + object.Stderr + object.Text
	default:
		text = string(data)
	}
	result.Content, result.Gap, result.Raw, result.OutputRef, result.Structured = llm.TextParts(text), tool.Gap{}, nil,
		"", nil
}
