//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is wrong with a message is told, and the connection goes on.
func TestN1_WrongMessages(t *testing.T) {
	url, _ := serve(t, nil, say("Hello."))
	h := newHome(t, url)
	e := newEditor(t, h)
	if text := e.refused(-32600, "session/new",
		map[string]any{"cwd": h.dir, "mcpServers": []any{}}); !strings.Contains(text, "initialize") {
		t.Errorf("before initialize: %s", text)
	}
	e.initialize()
	e.refused(-32600, "initialize", map[string]any{"protocolVersion": 1})
	for line, code := range map[string]int{"{nonsense": -32700, `[{"jsonrpc":"2.0","id":1,"method":"x"}]`: -32600,
		`7`: -32600, `{"jsonrpc":"2.0"}`: -32600,
		`{"jsonrpc":"2.0","id":{},"method":"x"}`: -32600, `{"jsonrpc":"2.0","id":null,"method":5}`: -32600} {
		e.send(line)
		if m := e.next(); m.Error == nil || m.Error.Code != code || string(m.ID) != "null" {
			t.Errorf("%s: id %s, error %+v, want %d", line, m.ID, m.Error, code)
		}
	}
	e.refused(-32601, "session/fork", map[string]any{})
	for text, params := range map[string]any{
		"cwd is missing":               map[string]any{"mcpServers": []any{}},
		"cwd must not be a number":     map[string]any{"cwd": 5},
		"cwd must be an absolute path": map[string]any{"cwd": "here"},
		"no command":                   map[string]any{"cwd": h.dir, "mcpServers": []any{map[string]any{"name": "x"}}},
		"does not support": map[string]any{"cwd": h.dir,
			"mcpServers": []any{map[string]any{"name": "x", "type": "carrier-pigeon"}}},
		"params must be an object": []any{},
		"not exist":                map[string]any{"cwd": filepath.Join(h.dir, "not exist"), "mcpServers": []any{}},
	} {
		if got := e.refused(-32602, "session/new", params); !strings.Contains(got, text) {
			t.Errorf("%v: %q, want %q", params, got, text)
		}
	}
	e.refused(-32002, "session/prompt", promptOf("nobody", "hi"))
	e.refused(-32002, "session/load", map[string]any{"sessionId": "nobody", "cwd": h.dir, "mcpServers": []any{}})
	e.refused(-32002, "session/delete", map[string]any{"sessionId": "nobody"})
	e.refused(-32602, "session/list", map[string]any{"cursor": "x"})
	e.refused(-32602, "authenticate", map[string]any{"methodId": "x"})
	id := e.open()
	for text, prompt := range map[string]any{
		"empty":     []any{},
		"prompt[0]": []any{map[string]any{"type": "audio", "data": "", "mimeType": "audio/wav"}},
		"prompt[1]": []any{map[string]any{"type": "text", "text": "hi"},
			map[string]any{"type": "image", "data": "?", "mimeType": "image/png"}},
		"image/tiff": []any{map[string]any{"type": "image", "data": "AA==", "mimeType": "image/tiff"}},
		"resource":   []any{map[string]any{"type": "resource"}},
		"unknown":    []any{map[string]any{"type": "smell"}},
	} {
		if got := e.refused(-32602, "session/prompt", map[string]any{"sessionId": id,
			"prompt": prompt}); !strings.Contains(got, text) {
			t.Errorf("%v: %q, want %q", prompt, got, text)
		}
	}
	e.notify("session/nonsense", nil)
	e.notify("session/cancel", map[string]any{"sessionId": id}) // nothing runs
	e.send(`{"jsonrpc":"2.0","id":99,"result":{}}`)             // nobody waits for it
	if got := e.stopped(e.call("session/prompt", promptOf(id, "hi"))); got != "end_turn" {
		t.Errorf("afterwards the stop reason is %q", got)
	}
	e.wait(0)
}

// An oversized message is skipped in bounded memory and answered by its id.
func TestN1_OversizedMessage(t *testing.T) {
	url, _ := serve(t, nil, say("Hello."))
	e := newEditor(t, newHome(t, url))
	e.initialize()
	id := e.open()
	text := e.refused(-32600, "session/prompt", promptOf(id, strings.Repeat("x", 33<<20)))
	if !strings.Contains(text, "32 MiB") {
		t.Error(text)
	}
	e.call("session/prompt", promptOf(id, "hi"))
	e.wait(0)
}

// Without a key the editor is told which variable to set.
func TestN1_NoKey(t *testing.T) {
	h := newHome(t, "http://127.0.0.1:1")
	e := newEditor(t, h, "--provider", "openai")
	e.initialize()
	if got := e.refused(-32000, "session/new", map[string]any{"cwd": h.dir,
		"mcpServers": []any{}}); !strings.Contains(got, "OPENAI_API_KEY") {
		t.Error(got)
	}
	e.wait(0)
}

