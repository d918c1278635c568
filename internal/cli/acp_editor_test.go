//go:build unix

package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
)

// object is a JSON object.
type object = map[string]any

// scriptedEditor is a client of the protocol's official SDK with an agent, which
// testdata/acp/editor.mjs runs. Every message is checked against the protocol's schema, and one
// that is wrong fails the test.
type scriptedEditor struct {
	*testing.T
	cmd   *exec.Cmd
	agent int           // the agent's process
	ended chan struct{} // closed when the editor has ended
	gone  chan struct{} // closed when the agent, and all that it has started, has ended as well

	mu      sync.Mutex
	in      io.WriteCloser
	n       int
	changed chan struct{} // closed and replaced when something was seen
	replies map[int]reply
	updates []object // session/update, with the session's id
	asks    []ask
	seen    []string // the checks and the ends that the program has printed
	exit    *int     // the exit code of the agent
	stderr  strings.Builder
	answers map[string]func(ask)
}

// reply is the answer to a request.
type reply struct {
	Result object
	Error  *rpcError
}

// rpcError is an error of the protocol.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// ask is a request of the agent.
type ask struct {
	id     int
	method string
	params object
}

// newEditor starts attractor acp in the user's home with an editor. It ends with the test.
func (h *home) newEditor(args ...string) *scriptedEditor {
	h.Helper()
	return h.newEditorWith([]string{"ANTHROPIC_API_KEY=key-of-a-test", "ANTHROPIC_BASE_URL=" + h.url}, args...)
}

// newEditorWith is newEditor with variables.
func (h *home) newEditorWith(vars []string, args ...string) *scriptedEditor {
	h.Helper()
	cmd := attractorCommand(h.T, append([]string{"acp"}, args...)...)
	cmd.Env = append(append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home), vars...)
	return startEditor(h.T, cmd)
}

// startEditor starts an editor with an agent.
func startEditor(t *testing.T, agent *exec.Cmd) *scriptedEditor {
	t.Helper()
	modules := peer.NeedModules(t, "@agentclientprotocol/sdk")
	node := filepath.Join(modules, ".bin", "node") // new enough to keep what it has compiled
	if _, err := os.Stat(node); err != nil {
		node = peer.Need(t, "node")
	}
	script, err := filepath.Abs("testdata/acp/editor.mjs")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	cmd := exec.CommandContext(ctx, node, append([]string{script, modules, agent.Path}, agent.Args[1:]...)...)
	cmd.Env = append(agent.Env, "NODE_COMPILE_CACHE="+filepath.Join(modules, ".compiled"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	e := &scriptedEditor{T: t, cmd: cmd, ended: make(chan struct{}), changed: make(chan struct{}),
		replies: map[int]reply{}, answers: map[string]func(ask){}}
	e.in, err = cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := new(strings.Builder)
	cmd.Stderr = stderr
	held, holder, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{holder}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go e.read(out)
	e.gone = make(chan struct{})
	go func() {
		defer close(e.gone)
		_, err := io.Copy(io.Discard, held) // nothing is written; it ends with the last holder
		if err := errors.Join(err, held.Close()); err != nil {
			t.Error(err)
		}
	}()
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer cancel()
		_ = e.in.Close() // it may have ended
		<-e.ended
		<-e.gone
		if err := cmd.Wait(); err != nil && !killed(err) {
			t.Errorf("the editor: %v: %s", err, stderr)
		}
		if t.Failed() {
			t.Logf("the agent's standard error: %s", e.stderr.String())
		}
	})
	e.await("the agent's start", func() bool { return e.agent != 0 })
	return e
}

// killed reports whether a program was killed by a signal.
func killed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == -1
}

