//go:build unix

package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// editorProcess is an editor that has started the command: it speaks the protocol in lines.
type editorProcess struct {
	*testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	dir     string
	n       int
	updates []acpUpdate                                     // all so far
	onAsk   func(method string, params json.RawMessage) any // answers requests of the agent; nil leaves them open
	// gets each message; the mark of those that are sent is "> "
	watch func(mark string, line []byte)
}

type acpUpdate struct {
	Kind    string `json:"sessionUpdate"`
	Content json.RawMessage
	ID      string `json:"toolCallId"`
	Title   string
	Status  string
	Tool    string `json:"kind"`
}

// text returns the text of a chunk.
func (u *acpUpdate) text() string {
	var block struct{ Text string }
	_ = json.Unmarshal(u.Content, &block)
	return block.Text
}

type acpMessage struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// newEditor starts the command, without an initialization.
func newEditor(t *testing.T, h *home, args ...string) *editorProcess {
	t.Helper()
	e := &editorProcess{T: t, dir: h.dir}
	e.cmd = h.command(append([]string{"acp"}, args...)...)
	var err error
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	e.out = bufio.NewReader(out)
	e.cmd.Stderr = os.Stderr
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = e.in.Close()
		_ = e.cmd.Wait() // wait has told
	})
	return e
}

// send sends a line.
func (e *editorProcess) send(line string) {
	e.Helper()
	if e.watch != nil {
		e.watch("> ", []byte(line))
	}
	if _, err := io.WriteString(e.in, line+"\n"); err != nil {
		e.Fatal(err)
	}
}

// message returns a request, or a notification if the id is 0.
func (e *editorProcess) message(id int, method string, params any) string {
	e.Helper()
	m := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != 0 {
		m["id"] = id
	}
	line, err := json.Marshal(m)
	if err != nil {
		e.Fatal(err)
	}
	return string(line)
}

// request sends a request and returns its id.
func (e *editorProcess) request(method string, params any) string {
	e.Helper()
	e.n++
	e.send(e.message(e.n, method, params))
	return fmt.Sprint(e.n)
}

// notify sends a notification.
func (e *editorProcess) notify(method string, params any) {
	e.Helper()
	e.send(e.message(0, method, params))
}

// next reads a message. Updates are kept, and requests answered.
func (e *editorProcess) next() *acpMessage {
	e.Helper()
	line, err := e.out.ReadBytes('\n')
	if err != nil {
		e.Fatalf("the agent has ended: %v", err)
	}
	if e.watch != nil {
		e.watch("", line)
	}
	m := new(acpMessage)
	if err := json.Unmarshal(line, m); err != nil {
		e.Fatalf("%s: %v", line, err)
	}
	switch {
	case m.Method == "session/update":
		var p struct{ Update acpUpdate }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			e.Fatal(err)
		}
		e.updates = append(e.updates, p.Update)
	case m.Method != "" && m.ID != nil && e.onAsk != nil:
		if answer := e.onAsk(m.Method, m.Params); answer != nil {
			body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": answer})
			if err != nil {
				e.Fatal(err)
			}
			e.send(string(body))
		}
	}
	return m
}

// until reads messages until one is as wanted.
func (e *editorProcess) until(wanted func(*acpMessage) bool) *acpMessage {
	e.Helper()
	for {
		if m := e.next(); wanted(m) {
			return m
		}
	}
}

// response waits for the response to a request.
func (e *editorProcess) response(id string) *acpMessage {
	e.Helper()
	return e.until(func(m *acpMessage) bool { return m.Method == "" && string(m.ID) == id })
}

// call sends a request and returns the result, which must be none of an error.
func (e *editorProcess) call(method string, params any) json.RawMessage {
	e.Helper()
	m := e.response(e.request(method, params))
	if m.Error != nil {
		e.Fatalf("%s: error %d: %s", method, m.Error.Code, m.Error.Message)
	}
	return m.Result
}

// refused sends a request that must fail with a code, and returns the error's text.
func (e *editorProcess) refused(code int, method string, params any) string {
	e.Helper()
	m := e.response(e.request(method, params))
	if m.Error == nil || m.Error.Code != code {
		e.Fatalf("%s %v: %s, error %+v, want %d", method, params, m.Result, m.Error, code)
	}
	return m.Error.Message
}

