//go:build unix

package cli

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// resume is the parameters that load or resume a session.
func (h *home) resume(session string) object {
	return object{"sessionId": session, "cwd": h.dir, "mcpServers": []any{}}
}

// calls returns the ids of a session's tool calls in the order in which they were shown.
func (e *scriptedEditor) calls(session string) (ids []string) {
	for _, u := range e.of(session, "tool_call") {
		ids = append(ids, at(u, "toolCallId"))
	}
	return ids
}

// An editor of any version gets version 1, and one that offers nothing is asked for nothing but
// permission.
func TestN1_Initialize(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("read_file", object{"file_path": "f"})), say("Read."))
	h := newHome(t, url)
	h.file("f", "x\n")
	e := h.newEditor()
	e.refuses(-32600, "initialize", "session/new", object{"cwd": h.dir, "mcpServers": []any{}})
	got := e.call("initialize", object{"protocolVersion": 7})
	if at(got, "protocolVersion") != "1" || at(got, "agentInfo", "name") != "attractor" || at(got, "agentCapabilities",
		"loadSession") != "true" {
		t.Errorf("%v", got)
	}
	for _, name := range []string{"close", "list", "resume", "delete"} {
		if at(got, "agentCapabilities", "sessionCapabilities", name) != "{}" {
			t.Errorf("no capability %s: %v", name, got)
		}
	}
	for path, want := range map[string]string{"promptCapabilities/image": "true",
		"promptCapabilities/embeddedContext": "true", "promptCapabilities/audio": "false",
		"mcpCapabilities/http": "true", "mcpCapabilities/sse": "false"} {
		if has := at(got["agentCapabilities"], strings.Split(path, "/")...); has != want {
			t.Errorf("%s is %q, want %q", path, has, want)
		}
	}
	e.call("authenticate", object{"methodId": at(got, "authMethods", "0", "id")})
	session := e.open(h.dir)
	if stop := e.prompt(session, "read it"); stop != "end_turn" || e.text(session, "agent_message_chunk") != "Read." {
		t.Errorf("%s, %q", stop, e.text(session, "agent_message_chunk"))
	}
	e.refuses(-32602, "absolute", "session/new", object{"cwd": "here", "mcpServers": []any{}})
	e.refuses(-32602, "", "session/new", object{"cwd": filepath.Join(h.dir, "none"), "mcpServers": []any{}})
	e.refuses(-32002, "", "session/prompt", prompt("none", "x"))
	e.end()
}

// pixel is a PNG of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// A prompt's text, images, embedded resources and links reach the model.
func TestN1_PromptContent(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("Seen."))
	h := newHome(t, url)
	e := h.newEditor()
	e.initialize()
	session := e.open(h.dir)
	with := func(blocks ...any) object { return object{"sessionId": session, "prompt": append([]any{}, blocks...)} }
	text := func(s string) object { return object{"type": "text", "text": s} }
	e.call("session/prompt", with(text("Look at this: "), object{"type": "image", "mimeType": "image/png",
		"data": pixel},
		object{"type": "resource", "resource": object{"uri": "file:///src/main.go", "mimeType": "text/x-go",
			"text": "package unsaved"}},
		object{"type": "resource_link", "uri": "file:///src/other.go", "name": "other.go"}))
	if len(server.Requests()) != 1 {
		t.Fatal("no request")
	}
	body := string(server.Requests()[0].Body)
	for _, want := range []string{"Look at this: ", pixel, "image/png", "/src/main.go", "package unsaved",
		"/src/other.go"} {
		if !strings.Contains(body, want) {
			t.Errorf("the model does not get %q", want)
		}
	}
	audio := object{"type": "audio", "mimeType": "audio/wav", "data": base64.StdEncoding.EncodeToString([]byte("x"))}
	e.refuses(-32602, "audio", "session/prompt", with(text("hear"), audio))
	e.refuses(-32602, "base64", "session/prompt", with(object{"type": "image", "mimeType": "image/png", "data": "?"}))
	e.refuses(-32602, "empty", "session/prompt", with())
	e.end()
}

