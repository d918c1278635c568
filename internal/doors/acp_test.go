package doors_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/tool"
)

// editor is the other end of an editorAgent: it has open files, answers for its user, and keeps the updates.
type editor struct {
	peers
	files  map[string]string // by absolute path
	allows func(command string) bool

	mu      sync.Mutex
	updates []update
	running chan struct{} // closed when the command that is to be canceled has been allowed
}

type update struct {
	Update string
	About  json.RawMessage
}

// launch starts the agent in a new process. The returned function ends it.
func (e *editor) launch(t *testing.T, dir, journals, model string) (quit func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), role+"=acp", acpDir+"="+dir, acpJournals+"="+journals, acpModel+"="+model)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	e.peers = peers{prefix: "e", out: in, on: e.handle}
	read := make(chan struct{})
	go func() { defer close(read); e.serve(context.Background(), out) }()
	return func() {
		t.Helper()
		closed := in.Close()
		<-read
		if err := errors.Join(closed, cmd.Wait()); err != nil {
			t.Errorf("the agent ended with %v", err)
		}
	}
}

// handle handles the requests of the agent.
func (e *editor) handle(_ context.Context, m message) (any, error) {
	var p struct {
		Path, Content, Command string
		update
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch m.Method {
	case "session/update":
		e.updates = append(e.updates, p.update)
		if e.running != nil && p.Update == "tool_call" {
			close(e.running)
			e.running = nil
		}
	case "session/request_permission":
		if e.allows(p.Command) {
			return map[string]string{"outcome": "allow"}, nil
		}
		return map[string]string{"outcome": "reject"}, nil
	case "fs/read_text_file":
		if text, open := e.files[p.Path]; open {
			return map[string]string{"content": text}, nil
		}
		return nil, errors.New("that file is not open")
	case "fs/write_text_file":
		e.files[p.Path] = p.Content
		return struct{}{}, nil
	}
	return nil, nil
}

// prompt gives the agent a task and returns its stop reason.
func (e *editor) prompt(t *testing.T, text string) string {
	t.Helper()
	var result struct{ StopReason string }
	if err := e.call(t.Context(), "session/prompt", map[string]string{"sessionId": "s", "prompt": text}, &result); err != nil {
		t.Errorf("prompt: %v", err)
	}
	return result.StopReason
}

// told returns the updates of a kind, as JSON.
func (e *editor) told(kind string) (all []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, u := range e.updates {
		if u.Update == kind {
			all = append(all, string(u.About))
		}
	}
	return all
}

func does(name, args string) fakellm.Turn {
	return fakellm.Turn{Calls: []fakellm.Call{{Name: name, Args: json.RawMessage(args)}}}
}

// An agent works on the open files of an editor, asks its user, sends its plan, is canceled, and continues in another process with its
// history.
func TestJ_ACP(t *testing.T) {
	model := fakellm.New(fakellm.Script(does("read_file", `{"file_path":"a.txt"}`), does("update_plan", `{"plan":[{"step":"edit it","status":"in_progress"}]}`),
		does("edit_file", `{"file_path":"a.txt","old_string":"not saved","new_string":"edited"}`), does("shell", `{"command":"touch unwanted"}`), fakellm.Turn{Text: "Edited."},
		does("shell", `{"command":"sleep 1000"}`), fakellm.Turn{Text: "I am back."}), fakellm.Options{})
	server := httptest.NewServer(model)
	defer server.Close()
	dir, journals := t.TempDir(), t.TempDir()
	open := filepath.Join(dir, "a.txt")
	write(t, dir, "a.txt", "as it was saved\n")
	e := &editor{files: map[string]string{open: "not saved yet\n"}, allows: func(command string) bool { return command == "sleep 1000" }}
	quit := e.launch(t, dir, journals, server.URL)
	if err := e.call(t.Context(), "session/new", map[string]string{"sessionId": "s"}, &struct{}{}); err != nil {
		t.Fatal(err)
	}
	if why := e.prompt(t, "edit the file"); why != string(agent.ReasonCompleted) {
		t.Errorf("the agent stopped because of %q", why)
	}
	if e.files[open] != "edited yet\n" || read(t, dir, "a.txt") != "as it was saved\n" {
		t.Errorf("the editor has %q, the disk %q", e.files[open], read(t, dir, "a.txt"))
	}
	if seen := mustJSON(model.Requests()[1].Messages); !strings.Contains(seen, "not saved yet") {
		t.Errorf("the model saw %s", seen)
	}
	if _, err := os.Stat(filepath.Join(dir, "unwanted")); err == nil {
		t.Error("a command ran that the user had refused")
	}
	var plan tool.Plan
	if plans := e.told("plan"); len(plans) != 1 || json.Unmarshal([]byte(plans[0]), &plan) != nil || plan.Items[0].Text != "edit it" {
		t.Errorf("the plan is %q", plans)
	}
	if ends := e.told("tool_call_update"); len(ends) != 4 || !strings.Contains(ends[2], `"kind":"modified"`) || !strings.Contains(ends[3], "does not want this command") {
		t.Errorf("the calls came to %q", ends)
	}
	running := make(chan struct{})
	e.mu.Lock()
	e.running = running
	e.mu.Unlock()
	go func() {
		<-running
		_ = e.notify("session/cancel", map[string]string{"sessionId": "s"})
	}()
	if why := e.prompt(t, "wait"); why != string(agent.ReasonInterrupted) {
		t.Errorf("the agent stopped because of %q", why)
	}
	quit()
	before := e.told("user_message_chunk")
	e.updates = nil
	quit = e.launch(t, dir, journals, server.URL)
	if err := e.call(t.Context(), "session/load", map[string]string{"sessionId": "s"}, &struct{}{}); err != nil {
		t.Fatal(err)
	}
	if again := e.told("user_message_chunk"); !slices.Equal(again, before) || len(e.told("tool_call")) != 5 || len(e.told("plan")) != 1 {
		t.Errorf("the history has %q, want %q; %d calls", again, before, len(e.told("tool_call")))
	}
	if why := e.prompt(t, "go on"); why != string(agent.ReasonCompleted) || !slices.Contains(e.told("agent_message_chunk"), `"I am back."`) {
		t.Errorf("the agent stopped because of %q and said %q", why, e.told("agent_message_chunk"))
	}
	quit()
}
