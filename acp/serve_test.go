package acp_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/attractor-go/attractor/acp"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// selected is the answer to a permission.
func selected(option string) any {
	return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": option}}
}

// A permission is answered once. What was not offered, closes the question or is no answer refuses
// the call; a second answer and a late one have no effect.
func TestN1_PermissionAnswers(t *testing.T) {
	for name, answer := range map[string]struct {
		respond func(e *editor, id string)
		allowed bool
	}{
		"yes": {func(e *editor, id string) { e.respond(id, selected("yes")) }, true},
		"yes, then no": {func(e *editor, id string) { e.respond(id, selected("yes")); e.respond(id, selected("no")) },
			true},
		"no, then yes": {func(e *editor, id string) { e.respond(id, selected("no")); e.respond(id, selected("yes")) },
			false},
		"unknown option": {func(e *editor, id string) { e.respond(id, selected("maybe")) }, false},
		"unknown outcome": {func(e *editor, id string) {
			e.respond(id, map[string]any{"outcome": map[string]any{"outcome": "sulks"}})
		}, false},
		"dismissed": {func(e *editor, id string) {
			e.respond(id, map[string]any{"outcome": map[string]any{"outcome": "cancelled"}})
		}, false},
		"wrong form": {func(e *editor, id string) { e.respond(id, 7) }, false},
		"no result":  {func(e *editor, id string) { e.send(`{"jsonrpc":"2.0","id":` + id + `}`) }, false},
		"error": {func(e *editor, id string) {
			e.send(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":"no window"}}`)
		}, false},
		"error that is none": {func(e *editor, id string) { e.send(`{"jsonrpc":"2.0","id":` + id + `,"error":"no"}`) },
			false},
		"not UTF-8": {func(e *editor,
			id string) {
			e.send(`{"jsonrpc":"2.0","id":` + id + `,"result":"` + "\xff" + `"}`)
		}, false},
		"not JSON": {func(e *editor,
			id string) {
			e.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"outcome":}}`)
		}, false},
		"too long": {func(e *editor, id string) {
			e.send(`{"jsonrpc":"2.0","id":` + id + `,"result":"` + strings.Repeat("x", 33<<20) + `"}`)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			write := llmtest.Calls(llmtest.Call("write_file", map[string]any{"file_path": "a", "content": "x"}))
			e := connect(t, newProgram(write, llmtest.Text("Done.")).agent())
			session := e.open(`{}`)
			e.onAsk = func(id, _ string, _ json.RawMessage) { answer.respond(e, id) }
			e.stops(e.response(e.request("session/prompt", prompt(session, "write"))), "end_turn")
			_, err := os.Stat(filepath.Join(e.dir, "a"))
			if allowed := err == nil; allowed != answer.allowed {
				t.Errorf("allowed: %v, want %v", allowed, answer.allowed)
			}
			e.end()
		})
	}
}

// A permission of a program without rules shows what the call would change.
func TestN1_PermissionShowsTheDiff(t *testing.T) {
	edit := llmtest.Calls(llmtest.Call("edit_file",
		map[string]any{"file_path": "a", "old_string": "two", "new_string": "2"}))
	e := connect(t, newProgram(edit, llmtest.Text("Done.")).agent())
	session := e.open(`{}`)
	if err := os.WriteFile(filepath.Join(e.dir, "a"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asks := 0
	e.onAsk = func(id, _ string, params json.RawMessage) {
		asks++
		if !strings.Contains(string(params), `"oldText":"one\ntwo\n","newText":"one\n2\n"`) {
			t.Errorf("%s", params)
		}
		e.respond(id, selected("no"))
	}
	e.stops(e.response(e.request("session/prompt", prompt(session, "edit"))), "end_turn")
	if asks != 1 {
		t.Errorf("%d asks", asks)
	}
	e.end()
}

// A permission that is answered after its prompt was cancelled has no effect on the next one.
func TestN1_LatePermission(t *testing.T) {
	write := func(name string) llmtest.Step {
		return llmtest.Calls(llmtest.Call("write_file", map[string]any{"file_path": name, "content": "x"}))
	}
	e := connect(t, newProgram(write("first"), write("second"), llmtest.Text("Done.")).agent())
	session := e.open(`{}`)
	var first string
	e.onAsk = func(id, _ string, _ json.RawMessage) {
		if first == "" {
			first = id
			e.sendJSON(map[string]any{"jsonrpc": "2.0", "method": "session/cancel",
				"params": map[string]any{"sessionId": session}})
			return
		}
		e.respond(first, selected("yes"))
		e.respond(id, selected("no"))
	}
	e.stops(e.response(e.request("session/prompt", prompt(session, "one"))), "cancelled")
	e.stops(e.response(e.request("session/prompt", prompt(session, "two"))), "end_turn")
	for _, name := range []string{"first", "second"} {
		if _, err := os.Stat(filepath.Join(e.dir, name)); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	e.end()
}

// An editor that does not read holds up its session, but the end comes all the same.
func TestN1_EditorThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := llmtest.Answer(llm.Text{Text: strings.Repeat("many words ", 100_000)})
		p := newProgram(long)
		e := connect(t, p.agent())
		session := e.open(`{}`)
		synctest.Wait() // what follows the opening would wait at a lock behind what is not read
		e.request("session/prompt", prompt(session, "talk"))
		synctest.Wait() // nothing moves
		began := time.Now()
		_ = e.in.Close() // never fails
		if err := <-e.over; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("the end took %v", took)
		}
		_ = e.gone.Close() // for the write that was left behind
	})
}

// An editor that sends what is wrong and never reads loses the connection.
func TestN1_DeafEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := connect(t, newProgram().agent())
		go func() {
			for {
				if _, err := io.WriteString(e.in, "nonsense\n"); err != nil {
					return
				}
			}
		}()
		if err := <-e.over; err == nil || !strings.Contains(err.Error(), "reads none") {
			t.Errorf("Serve returned %v", err)
		}
		_ = e.gone.Close() // for what was left behind; never fails
		_ = e.read.Close()
	})
}

// A prompt can be cancelled while the editor does not read.
func TestN1_CancelUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := connect(t, newProgram(llmtest.Answer(llm.Text{Text: strings.Repeat("many words ", 100_000)})).agent())
		session := e.open(`{}`)
		synctest.Wait() // as above
		id := e.request("session/prompt", prompt(session, "talk"))
		synctest.Wait() // nothing moves
		e.sendJSON(map[string]any{"jsonrpc": "2.0", "method": "session/cancel",
			"params": map[string]any{"sessionId": session}})
		synctest.Wait()
		e.stops(e.response(id), "cancelled")
		e.end()
	})
}

// An output that is closed ends everything.
func TestN1_ClosedOutput(t *testing.T) {
	e := connect(t, newProgram(llmtest.Hang()).agent())
	session := e.open(`{}`)
	_ = e.gone.Close() // never fails
	e.request("session/prompt", prompt(session, "wait"))
	if err := <-e.over; err == nil {
		t.Error("Serve returned no error")
	}
}

// The end of Serve's context ends everything in order: the prompt that runs is answered.
func TestN1_ContextEnds(t *testing.T) {
	started := make(chan struct{})
	p := newProgram(llmtest.Gate(started, make(chan struct{}), llmtest.Text("never")))
	ctx, stop := context.WithCancel(t.Context())
	e := connectWith(ctx, t, p.agent())
	session := e.open(`{}`)
	id := e.request("session/prompt", prompt(session, "wait"))
	<-started
	stop()
	e.stops(e.response(id), "cancelled")
	if err := <-e.over; err != nil {
		t.Errorf("Serve returned %v", err)
	}
}

// A request can be cancelled by its id, and a prompt by that of its request.
func TestN1_CancelRequest(t *testing.T) {
	started := make(chan struct{})
	e := connect(t, newProgram(llmtest.Gate(started, make(chan struct{}), llmtest.Text("never")),
		llmtest.Text("Done.")).agent())
	session := e.open(`{}`)
	id := e.request("session/prompt", prompt(session, "wait"))
	<-started
	e.sendJSON(map[string]any{"jsonrpc": "2.0", "method": "$/cancel_request",
		"params": map[string]any{"requestId": json.RawMessage(id)}})
	e.stops(e.response(id), "cancelled")
	e.stops(e.response(e.request("session/prompt", prompt(session, "go on"))), "end_turn")
	e.end()
}

// A model that fails gives the prompt an error, and the next prompt goes on.
func TestN1_ModelFails(t *testing.T) {
	p := newProgram(llmtest.Error(&llm.Error{Kind: llm.ErrAuthentication, Message: "bad key", Status: 401}),
		llmtest.Error(&llm.Error{Kind: llm.ErrAuthentication, Message: "no credentials: log in"}),
		llmtest.Error(&llm.Error{Kind: llm.ErrInvalidRequest, Message: "no such thing"}),
		llmtest.Text("Done."))
	p.more = func(o *agent.Options) { o.Retry.Max = -1 }
	e := connect(t, p.agent())
	session := e.open(`{}`)
	for _, key := range []bool{true, false} { // of the second error no server knows
		if m := e.response(e.request("session/prompt", prompt(session, "one"))); m.Error == nil ||
			m.Error.Code != -32000 || strings.Contains(m.Error.Message, "API key") != key {
			t.Errorf("%v, want one that is about the API key: %v", m.Error, key)
		}
	}
	if m := e.response(e.request("session/prompt", prompt(session, "two"))); m.Error == nil || m.Error.Code != -32603 ||
		!strings.Contains(m.Error.Message, "no such thing") {
		t.Error(m.Error)
	}
	e.stops(e.response(e.request("session/prompt", prompt(session, "three"))), "end_turn")
	e.end()
}

// A session that is being opened when the connection ends is given up.
func TestN1_EndWhileOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := connect(t, &acp.Agent{Name: "a", Version: "1", Open: func(ctx context.Context,
			_ acp.Opening) (*acp.Session, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}})
		e.call("initialize", map[string]any{"protocolVersion": 1})
		e.request("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}})
		synctest.Wait()
		began := time.Now()
		if e.end(); time.Since(began) > 0 { // the bubble's clock
			t.Errorf("the end took %v", time.Since(began))
		}
	})
}

// A host can tell of changed options while its session is being opened.
func TestN1_ChangedWhileOpening(t *testing.T) {
	p, told := newProgram(), make(chan struct{})
	a := p.agent()
	a.Open = func(ctx context.Context, o acp.Opening) (*acp.Session, error) {
		s, err := p.open(ctx, o)
		if err != nil {
			return nil, err
		}
		s.Options = func() []acp.Option { return nil }
		go func() {
			defer close(told)
			for range 1000 {
				o.Client.Changed()
			}
		}()
		return s, nil
	}
	e := connect(t, a)
	e.open("{}")
	<-told
	e.end()
}

// What a prompt shows comes before its response, also if the editor prompts before the host is
// through with the opening.
func TestN1_PromptRightAfterOpening(t *testing.T) {
	p, over := newProgram(llmtest.Text("Here.")), make(chan struct{})
	a := p.agent()
	a.Open = func(ctx context.Context, o acp.Opening) (*acp.Session, error) {
		s, err := p.open(ctx, o)
		if err != nil {
			return nil, err
		}
		asked := 0
		s.Options = func() []acp.Option {
			if asked++; asked == 2 { // for the response, and then when it has been sent
				<-over
			}
			return nil
		}
		return s, nil
	}
	e := connect(t, a)
	session := e.open(`{}`)
	e.stops(e.response(e.request("session/prompt", prompt(session, "hello"))), "end_turn")
	if said, err := json.Marshal(e.shown("agent_message_chunk")); err != nil || !strings.Contains(string(said),
		"Here.") {
		t.Errorf("%s, %v", said, err)
	}
	close(over)
	e.end()
}

// The model's questions are forms where the editor has these. Otherwise the prompt ends with the
// question, and the next one answers it.
func TestN1_Questions(t *testing.T) {
	ask := llmtest.Calls(llmtest.Call("ask_user",
		map[string]any{"question": "Red or blue?", "options": []string{"red", "blue"}}))
	told := func(t *testing.T, p *program, want string) {
		t.Helper()
		requests := p.model.Requests()
		last := requests[len(requests)-1].Messages
		if encoded, err := json.Marshal(last); err != nil || !strings.Contains(string(encoded), want) {
			t.Errorf("the model was not told %q: %s, %v", want, encoded, err)
		}
	}
	t.Run("text", func(t *testing.T) {
		p := newProgram(ask, llmtest.Text("Done."))
		e := connect(t, p.agent())
		session := e.open(`{}`)
		e.stops(e.response(e.request("session/prompt", prompt(session, "paint"))), "end_turn")
		if said, err := json.Marshal(e.shown("agent_message_chunk")); err != nil || !strings.Contains(string(said),
			"Red or blue?") || !strings.Contains(string(said), "2. blue") {
			t.Errorf("%s, %v", said, err)
		}
		e.stops(e.response(e.request("session/prompt", prompt(session, "green, please"))), "end_turn")
		told(t, p, "green, please")
		e.end()
	})
	for name, answer := range map[string]struct{ response, told string }{
		"choice":  {`{"action":"accept","content":{"choice":"blue"}}`, "blue"},
		"answer":  {`{"action":"accept","content":{"answer":"violet"}}`, "violet"},
		"decline": {`{"action":"decline"}`, "declined"},
		"cancel":  {`{"action":"cancel"}`, "cancel"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProgram(ask, llmtest.Text("Done."))
			e := connect(t, p.agent())
			session := e.open(`{"elicitation":{"form":{}}}`)
			asked := ""
			e.onAsk = func(id, method string, params json.RawMessage) {
				asked = method + string(params)
				e.respond(id, json.RawMessage(answer.response))
			}
			e.stops(e.response(e.request("session/prompt", prompt(session, "paint"))), "end_turn")
			if !strings.HasPrefix(asked, "elicitation/create") || !strings.Contains(asked, `"enum":["red","blue"]`) {
				t.Error(asked)
			}
			told(t, p, answer.told)
			e.end()
		})
	}
}

// An option that looks like another one is shown with escapes, and the model is told the option.
func TestU20_OptionsOfForms(t *testing.T) {
	p := newProgram(
		llmtest.Calls(llmtest.Call("ask_user",
			map[string]any{"question": "Which?", "options": []string{"x", "x\u2800"}})),
		llmtest.Text("Done."),
	)
	e := connect(t, p.agent())
	session := e.open(`{"elicitation":{"form":{}}}`)
	e.onAsk = func(id, _ string, params json.RawMessage) {
		if !strings.Contains(string(params), `"enum":["x","x\\u{2800}"]`) {
			t.Errorf("%s", params)
		}
		e.respond(id, json.RawMessage(`{"action":"accept","content":{"choice":"x\\u{2800}"}}`))
	}
	e.stops(e.response(e.request("session/prompt", prompt(session, "ask"))), "end_turn")
	requests := p.model.Requests()
	messages := requests[len(requests)-1].Messages
	if told, err := json.Marshal(messages[len(messages)-1]); err != nil || !strings.Contains(string(told), "x\u2800") {
		t.Errorf("the model was told %s, %v", told, err)
	}
	e.end()
}

// There is a limit to the requests that run at a time, and to the sessions that are open.
func TestN1_ManyRequests(t *testing.T) {
	steps := make([]llmtest.Step, 64)
	for i := range steps {
		steps[i] = llmtest.Hang()
	}
	e := connect(t, newProgram(steps...).agent())
	sessions := []string{e.open(`{}`)}
	for range 63 {
		var s struct{ SessionID string }
		if err := json.Unmarshal(e.call("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}}),
			&s); err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, s.SessionID)
	}
	if m := e.response(e.request("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}})); m.Error == nil ||
		!strings.Contains(m.Error.Message, "close one") {
		t.Error(m.Error)
	}
	var prompts []string
	for _, s := range sessions {
		prompts = append(prompts, e.request("session/prompt", prompt(s, "wait")))
	}
	if m := e.response(e.request("session/close", map[string]any{"sessionId": sessions[0]})); m.Error == nil ||
		!strings.Contains(m.Error.Message, "wait for one") {
		t.Error(m.Error)
	}
	for _, s := range sessions {
		e.sendJSON(map[string]any{"jsonrpc": "2.0", "method": "session/cancel",
			"params": map[string]any{"sessionId": s}})
	}
	for _, id := range prompts {
		e.stops(e.response(id), "cancelled")
	}
	e.end()
}

// What cannot be read is answered in UTF-8 and with a text of bounded length, and a response that
// cannot be read is not answered at all: its id may be that of a request of the editor.
func TestN1_UnreadableMessages(t *testing.T) {
	e := connect(t, newProgram().agent())
	e.open(`{}`)
	e.send(`{"jsonrpc":"2.0","id":1,"error":"no"}`)
	e.send(`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 33<<20) + `"}`)
	for _, line := range []string{`{"jsonrpc":"2.0","id":"` + "\xff" + `","method":"session/list","params":{}}`,
		`{"jsonrpc":"2.0","id":9,"method":"session/close","params":{"sessionId":"` + "\xff" + `"}}`,
		`{"jsonrpc":"2.0","id":10,"method":"session/close","params":{"sessionId":` + strings.Repeat("1",
			100_000) + `}}`} {
		e.send(line)
		answer, err := e.out.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(answer) || len(answer) > 5<<10 || !strings.Contains(string(answer), `"error"`) ||
			strings.Contains(string(answer), `"id":1,`) {
			t.Errorf("%.60q is answered with %d bytes: %.100q", line, len(answer), answer)
		}
	}
	e.end()
}
