//go:build unix

package cli

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// MCP servers that the editor brings are used, over a pipe and over HTTP, and what they get as
// secrets is masked. One that does not start is told about.
func TestN1_ServersOfTheEditor(t *testing.T) {
	t.Parallel()
	program := peer.Need(t, "mcp-server-everything")
	web := httptest.NewServer(fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		last := lastResults(r.Messages)
		switch {
		case !slices.Contains(r.Tools, "mcp__pipe__echo") || !slices.Contains(r.Tools, "mcp__web__echo"):
			return say("", use("shell", object{"command": "sleep 0.3"})) // Node takes its time
		case !strings.Contains(last, "Echo: ") && !strings.Contains(last, "PATH"):
			return say("", use("mcp__pipe__echo", object{"message": "through the pipe"}),
				use("mcp__web__echo", object{"message": "through HTTP"}))
		case !strings.Contains(last, "PATH"):
			return say("", use("mcp__pipe__get-env", object{}))
		}
		return say(last)
	}, fakellm.Options{}))
	t.Cleanup(web.Close)
	h := newHome(t, web.URL)
	e := h.newEditor("--yes")
	e.initialize()
	none := []any{}
	pipe := object{"name": "pipe", "command": program, "args": none,
		"env": []any{object{"name": "EDITOR_TOKEN", "value": "token-of-the-editor-1"}}}
	session := at(e.call("session/new", object{"cwd": h.dir, "mcpServers": []any{pipe,
		object{"type": "http", "name": "web", "url": peer.ServeEverything(t), "headers": none},
		object{"name": "broken", "command": "/none/such", "args": none, "env": none}}}), "sessionId")
	if stop := e.prompt(session, "echo"); stop != "end_turn" {
		t.Errorf("stopped with %s", stop)
	}
	shown := shown(e.of(session))
	for _, want := range []string{"Echo: through the pipe", "Echo: through HTTP", "[secret EDITOR_TOKEN]", "broken"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the editor does not see %q", want)
		}
	}
	if strings.Contains(shown, "token-of-the-editor-1") {
		t.Error("the editor's secret is shown")
	}
	e.refuses(-32602, "sse", "session/new",
		object{"cwd": h.dir, "mcpServers": []any{object{"type": "sse", "name": "old", "url": "http://127.0.0.1:1/sse",
			"headers": none}}})
	e.end()
}

// textEditor has the files of an editor with unsaved changes.
type textEditor struct {
	*scriptedEditor
	mu      sync.Mutex
	unsaved map[string]string
	saved   []string
}

// offerFiles answers requests for files.
func (e *scriptedEditor) offerFiles() *textEditor {
	f := &textEditor{scriptedEditor: e, unsaved: map[string]string{}}
	e.on("fs/read_text_file", func(a ask) {
		f.mu.Lock()
		defer f.mu.Unlock()
		text, dirty := f.unsaved[at(a.params, "path")]
		if !dirty {
			data, err := os.ReadFile(at(a.params, "path"))
			if err != nil {
				e.answer(a, nil, &rpcError{Code: -32002, Message: err.Error()})
				return
			}
			text = string(data)
		}
		e.answer(a, object{"content": text}, nil)
	})
	e.on("fs/write_text_file", func(a ask) {
		f.mu.Lock()
		defer f.mu.Unlock()
		name := at(a.params, "path")
		delete(f.unsaved, name)
		f.saved = append(f.saved, name)
		if err := os.WriteFile(name, []byte(at(a.params, "content")), 0o644); err != nil {
			e.Error(err)
		}
		e.answer(a, object{}, nil)
	})
	return f
}

// What an editor has not saved is what the model reads, and what a person approves is bound to it:
// it may not change before the call runs.
func TestN1_UnsavedBuffers(t *testing.T) {
	t.Parallel()
	edit := func(old, text string) fakellm.Turn {
		return say("", use("edit_file", object{"file_path": "f", "old_string": old, "new_string": text}))
	}
	url, server := serve(t, nil, say("", use("read_file", object{"file_path": "f"})), edit("typed", "edited"),
		edit("edited", "again"),
		say("", use("write_file", object{"file_path": "new", "content": "made\n"})), say("Done."))
	h := newHome(t, url)
	h.file("f", "saved\n")
	file := filepath.Join(h.dir, "f")
	e := h.newEditor()
	files := e.offerFiles()
	files.unsaved[file] = "typed\n"
	e.initialize(object{"fs": object{"readTextFile": true, "writeTextFile": true}})
	session := e.open(h.dir)
	asked := 0
	e.on("session/request_permission", func(a ask) {
		if asked++; asked == 2 { // the person goes on typing while the question is open
			files.mu.Lock()
			files.unsaved[file] = "edited and typed\n"
			files.mu.Unlock()
		}
		e.answer(a, object{"outcome": object{"outcome": "selected", "optionId": option(a, "allow_once")}}, nil)
	})
	if stop := e.prompt(session, "edit"); stop != "end_turn" {
		t.Errorf("stopped with %s", stop)
	}
	requests := server.Requests()
	for _, want := range []string{"1 | typed", "unsaved changes in"} {
		if !strings.Contains(string(requests[1].Body), want) {
			t.Errorf("the model has not read %q", want)
		}
	}
	if refused := lastResults(requests[3].Messages); !strings.Contains(refused,
		"has changed since the call was approved") {
		t.Errorf("the edit of what has changed: %s", refused)
	}
	data, err := os.ReadFile(file)
	if err != nil || string(data) != "edited\n" || files.unsaved[file] != "edited and typed\n" {
		t.Errorf("on the disk %q, %v, in the editor %q", data, err, files.unsaved[file])
	}
	if want := []string{file, filepath.Join(h.dir, "new")}; !slices.Equal(files.saved, want) {
		t.Errorf("the editor has written %q, want %q", files.saved, want)
	}
	e.end()
}