// read reads what the program prints until it ends.
func (e *scriptedEditor) read(out io.Reader) {
	defer close(e.ended)
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var seen struct {
			N         int
			Result    object
			Error     *rpcError
			Ask       int
			Method    string
			Params    object
			Update    object
			Invalid   string
			Line      string
			Stderr    string
			Pid       int
			Exit      json.RawMessage
			Signal    string
			Closed    bool
			Withdrawn int
			Checked   *string
		}
		if err := json.Unmarshal(line, &seen); err != nil {
			e.Errorf("the editor printed %q: %v", line, err)
			continue
		}
		e.mu.Lock()
		switch {
		case seen.N != 0:
			e.replies[seen.N] = reply{seen.Result, seen.Error}
		case seen.Ask != 0:
			a := ask{seen.Ask, seen.Method, seen.Params}
			e.asks = append(e.asks, a)
			go e.take(a)
		case seen.Update != nil:
			e.updates = append(e.updates, seen.Update)
		case seen.Invalid != "":
			e.Errorf("against the protocol: %s\n%s", seen.Invalid, seen.Line)
		case seen.Stderr != "":
			e.stderr.WriteString(seen.Stderr)
		case seen.Pid != 0:
			e.agent = seen.Pid
		case seen.Exit != nil:
			code, err := strconv.Atoi(string(seen.Exit))
			if err != nil {
				code = -1 // a signal
			}
			e.exit = &code
		case seen.Withdrawn != 0:
			e.seen = append(e.seen, fmt.Sprint("withdrawn ", seen.Withdrawn))
		case seen.Checked != nil:
			e.seen = append(e.seen, *seen.Checked)
		case seen.Closed:
			e.seen = append(e.seen, "closed")
		}
		close(e.changed)
		e.changed = make(chan struct{})
		e.mu.Unlock()
	}
}

// take lets the test answer a request of the agent.
func (e *scriptedEditor) take(a ask) {
	e.mu.Lock()
	answer := e.answers[a.method]
	e.mu.Unlock()
	if answer == nil {
		e.Errorf("the agent asks for %s, which the test does not expect: %v", a.method, a.params)
		e.answer(a, nil, &rpcError{Code: -32601, Message: "not expected"})
		return
	}
	answer(a)
}

// on sets what answers requests of the agent.
func (e *scriptedEditor) on(method string, answer func(ask)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answers[method] = answer
}

// choose answers questions about tool calls with the options of a kind, one after the other. The
// last one is for all further questions.
func (e *scriptedEditor) choose(kinds ...string) {
	var mu sync.Mutex
	e.on("session/request_permission", func(a ask) {
		mu.Lock()
		kind := kinds[0]
		if len(kinds) > 1 {
			kinds = kinds[1:]
		}
		mu.Unlock()
		e.answer(a, object{"outcome": object{"outcome": "selected", "optionId": option(a, kind)}}, nil)
	})
}

// option returns the id of the first option of a kind, or "".
func option(a ask, kind string) string {
	options, _ := a.params["options"].([]any)
	for _, o := range options {
		if at(o, "kind") == kind {
			return at(o, "optionId")
		}
	}
	return ""
}

// answer answers a request of the agent.
func (e *scriptedEditor) answer(a ask, result object, err *rpcError) {
	if err != nil {
		e.send(object{"do": "answer", "ask": a.id, "error": err})
		return
	}
	e.send(object{"do": "answer", "ask": a.id, "result": result})
}

// send sends a line to the program.
func (e *scriptedEditor) send(line object) {
	data, err := json.Marshal(line)
	if err == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		_, err = e.in.Write(append(data, '\n'))
	}
	if err != nil {
		e.Errorf("the editor has ended: %v", err)
	}
}

// await waits until a condition is true, which is checked when something was seen.
func (e *scriptedEditor) await(what string, is func() bool) {
	e.Helper()
	late := time.After(await.Limit)
	for {
		ok, changed := e.check(is)
		if ok {
			return
		}
		select {
		case <-changed:
		case <-e.ended:
			if ok, _ := e.check(is); !ok {
				e.Fatalf("waiting for %s: the editor has ended", what)
			}
			return
		case <-late:
			e.mu.Lock()
			updates, asks := shown(e.updates), e.asks
			e.mu.Unlock()
			e.Fatalf("waiting for %s took too long; updates: %s; asks: %v", what, updates, asks)
		}
	}
}