// Tool calls are shown with their kinds, places, diffs and ends. Each is asked about as its kind
// needs, and what is allowed always is not asked about again.
func TestN1_ToolCallsAndPermissions(t *testing.T) {
	t.Parallel()
	shell := func(command string) fakellm.Turn { return say("", use("shell", object{"command": command})) }
	url, server := serve(t, nil, say("", use("read_file", object{"file_path": "f"})),
		say("", use("grep", object{"pattern": "old"})),
		say("", use("edit_file", object{"file_path": "f", "old_string": "old", "new_string": "new"})),
		shell("touch one"), shell("mkdir two"), shell("mkdir three"), shell("exit 3"), say("Done."))
	h := newHome(t, url)
	h.file("f", "first\nold\n")
	e := h.newEditor()
	e.initialize()
	session := e.open(h.dir)
	e.choose("allow_once", "reject_once", "allow_always")
	if stop := e.prompt(session, "work"); stop != "end_turn" {
		t.Errorf("stopped with %s", stop)
	}
	file := filepath.Join(h.dir, "f")
	ids := e.calls(session)
	if len(ids) != 7 {
		t.Fatalf("%d calls: %s", len(ids), shown(e.of(session)))
	}
	for i, want := range []struct{ kind, status, place, content string }{
		{"read", "completed", file, "first"}, {"search", "completed", h.dir, "f:2:old"},
		{"edit", "completed", file, ""},
		{"execute", "failed", "", ""}, {"execute", "completed", "", ""}, {"execute", "completed", "", ""},
		{"execute", "failed", "", "3"}} {
		call := e.toolCall(session, ids[i])
		if at(call, "kind") != want.kind || at(call, "status") != want.status || want.place != "" &&
			at(call, "locations", "0", "path") != want.place ||
			!strings.Contains(at(call, "content"), want.content) || at(call, "title") == "" ||
			at(call, "rawInput") == "" {
			t.Errorf("call %d: %s, want %+v", i, shown(call), want)
		}
	}
	diff := at(e.toolCall(session, ids[2]), "content", "0")
	for _, want := range []string{`"type":"diff"`, `"path":"` + file + `"`, `old\n`, `new\n`} {
		if !strings.Contains(diff, want) {
			t.Errorf("the diff has no %s: %s", want, diff)
		}
	}
	// The edit, touch and mkdir (always) were asked about. The second mkdir was not, and exit
	// changes nothing.
	if len(e.asks) != 3 {
		t.Errorf("%d questions: %v", len(e.asks), e.asks)
	}
	always := ""
	for _, o := range e.asks[2].params["options"].([]any) {
		if at(o, "kind") == "allow_always" {
			always = at(o, "name")
		}
	}
	if !strings.Contains(always, "mkdir") {
		t.Errorf("the option to allow always is %q: it has to show what it allows", always)
	}
	if at(e.asks[1].params, "toolCall", "toolCallId") != ids[3] {
		t.Errorf("the question is about %s, want %s", shown(e.asks[1].params), ids[3])
	}
	for name, want := range map[string]bool{"one": false, "two": true, "three": true} {
		if _, err := os.Stat(filepath.Join(h.dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if told := lastResults(server.Requests()[4].Messages); !strings.Contains(told, "the user said no") {
		t.Errorf("the model reads of the rejection: %s", told)
	}
	e.end()
}

// A prompt is cancelled while a command runs, whose processes are gone then, and while a person is
// asked.
func TestN1_CancelByAnEditor(t *testing.T) {
	t.Parallel()
	sleep := newSleep(t)
	url, _ := serve(t, nil, say("", use("shell", object{"command": strings.ReplaceAll(stubborn, "$sleep", sleep),
		"timeout_ms": 500_000})), say("", use("shell", object{"command": "touch it"})), say("Done."))
	h := newHome(t, url)
	e := h.newEditor()
	e.initialize()
	session := e.open(h.dir)
	e.choose("allow_once")
	n := e.begin("session/prompt", prompt(session, "wait"))
	e.awaitOutput("begun")
	e.notify("session/cancel", object{"sessionId": session})
	if stop := at(e.reply(n).Result, "stopReason"); stop != "cancelled" {
		t.Errorf("stopped with %s", stop)
	}
	if left := running(t, sleep); len(left) > 0 {
		t.Errorf("left running: %q", left)
	}
	ids := e.calls(session)
	if status := at(e.toolCall(session, ids[0]), "status"); status != "failed" {
		t.Errorf("the cancelled call is %s", status)
	}

	asked := make(chan ask, 1)
	e.on("session/request_permission", func(a ask) { asked <- a })
	n = e.begin("session/prompt", prompt(session, "ask me"))
	question := <-asked
	e.notify("session/cancel", object{"sessionId": session})
	e.answer(question, object{"outcome": object{"outcome": "cancelled"}}, nil) // as the protocol wants it
	if stop := at(e.reply(n).Result, "stopReason"); stop != "cancelled" {
		t.Errorf("stopped with %s", stop)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "it")); err == nil {
		t.Error("the command has run")
	}
	e.choose("allow_once")
	if stop := e.prompt(session, "go on"); stop != "end_turn" {
		t.Errorf("stopped with %s", stop)
	}
	e.end()
}

// A prompt can also be cancelled as a request.
func TestN1_CancelRequest(t *testing.T) {
	t.Parallel()
	url, sleep := serveStubborn(t)
	h := newHome(t, url)
	e := h.newEditor("--yes")
	e.initialize()
	session := e.open(h.dir)
	n := e.begin("session/prompt", prompt(session, "wait"))
	e.awaitOutput("begun")
	e.send(object{"do": "cancel", "n": n})
	if r := e.reply(n); at(r.Result, "stopReason") != "cancelled" && (r.Error == nil || r.Error.Code != -32800) {
		t.Errorf("%+v", r)
	}
	if left := running(t, sleep); len(left) > 0 {
		t.Errorf("left running: %q", left)
	}
	if stop := e.prompt(session, "go on"); stop != "end_turn" {
		t.Errorf("stopped with %s", stop)
	}
	e.end()
}

// A session of attractor run goes on in an editor, which is shown its history, and then in
// attractor run again.
func TestN1_FromRunToAnEditorAndBack(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("One.", use("shell", object{"command": "echo first"})), say("Two."), say("Three."),
		say("Four."))
	h := newHome(t, url)
	h.run(0, "run", "--yes", "begin here")
	session := h.sessions()[0].ID
	e := h.newEditor()
	e.initialize()
	e.call("session/load", h.resume(session))
	history := strings.Join(e.history(session), "\n")
	for _, want := range []string{"user_message_chunk: begin here", "One.", "first", "Two."} {
		if !strings.Contains(history, want) {
			t.Errorf("the history lacks %q: %s", want, history)
		}
	}
	e.prompt(session, "go on there")
	e.end()
	if out := h.run(0, "run", "--yes", "--resume", session, "and back"); out.stdout != "Four.\n" {
		t.Errorf("%q", out.stdout)
	}
	last := string(server.Requests()[len(server.Requests())-1].Body)
	for _, want := range []string{"begin here", "go on there", "and back"} {
		if !strings.Contains(last, want) {
			t.Errorf("the last request lacks %q", want)
		}
	}
}

// history returns what a person sees of a session: the texts and the last state of each call.
func (e *scriptedEditor) history(session string) (list []string) {
	seen := map[string]bool{}
	for _, u := range e.of(session) {
		kind := at(u, "sessionUpdate")
		switch {
		case strings.HasSuffix(kind, "_chunk"):
			if n := len(list); n > 0 && strings.HasPrefix(list[n-1], kind+": ") {
				list[n-1] += at(u, "content", "text")
				continue
			}
			list = append(list, kind+": "+at(u, "content", "text"))
		case kind == "tool_call" && !seen[at(u, "toolCallId")]:
			seen[at(u, "toolCallId")] = true
			call := e.toolCall(session, at(u, "toolCallId"))
			list = append(list, strings.Join([]string{"call:", at(call, "kind"), at(call, "title"), at(call, "status"),
				at(call, "locations"), at(call, "content")}, " "))
		}
	}
	return list
}

// Another process lists a session, loads it with the history that was shown, resumes it without,
// closes and deletes it.
func TestN1_LoadResumeListCloseDelete(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, fakellm.Turn{Thinking: "Hm.", Text: "I look.",
		Calls: []fakellm.Call{use("shell", object{"command": "echo out; echo err >&2"})}},
		say("I write.", use("write_file", object{"file_path": "new", "content": "a\nb\n"})), say("Done."),
		say("And on."))
	h := newHome(t, url)
	e := h.newEditor("--yes")
	e.initialize()
	session := e.open(h.dir)
	e.prompt(session, "do it")
	was := e.history(session)
	if !slices.Contains(was, "agent_thought_chunk: Hm.") || len(was) != 6 {
		t.Errorf("shown: %q", was)
	}
	e.end()

	e = h.newEditor("--yes")
	e.initialize()
	list := e.call("session/list", object{})
	if at(list, "sessions", "0", "sessionId") != session || at(list, "sessions", "0", "cwd") != h.dir ||
		at(list, "sessions", "0", "title") != "do it" || at(list, "sessions", "1") != "" {
		t.Errorf("the list: %s", shown(list))
	}
	if other := e.call("session/list", object{"cwd": t.TempDir()}); at(other, "sessions") != "[]" {
		t.Errorf("the list of another directory: %s", shown(other))
	}
	e.call("session/load", h.resume(session))
	if got := e.history(session); !slices.Equal(got, append([]string{"user_message_chunk: do it"}, was...)) {
		t.Errorf("loaded:\n%q\nwant what was shown:\n%q", got, was)
	}
	if stop := e.prompt(session, "go on"); stop != "end_turn" || !strings.Contains(string(server.Requests()[3].Body),
		"do it") {
		t.Errorf("the loaded session does not go on: %s", stop)
	}
	e.call("session/close", object{"sessionId": session})
	e.refuses(-32002, "", "session/prompt", prompt(session, "x"))
	e.end()

	e = h.newEditor("--yes")
	e.initialize()
	e.call("session/resume", h.resume(session))
	if got := e.history(session); len(got) > 0 {
		t.Errorf("a resumed session shows %q", got)
	}
	e.prompt(session, "more")
	e.call("session/delete", object{"sessionId": session})
	if list := e.call("session/list", object{}); at(list, "sessions") != "[]" {
		t.Errorf("after the deletion: %s", shown(list))
	}
	e.refuses(-32002, "", "session/load", h.resume(session))
	e.end()
}

