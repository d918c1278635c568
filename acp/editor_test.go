package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"testing"
	"time"

	"github.com/attractor-go/attractor/acp"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// program is a program of its own that uses package acp: a scripted model, real tools in a real
// directory, and no package of the commands here.
type program struct {
	model *llmtest.Provider
	more  func(*agent.Options)
}

func newProgram(steps ...llmtest.Step) *program {
	return &program{model: llmtest.NewProvider("test", steps...)}
}

func (p *program) agent() *acp.Agent { return &acp.Agent{Name: "program", Version: "1", Open: p.open} }

func (p *program) open(ctx context.Context, o acp.Opening) (*acp.Session, error) {
	local, err := env.NewLocal(o.Dir, env.LocalOptions{})
	if err != nil {
		return nil, err
	}
	options := agent.Options{Client: &llm.Client{Providers: []llm.Provider{p.model}}, Env: local, Provider: "test",
		OnEvent: o.Client.Event,
		Profile: profile.Profile{Name: "test", Model: "m", Prompt: "Work.",
			Tools: []tool.Tool{coding.Shell(time.Minute), coding.WriteFile(), coding.EditFile(), coding.AskUser()}},
		Questions: o.Client.Questions()}
	options.Policy.OnFailure = agent.StayOnFailure
	options.Limits.Diffs = 1 << 20
	options.Authorize = func(_ context.Context, req tool.Request) (tool.Decision, error) {
		if req.Access.Effect == tool.ReadOnly {
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		return tool.Decision{Verdict: tool.Ask}, nil
	}
	options.Approve = o.Client.Approve
	if p.more != nil {
		p.more(&options)
	}
	s, err := agent.New(ctx, options)
	if err != nil {
		return nil, err
	}
	return &acp.Session{Agent: s, Close: local.Close}, nil
}

// editor is an editor in the same process.
type editor struct {
	*testing.T
	in   *io.PipeWriter // to the agent
	out  *bufio.Reader
	gone *io.PipeReader
	read *io.PipeReader // of the agent
	over chan error     // of Serve
	dir  string
	n    int

	updates []json.RawMessage
	other   map[string]*received                            // the responses that came while another one was waited for
	onAsk   func(id, method string, params json.RawMessage) // answers requests
}

type received struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *acp.Error
}

// connect starts to serve an editor. The editor ends with the test.
func connect(t *testing.T, a *acp.Agent) *editor {
	t.Helper()
	return connectWith(t.Context(), t, a)
}

func connectWith(ctx context.Context, t *testing.T, a *acp.Agent) *editor {
	t.Helper()
	toAgent, in := io.Pipe()
	out, fromAgent := io.Pipe()
	e := &editor{T: t, in: in, out: bufio.NewReader(out), gone: out, read: toAgent, over: make(chan error, 1),
		dir: t.TempDir(), other: map[string]*received{}}
	go func() {
		err := a.Serve(ctx, toAgent, fromAgent)
		_ = fromAgent.Close() // never fails
		e.over <- err
	}()
	t.Cleanup(func() { _, _ = in.Close(), out.Close() }) // never fail
	return e
}

func (e *editor) send(line string) {
	e.Helper()
	if _, err := io.WriteString(e.in, line+"\n"); err != nil {
		e.Fatal(err)
	}
}

func (e *editor) sendJSON(v any) {
	e.Helper()
	line, err := json.Marshal(v)
	if err != nil {
		e.Fatal(err)
	}
	e.send(string(line))
}

func (e *editor) request(method string, params any) string {
	e.Helper()
	e.n++
	e.sendJSON(map[string]any{"jsonrpc": "2.0", "id": e.n, "method": method, "params": params})
	return strconv.Itoa(e.n)
}

func (e *editor) respond(id string, result any) {
	e.Helper()
	e.sendJSON(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "result": result})
}

// next reads a message, which comes within a minute. Updates are kept, and requests are handed to
// onAsk.
func (e *editor) next() *received {
	e.Helper()
	silence := time.AfterFunc(time.Minute, func() { _ = e.gone.Close() }) // never fails
	defer silence.Stop()
	line, err := e.out.ReadBytes('\n')
	if err != nil {
		e.Fatalf("no message within a minute, or the agent has ended: %v", err)
	}
	m := new(received)
	if err := json.Unmarshal(line, m); err != nil {
		e.Fatalf("%s: %v", line, err)
	}
	switch {
	case m.Method == "session/update":
		var p struct{ Update json.RawMessage }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			e.Fatal(err)
		}
		e.updates = append(e.updates, p.Update)
	case m.Method != "" && m.ID != nil && e.onAsk != nil:
		e.onAsk(string(m.ID), m.Method, m.Params)
	}
	return m
}

// response returns the response to a request. It comes before or behind those to others.
func (e *editor) response(id string) *received {
	e.Helper()
	for e.other[id] == nil {
		if m := e.next(); m.Method == "" {
			e.other[string(m.ID)] = m
		}
	}
	m := e.other[id]
	delete(e.other, id)
	return m
}

func (e *editor) call(method string, params any) json.RawMessage {
	e.Helper()
	m := e.response(e.request(method, params))
	if m.Error != nil {
		e.Fatalf("%s: %v", method, m.Error)
	}
	return m.Result
}

// open initializes the connection and opens a session.
func (e *editor) open(capabilities string) string {
	e.Helper()
	e.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": json.RawMessage(capabilities)})
	var s struct{ SessionID string }
	if err := json.Unmarshal(e.call("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}}),
		&s); err != nil {
		e.Fatal(err)
	}
	return s.SessionID
}

func prompt(session, text string) any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// stops checks the stop reason of a prompt.
func (e *editor) stops(m *received, want string) {
	e.Helper()
	var r struct{ StopReason string }
	if m.Error != nil || json.Unmarshal(m.Result, &r) != nil || r.StopReason != want {
		e.Errorf("%s, error %v, want the stop reason %s", m.Result, m.Error, want)
	}
}

// shown returns the updates that are of a kind.
func (e *editor) shown(kind string) (list []map[string]any) {
	e.Helper()
	for _, raw := range e.updates {
		var u map[string]any
		if err := json.Unmarshal(raw, &u); err != nil {
			e.Fatal(err)
		}
		if u["sessionUpdate"] == kind {
			list = append(list, u)
		}
	}
	return list
}

// end closes the connection and checks what Serve returns.
func (e *editor) end() {
	e.Helper()
	_ = e.in.Close() // never fails
	if _, err := io.Copy(io.Discard, e.out); err != nil {
		e.Error(err)
	}
	if err := <-e.over; err != nil {
		e.Errorf("Serve returned %v", err)
	}
}