// check reports whether a condition is true, and returns what is closed when it may have changed.
func (e *scriptedEditor) check(is func() bool) (ok bool, changed chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return is(), e.changed
}

// awaitOutput waits until the last update has some output of a call.
func (e *scriptedEditor) awaitOutput(text string) {
	e.Helper()
	e.await("output with "+text, func() bool {
		return len(e.updates) > 0 && strings.Contains(at(e.updates[len(e.updates)-1], "update", "content"), text)
	})
}

// begin sends a request and returns its number.
func (e *scriptedEditor) begin(method string, params object) int {
	e.mu.Lock()
	e.n++
	n := e.n
	e.mu.Unlock()
	e.send(object{"do": "request", "n": n, "method": method, "params": params})
	return n
}

// reply waits for the answer to a request.
func (e *scriptedEditor) reply(n int) (r reply) {
	e.Helper()
	e.await(fmt.Sprintf("the answer to request %d", n), func() (ok bool) { r, ok = e.replies[n]; return ok })
	return r
}

// call sends a request and returns its result.
func (e *scriptedEditor) call(method string, params object) object {
	e.Helper()
	r := e.reply(e.begin(method, params))
	if r.Error != nil {
		e.Fatalf("%s: error %d: %s (%v)", method, r.Error.Code, r.Error.Message, r.Error.Data)
	}
	return r.Result
}

// refuses sends a request that must fail, and checks the error.
func (e *scriptedEditor) refuses(code int, words string, method string, params object) {
	e.Helper()
	r := e.reply(e.begin(method, params))
	if r.Error == nil {
		e.Errorf("%s: %v, want an error", method, r.Result)
		return
	}
	if r.Error.Code != code || !strings.Contains(fmt.Sprint(r.Error.Message, " ", r.Error.Data), words) {
		e.Errorf("%s: error %d: %s (%v), want %d with %q", method, r.Error.Code, r.Error.Message, r.Error.Data, code,
			words)
	}
}

// notify sends a notification.
func (e *scriptedEditor) notify(method string, params object) {
	e.send(object{"do": "notify", "method": method, "params": params})
}

// initialize initializes with everything that an editor can offer, or with the given capabilities.
func (e *scriptedEditor) initialize(capabilities ...object) object {
	e.Helper()
	offers := object{}
	for _, c := range capabilities {
		offers = c
	}
	return e.call("initialize", object{"protocolVersion": 1, "clientCapabilities": offers,
		"clientInfo": object{"name": "scripted-editor", "version": "1"}})
}

// open opens a session in a directory and returns its id.
func (e *scriptedEditor) open(dir string) string {
	e.Helper()
	return at(e.call("session/new", object{"cwd": dir, "mcpServers": []any{}}), "sessionId")
}

// file writes a file into the working directory.
func (h *home) file(name, content string) {
	h.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(content), 0o644); err != nil {
		h.Fatal(err)
	}
}

// prompt sends a text and returns why the turn stopped.
func (e *scriptedEditor) prompt(session, text string) string {
	e.Helper()
	return at(e.call("session/prompt", prompt(session, text)), "stopReason")
}

// prompt returns the parameters of a prompt with a text.
func prompt(session, text string) object {
	return object{"sessionId": session, "prompt": []any{object{"type": "text", "text": text}}}
}

// of returns the updates of a session, of all kinds or of some.
func (e *scriptedEditor) of(session string, kinds ...string) (list []object) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, u := range e.updates {
		update, _ := u["update"].(object)
		if u["sessionId"] != session || update == nil {
			continue
		}
		for _, kind := range kinds {
			if update["sessionUpdate"] == kind {
				list = append(list, update)
			}
		}
		if len(kinds) == 0 {
			list = append(list, update)
		}
	}
	return list
}