func (e *editorProcess) initialize() {
	e.Helper()
	e.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
}

// open opens a new session and returns its id.
func (e *editorProcess) open() string {
	e.Helper()
	var s struct{ SessionID string }
	if err := json.Unmarshal(e.call("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}}),
		&s); err != nil {
		e.Fatal(err)
	}
	return s.SessionID
}

func promptOf(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// stopped returns the reason for which a prompt ended.
func (e *editorProcess) stopped(result json.RawMessage) string {
	e.Helper()
	var r struct{ StopReason string }
	if err := json.Unmarshal(result, &r); err != nil {
		e.Fatal(err)
	}
	return r.StopReason
}

// said returns the texts of a kind of chunk, joined.
func (e *editorProcess) said(kind string) string {
	text := ""
	for _, u := range e.updates {
		if u.Kind == kind {
			text += u.text()
		}
	}
	return text
}

// wait closes the connection and waits for the end of the command.
func (e *editorProcess) wait(code int) {
	e.Helper()
	if err := e.in.Close(); err != nil {
		e.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, e.out); err != nil {
		e.Fatal(err)
	}
	_ = e.cmd.Wait() // the state has the code
	if got := e.cmd.ProcessState.ExitCode(); got != code {
		e.Errorf("exit code %d, want %d", got, code)
	}
}

// A session of an editor asks it about a call, shows it with its diff, and can be loaded by another
// process, where the history is what was shown.
func TestN1_Session(t *testing.T) {
	url, _ := serve(t, nil, fakellm.Turn{Thinking: "Let me see.", Text: "I write it.",
		Calls: []fakellm.Call{use("write_file", map[string]any{"file_path": "a.txt", "content": "one\ntwo\n"})}},
		say("Now the other.", use("shell", map[string]any{"command": "touch no"})), say("All is done."))
	h := newHome(t, url)
	e := newEditor(t, h)
	e.initialize()
	id := e.open()
	var asked []string
	e.onAsk = func(method string, params json.RawMessage) any {
		var p struct {
			ToolCall struct{ Title, Kind string }
			Options  []struct{ OptionID, Kind string }
		}
		if err := json.Unmarshal(params, &p); err != nil {
			t.Error(err)
		}
		asked = append(asked, p.ToolCall.Kind)
		want := "allow_once"
		if p.ToolCall.Kind == "execute" {
			want = "reject_once"
		}
		for _, o := range p.Options {
			if o.Kind == want {
				return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": o.OptionID}}
			}
		}
		t.Errorf("no option %s: %s", want, params)
		return nil
	}
	if got := e.stopped(e.call("session/prompt", promptOf(id, "write"))); got != "end_turn" {
		t.Errorf("stop reason %q", got)
	}
	if want := []string{"edit", "execute"}; !slices.Equal(asked, want) {
		t.Errorf("asked about %q, want %q", asked, want)
	}
	if got, err := os.ReadFile(filepath.Join(h.dir, "a.txt")); string(got) != "one\ntwo\n" {
		t.Errorf("a.txt: %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "no")); err == nil {
		t.Error("the rejected command has run")
	}
	shown := e.said("agent_message_chunk")
	if !strings.Contains(shown, "All is done.") || !strings.Contains(e.said("agent_thought_chunk"), "Let me see.") {
		t.Errorf("said %q", shown)
	}
	e.checkCalls("edit completed diff", "execute failed content")
	e.wait(0)

	e = newEditor(t, h)
	e.initialize()
	e.call("session/load", map[string]any{"sessionId": id, "cwd": h.dir, "mcpServers": []any{}})
	if got := e.said("agent_message_chunk"); got != shown {
		t.Errorf("the history has %q, and %q was shown", got, shown)
	}
	if got := e.said("user_message_chunk"); got != "write" {
		t.Errorf("the history has the prompts %q", got)
	}
	e.checkCalls("edit completed diff", "execute failed content")
	e.wait(0)
}

// checkCalls compares the calls as the editor shows them at last: their kind, status and first
// content.
func (e *editorProcess) checkCalls(want ...string) {
	e.Helper()
	type shown struct{ kind, status, content string }
	calls, order := map[string]*shown{}, []string{}
	for _, u := range e.updates {
		if u.ID == "" {
			continue
		}
		c := calls[u.ID]
		if c == nil {
			c = new(shown)
			calls[u.ID], order = c, append(order, u.ID)
			if u.Kind != "tool_call" {
				e.Errorf("the call %s begins with %s", u.ID, u.Kind)
			}
		}
		if u.Tool != "" {
			c.kind = u.Tool
		}
		if u.Status != "" {
			c.status = u.Status
		}
		var content []struct{ Type string }
		if u.Content != nil && json.Unmarshal(u.Content, &content) == nil && len(content) > 0 {
			c.content = content[0].Type
		}
	}
	var got []string
	for _, id := range order {
		got = append(got, calls[id].kind+" "+calls[id].status+" "+calls[id].content)
	}
	if !slices.Equal(got, want) {
		e.Errorf("calls %q, want %q", got, want)
	}
}

// Further directories are the session's, and are gone in another one.
func TestN1_AdditionalDirectories(t *testing.T) {
	other := t.TempDir()
	write := use("write_file", map[string]any{"file_path": filepath.Join(other, "a.txt"), "content": "x"})
	url, _ := serve(t, nil, say("", write), say("Done."))
	h := newHome(t, url)
	e := newEditor(t, h, "--mode", "accept-edits")
	e.onAsk = func(string, json.RawMessage) any {
		return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
	}
	e.initialize()
	for _, dirs := range [][]string{{}, {other}} {
		var s struct{ SessionID string }
		if err := json.Unmarshal(e.call("session/new", map[string]any{"cwd": h.dir, "mcpServers": []any{},
			"additionalDirectories": dirs}), &s); err != nil {
			t.Fatal(err)
		}
		e.call("session/prompt", promptOf(s.SessionID, "write"))
		if _, err := os.Stat(filepath.Join(other, "a.txt")); (err == nil) != (len(dirs) > 0) {
			t.Errorf("with the directories %q: %v", dirs, err)
		}
	}
	e.refused(-32602, "session/new", map[string]any{"cwd": h.dir, "mcpServers": []any{},
		"additionalDirectories": []string{"here"}})
	e.wait(0)
}

// The sessions of a directory are listed page by page, also those that other commands have begun,
// and deleted.
func TestN1_List(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("Hello."))
	h := newHome(t, url)
	h.run(0, "run", "--yes", "a task of run")
	e := newEditor(t, h)
	e.initialize()
	for range 51 {
		e.call("session/prompt", promptOf(e.open(), "a task"))
	}
	var all []string
	for cursor := ""; ; {
		var page struct {
			Sessions   []struct{ SessionID, Cwd, Title, UpdatedAt string }
			NextCursor string
		}
		params := map[string]any{"cwd": h.dir}
		if cursor != "" {
			params["cursor"] = cursor
		}
		if err := json.Unmarshal(e.call("session/list", params), &page); err != nil {
			t.Fatal(err)
		}
		for _, s := range page.Sessions {
			if all = append(all, s.SessionID); !sameDir(s.Cwd, h.dir) || !strings.HasPrefix(s.Title, "a task") ||
				s.UpdatedAt == "" {
				t.Errorf("%+v", s)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if once := slices.Compact(slices.Sorted(slices.Values(all))); len(once) != 52 || len(all) != 52 {
		t.Errorf("%d sessions, %d different", len(all), len(once))
	}
	e.call("session/load", map[string]any{"sessionId": all[51], "cwd": h.dir, "mcpServers": []any{}})
	if got := e.said("user_message_chunk"); got != "a task of run" {
		t.Errorf("loaded %q", got)
	}
	e.call("session/delete", map[string]any{"sessionId": all[51]})
	e.refused(-32002, "session/load", map[string]any{"sessionId": all[51], "cwd": h.dir, "mcpServers": []any{}})
	e.refused(-32002, "session/load", map[string]any{"sessionId": all[0][:8], "cwd": h.dir, "mcpServers": []any{}})
	if got := string(e.call("session/list", map[string]any{"cwd": t.TempDir()})); got != `{"sessions":[]}` {
		t.Error(got)
	}
	e.wait(0)
}
