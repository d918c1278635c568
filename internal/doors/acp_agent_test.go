package doors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/tool"
)

// editorAgent is a sketch of package acp: an agent for an editor, on stdin and stdout. It reads and writes open files through the editor,
// and asks it for permissions.
type editorAgent struct {
	peers
	env    env.Environment
	client *llm.Client
	store  *journal.Dir

	mu       sync.Mutex
	sessions map[string]*agent.Session
}

// The environment variables of the agent's program.
const (
	acpDir, acpJournals, acpModel = "DOORS_DIR", "DOORS_JOURNALS", "DOORS_MODEL"
)

// acpAgent is the main function of the agent's program. It returns the exit code.
func acpAgent() int {
	local, err := env.NewLocal(os.Getenv(acpDir), env.LocalOptions{})
	if err != nil {
		return 3
	}
	provider, err := anthropic.New(anthropic.Options{BaseURL: os.Getenv(acpModel), APIKey: "key"})
	if err != nil {
		return 4
	}
	a := &editorAgent{client: &llm.Client{Providers: []llm.Provider{provider}}, store: journal.NewDir(os.Getenv(acpJournals)), sessions: map[string]*agent.Session{}}
	a.peers = peers{prefix: "a", out: os.Stdout, on: a.handle}
	a.env = buffers{env.Base{Environment: local}, &a.peers}
	a.serve(context.Background(), os.Stdin)
	for _, s := range a.sessions {
		err = errors.Join(err, s.Close())
	}
	if errors.Join(err, local.Close()) != nil {
		return 5
	}
	return 0
}

// handle handles the requests of the editor.
func (a *editorAgent) handle(ctx context.Context, m message) (any, error) {
	var p struct{ SessionID, Prompt string }
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, err
	}
	switch m.Method {
	case "session/new":
		return nil, a.open(ctx, p.SessionID, a.store.Create, agent.New)
	case "session/load":
		return nil, a.open(ctx, p.SessionID, a.store.Open, agent.Resume)
	case "session/prompt":
		result, err := a.session(p.SessionID).Submit(ctx, p.Prompt)
		return map[string]string{"stopReason": string(result.Reason)}, err
	case "session/cancel":
		a.session(p.SessionID).Interrupt()
		return nil, nil
	}
	return nil, fmt.Errorf("there is no method %s", m.Method)
}

func (a *editorAgent) session(id string) *agent.Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
}

// open opens a session and sends its past events to the editor.
func (a *editorAgent) open(ctx context.Context, id string, open func(context.Context, string) (journal.Log, error),
	start func(context.Context, agent.Options) (*agent.Session, error)) error {
	log, err := open(ctx, id)
	if err != nil {
		return err
	}
	if err := agent.Project(ctx, log, a.update); err != nil {
		return errors.Join(err, log.Close())
	}
	profile := coder()
	profile.Provider, profile.Model = "anthropic", "claude-sonnet-4-5"
	s, err := start(context.WithoutCancel(ctx), agent.Options{ID: id, Client: a.client, Profile: profile, Env: a.env, System: "You are a sketch.", Journal: log,
		OnEvent: a.update, Hooks: agent.Hooks{Authorize: a.authorize, Approve: a.approve}})
	if err != nil {
		return errors.Join(err, log.Close())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[id] = s
	return nil
}

// authorize requires an approval for commands.
func (a *editorAgent) authorize(_ context.Context, req tool.Request) (tool.Decision, error) {
	if req.Access.Command != "" {
		return tool.Decision{Verdict: tool.Ask}, nil
	}
	return tool.Decision{Verdict: tool.Allow}, nil
}

// approve asks the editor's user.
func (a *editorAgent) approve(ctx context.Context, req tool.Request) (tool.Decision, error) {
	var answer struct{ Outcome string }
	err := a.call(ctx, "session/request_permission", map[string]any{"sessionId": req.SessionID, "toolCallId": req.Call.ID, "command": req.Access.Command}, &answer)
	if err != nil || answer.Outcome != "allow" {
		return tool.Decision{Reason: "the user does not want this command"}, err
	}
	return tool.Decision{Verdict: tool.Allow}, nil
}

// update sends an event to the editor, a past or a new one.
func (a *editorAgent) update(ev agent.Event) {
	kind, about := "", any(nil)
	switch ev := ev.(type) {
	case *agent.UserInput:
		kind, about = "user_message_chunk", ev.Text
	case *agent.AssistantTextDelta:
		kind, about = "agent_message_chunk", ev.Text
	case *agent.ToolCallStart:
		kind, about = "tool_call", ev
	case *agent.ToolCallEnd:
		kind, about = "tool_call_update", ev
	case *agent.PlanUpdated:
		kind, about = "plan", ev.Plan
	default:
		return
	}
	_ = a.notify("session/update", map[string]any{"sessionId": ev.Head().SessionID, "update": kind, "about": about}) // if the editor is gone, nobody needs it
}

// buffers is an environment that gives the editor's content for its open files, saved or not.
type buffers struct {
	env.Base
	editor *peers
}

func (b buffers) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if text, open := b.text(ctx, name); open {
		return io.NopCloser(strings.NewReader(text)), nil
	}
	return b.Environment.Open(ctx, name)
}

func (b buffers) Stat(ctx context.Context, name string) (env.Info, error) {
	info, err := b.Environment.Stat(ctx, name)
	if text, open := b.text(ctx, name); open && err == nil {
		info.Size = int64(len(text))
	}
	return info, err
}

func (b buffers) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	if _, open := b.text(ctx, name); open {
		return b.editor.call(ctx, "fs/write_text_file", map[string]string{"path": b.path(name), "content": string(data)}, &struct{}{})
	}
	return b.Environment.WriteFile(ctx, name, data, perm)
}

// text returns the editor's content of an open file.
func (b buffers) text(ctx context.Context, name string) (text string, open bool) {
	var got struct{ Content string }
	err := b.editor.call(ctx, "fs/read_text_file", map[string]string{"path": b.path(name)}, &got)
	return got.Content, err == nil
}

func (b buffers) path(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(b.WorkDir(), name)
}