// text returns the text of the chunks of a kind, in order.
func (e *scriptedEditor) text(session, kind string) string {
	var all strings.Builder
	for _, u := range e.of(session, kind) {
		all.WriteString(at(u, "content", "text"))
	}
	return all.String()
}

// toolCall returns the last state of a tool call: all its updates in one.
func (e *scriptedEditor) toolCall(session, id string) object {
	state := object{}
	for _, u := range e.of(session, "tool_call", "tool_call_update") {
		if u["toolCallId"] != id {
			continue
		}
		for key, value := range u {
			state[key] = value
		}
	}
	return state
}

// end closes the agent's standard input and checks that it ends in order.
func (e *scriptedEditor) end() {
	e.Helper()
	e.send(object{"do": "end"})
	e.await("the agent's end", func() bool { return e.exit != nil })
	if *e.exit != 0 {
		e.Errorf("the agent's exit code is %d", *e.exit)
	}
}

// at returns the text at a path in a JSON value, or "".
func at(v any, path ...string) string {
	for _, key := range path {
		switch in := v.(type) {
		case object:
			v = in[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(in) {
				return ""
			}
			v = in[i]
		default:
			return ""
		}
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64, bool:
		return fmt.Sprint(v)
	}
	return shown(v)
}

// shown returns a value as JSON.
func shown(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// The check of the messages finds wrong ones: it has to, for the other tests to say something.
func TestN1_TheSchemaIsChecked(t *testing.T) {
	t.Parallel()
	e := startEditor(t, exec.Command("cat"))
	update := func(u object) object {
		return object{"jsonrpc": "2.0", "method": "session/update", "params": object{"sessionId": "s", "update": u}}
	}
	text := object{"type": "text", "text": "x"}
	for _, tt := range []struct {
		name    string
		agent   bool
		message object
		wrong   string
	}{
		{"a chunk", true, update(object{"sessionUpdate": "agent_message_chunk", "content": text}), ""},
		{"no version", true, object{"method": "session/update"}, "no jsonrpc"},
		{"an unknown kind", true, update(object{"sessionUpdate": "shout", "content": text}),
			"not a SessionNotification"},
		{"a missing field", true, update(object{"sessionUpdate": "tool_call", "toolCallId": "1"}),
			"not a SessionNotification"},
		{"a misspelled field", true, update(object{"sessionUpdate": "tool_call", "toolCallId": "1", "title": "x",
			"rawinput": 1}), "no /update/rawinput"},
		{"a wrong value that clients would ignore", true, update(object{"sessionUpdate": "tool_call", "toolCallId": "1",
			"title": "x", "status": "done"}), "not a SessionNotification"},
		{"the other side's method", true, object{"jsonrpc": "2.0", "id": 1, "method": "session/prompt",
			"params": prompt("s", "x")}, "not for this side"},
		{"an unknown method", true, object{"jsonrpc": "2.0", "method": "session/shout"},
			"no Notification session/shout"},
		{"an answer to nothing", true, object{"jsonrpc": "2.0", "id": 77, "result": object{}}, "answer to no request"},
		{"a client's request", false, object{"jsonrpc": "2.0", "id": 1, "method": "session/prompt",
			"params": prompt("s", "x")}, ""},
		{"the same id", false, object{"jsonrpc": "2.0", "id": 1, "method": "session/prompt",
			"params": prompt("s", "x")}, "used twice"},
		{"an unknown reason", true, object{"jsonrpc": "2.0", "id": 1, "result": object{"stopReason": "tired"}},
			"not a PromptResponse"},
	} {
		e.send(object{"do": "check", "agent": tt.agent, "message": tt.message})
		var got string
		e.await(tt.name, func() bool {
			if len(e.seen) > 0 {
				got, e.seen = e.seen[0], nil
				return true
			}
			return false
		})
		if (got == "") != (tt.wrong == "") || !strings.Contains(got, tt.wrong) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.wrong)
		}
	}
}
