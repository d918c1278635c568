package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/acp"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// keeping returns the agent of a program that keeps its sessions, and so can show their history.
func (p *program) keeping(t *testing.T) *acp.Agent {
	dir := journal.NewDir(t.TempDir())
	p.more = func(o *agent.Options) {
		log, err := dir.Create(t.Context(), "kept")
		if err != nil {
			t.Error(err)
		}
		o.ID, o.Journal = "kept", log
	}
	a := p.agent()
	a.Resumes = true
	a.Open = func(ctx context.Context, o acp.Opening) (*acp.Session, error) {
		s, err := p.open(ctx, o)
		if err != nil {
			return nil, err
		}
		s.Commands = func(context.Context) []acp.Command { return []acp.Command{{Name: "review"}} }
		s.Replay = func(ctx context.Context, show func(agent.Event)) error {
			log, err := dir.Read(ctx, "kept")
			if err != nil {
				return err
			}
			defer func() { _ = log.Close() }() // it was only read
			return agent.Project(ctx, log, show)
		}
		return s, nil
	}
	return a
}

// told returns what the editor was shown since it last asked: texts, in one piece for each message,
// and the states of calls.
func (e *editor) told() (list []string) {
	last := ""
	for _, raw := range e.updates {
		var u struct {
			SessionUpdate, MessageID, ToolCallID, Status string
			Content                                      json.RawMessage
		}
		if err := json.Unmarshal(raw, &u); err != nil {
			e.Fatal(err)
		}
		var text struct{ Text string }
		switch {
		case strings.HasSuffix(u.SessionUpdate, "_chunk"):
			if err := json.Unmarshal(u.Content, &text); err != nil {
				e.Fatal(err)
			}
			if u.MessageID == last {
				list[len(list)-1] += text.Text
				continue
			}
			list = append(list, text.Text)
		case u.ToolCallID != "":
			list = append(list, u.SessionUpdate+" "+u.Status)
		default: // commands come behind the response, at any time
			continue
		}
		last = u.MessageID
	}
	e.updates = nil
	return list
}

func (e *editor) load(session string) string {
	return e.request("session/load", map[string]any{"sessionId": session, "cwd": e.dir, "mcpServers": []any{}})
}

// until reads messages until the editor was told a text.
func (e *editor) until(text string) {
	e.Helper()
	for len(e.updates) == 0 || !strings.Contains(string(e.updates[len(e.updates)-1]), text) {
		e.next()
	}
}

// A session that is open is loaded like another one: its history is shown, while it is idle and in
// the middle of an answer.
func TestU12_LoadAnOpenSession(t *testing.T) {
	p := newProgram(
		llmtest.Calls(llmtest.Call("shell", map[string]any{"command": "echo out"})),
		llmtest.Text("All done."),
		llmtest.HangAfter(llm.Text{Text: "half of an answer"}),
		llmtest.Text("On."),
	)
	e := connect(t, p.keeping(t))
	session := e.open(`{}`)
	e.onAsk = func(id, _ string, _ json.RawMessage) { e.respond(id, selected("yes")) }
	e.stops(e.response(e.request("session/prompt", prompt(session, "begin"))), "end_turn")
	e.updates = nil
	e.loaded(session, "begin|tool_call in_progress|tool_call_update completed|All done.")
	e.told()
	e.loaded(session, "begin|tool_call in_progress|tool_call_update completed|All done.")
	e.told()

	id := e.request("session/prompt", prompt(session, "more"))
	e.until(`"text":"answer"`)
	e.updates = nil
	e.loaded(session, "begin|tool_call in_progress|tool_call_update completed|All done.|more|half of an answer")
	e.sendJSON(
		map[string]any{"jsonrpc": "2.0", "method": "session/cancel", "params": map[string]any{"sessionId": session}},
	)
	e.stops(e.response(id), "cancelled")
	e.stops(e.response(e.request("session/prompt", prompt(session, "go on"))), "end_turn")
	if told := strings.Join(e.told(), "|"); !strings.HasSuffix(told, "On.") {
		t.Errorf("the session does not go on: %s", told)
	}
	e.end()
}

// loaded loads the session and checks what is shown before the response.
func (e *editor) loaded(session, want string) {
	e.Helper()
	if m := e.response(e.load(session)); m.Error != nil {
		e.Fatal(m.Error)
	}
	if got := strings.Join(e.told(), "|"); got != want {
		e.Errorf("loaded: %s\nwant %s", got, want)
	}
}

// A call that runs while its session is loaded is shown as one that runs, and ends under the same
// id, once.
func TestU12_LoadWhileACallRuns(t *testing.T) {
	p := newProgram(
		llmtest.Calls(llmtest.Call("shell", map[string]any{"command": "until [ -e go ]; do sleep 0.01; done"})),
		llmtest.Text("Done."),
	)
	e := connect(t, p.keeping(t))
	session := e.open(`{}`)
	e.onAsk = func(id, _ string, _ json.RawMessage) { e.respond(id, selected("yes")) }
	id := e.request("session/prompt", prompt(session, "wait"))
	e.until("in_progress")
	e.updates = nil
	e.loaded(session, "wait|tool_call in_progress")
	if err := os.WriteFile(filepath.Join(e.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	e.stops(e.response(id), "end_turn")
	if told := strings.Join(e.told(), "|"); told != "tool_call_update completed|Done." {
		t.Error(told)
	}
	e.end()
}

// Events go on while the history is shown again and again, and none is lost or comes twice after
// the last time.
func TestU12_LoadWhileAnAnswerComes(t *testing.T) {
	var long strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&long, "w%d ", i)
	}
	e := connect(t, newProgram(llmtest.Text(long.String())).keeping(t))
	session := e.open(`{}`)
	id := e.request("session/prompt", prompt(session, "talk"))
	e.until("w0")
	for range 20 {
		e.updates = nil
		if m := e.response(e.load(session)); m.Error != nil {
			t.Fatal(m.Error)
		}
	}
	e.stops(e.response(id), "end_turn")
	told := strings.Join(e.told(), "|") // begins with pieces that were on their way
	if got := told[max(0, strings.LastIndex(told, "talk|")):]; got != "talk|"+long.String() {
		t.Errorf("%d bytes of %d: %.300s", len(got), long.Len(), got)
	}
	e.end()
}