// The editor's further directories are the session's, with what is not saved there.
func TestN1_FurtherDirectories(t *testing.T) {
	t.Parallel()
	other := t.TempDir()
	file := filepath.Join(other, "f")
	url, server := serve(t, nil, say("", use("read_file", object{"file_path": file})),
		say("", use("edit_file", object{"file_path": file, "old_string": "typed", "new_string": "edited"})),
		say("Done."))
	h := newHome(t, url)
	if err := os.WriteFile(file, []byte("saved\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	e := h.newEditor("--yes")
	files := e.offerFiles()
	files.unsaved[file] = "typed\n"
	e.initialize(object{"fs": object{"readTextFile": true, "writeTextFile": true}})
	e.refuses(-32602, "none", "session/new",
		object{"cwd": h.dir, "additionalDirectories": []any{filepath.Join(other, "none")}, "mcpServers": []any{}})
	session := at(e.call("session/new", object{"cwd": h.dir, "additionalDirectories": []any{other},
		"mcpServers": []any{}}), "sessionId")
	if stop := e.prompt(session, "edit"); stop != "end_turn" || !strings.Contains(string(server.Requests()[1].Body),
		"1 | typed") {
		t.Errorf("stopped with %s", stop)
	}
	if data, err := os.ReadFile(file); string(data) != "edited\n" || !slices.Equal(files.saved, []string{file}) {
		t.Errorf("on the disk %q, %v; the editor has written %q", data, err, files.saved)
	}
	e.end()
}

// An editor answers a question twice, late, with what was not offered, and never. It sends what is
// no message, and a cancellation of nothing.
func TestN1_MisbehavingEditor(t *testing.T) {
	t.Parallel()
	touch := func(name string) fakellm.Turn { return say("", use("shell", object{"command": "touch " + name})) }
	url, _ := serve(t, nil, touch("one"), say("One."), touch("two"), say("Two."), touch("three"), touch("four"),
		say("Four."), touch("five"))
	h := newHome(t, url)
	e := h.newEditor()
	e.initialize()
	session := e.open(h.dir)
	asked := make(chan ask, 1)
	e.on("session/request_permission", func(a ask) { asked <- a })
	begin := func() (int, ask) {
		t.Helper()
		n := e.begin("session/prompt", prompt(session, "go"))
		select {
		case a := <-asked:
			return n, a
		case <-time.After(await.Limit):
			t.Fatal("no question")
		}
		return 0, ask{}
	}
	stopped := func(n int, want string) {
		t.Helper()
		if stop := at(e.reply(n).Result, "stopReason"); stop != want {
			t.Errorf("stopped with %s, want %s", stop, want)
		}
	}
	allow := func(a ask) object {
		return object{"outcome": object{"outcome": "selected", "optionId": option(a, "allow_once")}}
	}

	n, a := begin() // twice: the second answer comes for every id that may be meant
	e.answer(a, allow(a), nil)
	for _, id := range []string{"1", "2", `"1"`, "77"} {
		e.send(object{"do": "raw", "line": `{"jsonrpc":"2.0","id":` + id + `,"result":` + shown(allow(a)) + `}`})
	}
	stopped(n, "end_turn")

	n, a = begin() // what was not offered
	e.answer(a, object{"outcome": object{"outcome": "selected", "optionId": "everything"}}, nil)
	stopped(n, "end_turn")

	n, late := begin() // late: after the prompt was cancelled
	e.notify("session/cancel", object{"sessionId": session})
	stopped(n, "cancelled")
	n, a = begin()
	e.answer(late, allow(late), nil)
	for _, line := range []string{"", "garbage", `{"jsonrpc":"2.0"`, "[]", "7",
		`{"jsonrpc":"2.0","method":"session/update"}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"none"}}`,
		"\x00\xff", `{"jsonrpc":"2.0","id":null,"method":"session/prompt"}`, `{"jsonrpc":"2.0","id":{},"method":"x"}`} {
		e.send(object{"do": "raw", "line": line})
	}
	e.answer(a, allow(a), nil)
	stopped(n, "end_turn")

	begin() // never
	e.end()
	for name, want := range map[string]bool{"one": true, "two": false, "three": false, "four": true, "five": false} {
		if _, err := os.Stat(filepath.Join(h.dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