// A session that is open can be loaded again: with the directory that it has it stays, with another
// one it is opened anew.
func TestU12_LoadAgain(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("One."), say("Two."), say("Three."))
	h := newHome(t, url)
	e := h.newEditor("--yes")
	e.initialize()
	session := e.open(h.dir)
	e.prompt(session, "first")
	again := h.resume(session)
	e.call("session/load", again)
	if got := e.history(session); !slices.Equal(got, []string{"agent_message_chunk: One.", "user_message_chunk: first",
		"agent_message_chunk: One."}) {
		t.Errorf("shown: %q", got)
	}
	e.prompt(session, "second")
	again["cwd"] = filepath.Dir(h.dir)
	e.call("session/load", again)
	if got := strings.Join(e.history(session), "\n"); strings.Count(got, "user_message_chunk: first") != 2 ||
		strings.Count(got, "user_message_chunk: second") != 1 {
		t.Errorf("shown: %s", got)
	}
	e.call("session/resume", again)
	e.prompt(session, "third")
	if last := string(server.Requests()[2].Body); !strings.Contains(last, "first") ||
		!strings.Contains(last, "second") || !strings.Contains(last, "third") {
		t.Errorf("the last request: %s", last)
	}
	e.end()
}

// Two sessions run at once in one process, each with its own directory.
func TestN1_TwoSessions(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil,
		say("", use("shell", object{"command": "until [ -e ../go ]; do sleep 0.01; done; pwd > where"})), say("Done."))
	h := newHome(t, url)
	e := h.newEditor("--yes")
	e.initialize()
	var sessions []string
	var prompts []int
	for _, name := range []string{"a", "b"} {
		dir := filepath.Join(h.dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		session := e.open(dir)
		sessions, prompts = append(sessions, session), append(prompts, e.begin("session/prompt", prompt(session, "go")))
	}
	for _, session := range sessions {
		e.await("both calls", func() bool {
			return slices.ContainsFunc(e.updates, func(u object) bool {
				return u["sessionId"] == session && at(u, "update", "status") == "in_progress"
			})
		})
	}
	e.refuses(-32600, "already", "session/prompt", prompt(sessions[0], "me too"))
	h.file("go", "")
	for i, name := range []string{"a", "b"} {
		if stop := at(e.reply(prompts[i]).Result, "stopReason"); stop != "end_turn" {
			t.Errorf("%s: stopped with %s", name, stop)
		}
		if where, err := os.ReadFile(filepath.Join(h.dir, name,
			"where")); strings.TrimSpace(string(where)) != filepath.Join(h.dir, name) {
			t.Errorf("%s: %s, %v", name, where, err)
		}
	}
	e.end()
}

// When an editor is killed in the middle of a command, nothing is left running, and the session
// goes on by attractor run.
func TestN1_KilledEditor(t *testing.T) {
	t.Parallel()
	url, sleep := serveStubborn(t)
	h := newHome(t, url)
	e := h.newEditor("--yes")
	e.initialize()
	session := e.open(h.dir)
	e.begin("session/prompt", prompt(session, "wait"))
	e.awaitOutput("begun")
	if err := e.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-e.gone:
	case <-time.After(await.Limit):
		t.Fatal("the agent, or something that it has started, is still there")
	}
	if !await.Holds(func() bool { return len(running(t, sleep)) == 0 }) { // a process closes its files before it ends
		t.Errorf("left running: %q", running(t, sleep))
	}
	if out := h.run(0, "run", "--yes", "--resume", session, "go on"); out.stdout != "Back.\n" {
		t.Errorf("resumed: %q", out.stdout)
	}
}