// A session that another process has taken over refuses prompts here and says why. The editor can
// open it again.
func TestN1_TakenOver(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("One."), say("Two."))
	h := newHome(t, url)
	e := newEditor(t, h)
	e.initialize()
	session := e.open()
	e.call("session/prompt", promptOf(session, "go"))
	giveBack := h.takeOver()
	for range 2 {
		if said := e.refused(-32603, "session/prompt", promptOf(session, "on")); !strings.Contains(said,
			"another process") {
			t.Errorf("the editor is told %q", said)
		}
	}
	giveBack()
	e.call("session/load", map[string]any{"sessionId": session, "cwd": e.dir, "mcpServers": []any{}})
	if reason := e.stopped(e.call("session/prompt", promptOf(session, "on"))); reason != "end_turn" {
		t.Errorf("the prompt after the editor has opened the session again: %s", reason)
	}
	if said := e.said("agent_message_chunk"); !strings.HasSuffix(said, "One.Two.") {
		t.Errorf("the editor shows %q", said)
	}
	e.wait(0)
}

// busyEditor has a session whose prompt runs a command that does not end by itself, not even when
// it is asked to.
func busyEditor(t *testing.T, h *home) (e *editorProcess, session, prompt string) {
	e = newEditor(t, h, "--yes")
	e.initialize()
	session = e.open()
	prompt = e.request("session/prompt", promptOf(session, "wait"))
	e.until(func(*acpMessage) bool { // of the command's live output
		last := e.updates[len(e.updates)-1]
		return last.ID != "" && strings.Contains(string(last.Content), "begun")
	})
	return e, session, prompt
}

// stubborn is a command that ignores signals.
const stubborn = `trap "" TERM INT; echo begun; $sleep & while :; do wait; done`

// serveStubborn serves a model that calls the command. It returns the command line of the process
// that the command starts.
func serveStubborn(t *testing.T) (url, sleep string) {
	sleep = newSleep(t)
	url, _ = serve(t, nil, say("", use("shell", map[string]any{"command": strings.ReplaceAll(stubborn, "$sleep", sleep),
		"timeout_ms": 500_000})), say("Back."))
	return url, sleep
}

// gone checks that a process has ended.
func (e *editorProcess) gone(sleep string) {
	e.Helper()
	if left := running(e.T, sleep); len(left) > 0 {
		e.Errorf("left running: %q", left)
	}
}

// A cancelled prompt ends with its command, even one that ignores signals, and the session goes on.
func TestN1_CancelInACommand(t *testing.T) {
	t.Parallel()
	url, sleep := serveStubborn(t)
	h := newHome(t, url)
	e, session, prompt := busyEditor(t, h)
	if text := e.refused(-32600, "session/prompt", promptOf(session, "me too")); !strings.Contains(text, "already") {
		t.Error(text)
	}
	e.notify("session/cancel", map[string]any{"sessionId": session})
	if got := e.stopped(e.response(prompt).Result); got != "cancelled" {
		t.Errorf("stop reason %q", got)
	}
	e.gone(sleep)
	if got := e.stopped(e.call("session/prompt", promptOf(session, "go on"))); got != "end_turn" {
		t.Errorf("afterwards the stop reason is %q", got)
	}
	e.wait(0)
}

// A prompt that is cancelled before it has begun, or while a person is asked, ends as cancelled.
func TestN1_CancelEarly(t *testing.T) {
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "touch it"})), say("Back."))
	h := newHome(t, url)
	e := newEditor(t, h)
	e.initialize()
	session := e.open()
	e.n++
	// at once, so that the model cannot have answered
	e.send(e.message(e.n, "session/prompt", promptOf(session, "now")) + "\n" +
		e.message(0, "session/cancel", map[string]any{"sessionId": session}))
	if got := e.stopped(e.response(fmt.Sprint(e.n)).Result); got != "cancelled" {
		t.Errorf("stop reason %q", got)
	}
	asks := 0
	e.onAsk = func(string, json.RawMessage) any {
		asks++
		e.notify("session/cancel", map[string]any{"sessionId": session})
		return nil
	}
	if got := e.stopped(e.call("session/prompt", promptOf(session, "again"))); got != "cancelled" || asks != 1 {
		t.Errorf("stop reason %q, %d asks", got, asks)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "it")); err == nil {
		t.Error("the command has run")
	}
	e.wait(0)
}

// When the editor closes the connection, or the command gets a signal, in the middle of a command,
// nothing is left running and the session can be resumed.
func TestN1_EndInACommand(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*editorProcess){
		"the input ends": func(e *editorProcess) { e.wait(0) },
		"SIGTERM": func(e *editorProcess) {
			if err := e.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				e.Fatal(err)
			}
			e.wait(128 + int(syscall.SIGTERM))
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, sleep := serveStubborn(t)
			h := newHome(t, url)
			e, session, _ := busyEditor(t, h)
			end(e)
			e.gone(sleep)
			if out := h.run(0, "run", "--yes", "--resume", session, "go on"); out.stdout != "Back.\n" {
				t.Errorf("resumed: %q", out.stdout)
			}
		})
	}
}

// A second signal kills what runs, and ends the command at once: the prompt gets no answer.
func TestN1_SecondSignal(t *testing.T) {
	t.Parallel()
	url, sleep := serveStubborn(t)
	e, _, _ := busyEditor(t, newHome(t, url))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for e.cmd.Process.Signal(syscall.SIGTERM) == nil { // two that come at once are one
		}
	}()
	rest, err := io.ReadAll(e.out)
	if err != nil {
		t.Error(err)
	}
	if strings.Contains(string(rest), "stopReason") {
		t.Errorf("it ended in order: %s", rest)
	}
	e.wait(128 + int(syscall.SIGTERM))
	<-ended
	(&busyCommand{sleep: sleep}).waitGone(t)
}
