package protocol_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// paged is a conversation without a program at standard input, which a page steers.
type paged struct {
	*testing.T
	dir     string
	page    *protocol.Page
	asks    *protocol.Asks
	setup   *attractor.Setup
	session *agent.Session
	talk    *protocol.Conversation
	held    chan func() // gets a request that waits, to answer it
}

// newPaged opens a session with a scripted model. Its requests wait for the test if hold says so.
func newPaged(t *testing.T, hold bool, turns ...fakellm.Turn) *paged {
	t.Helper()
	p := &paged{T: t, dir: t.TempDir(), held: make(chan func(), 9)}
	script, ended := fakellm.Script(turns...), make(chan struct{})
	server := httptest.NewServer(fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		if hold {
			gate := make(chan struct{})
			p.held <- func() { close(gate) }
			select {
			case <-gate:
			case <-ended:
			}
		}
		return script(r)
	}, fakellm.Options{}))
	t.Cleanup(func() { close(ended); server.Close() })
	vars := map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.URL}
	p.asks = protocol.NewAsks(func(ev attractor.Event) { p.setup.Tell(ev) }, nil)
	setup, err := attractor.Prepare(t.Context(), attractor.Config{Store: journal.NewDir(t.TempDir()), Dir: p.dir,
		Checkpoints: t.TempDir(), Mode: permit.ModeAsk, Vars: vars, Ask: p.asks.Approve, Interactive: true})
	if err != nil {
		t.Fatal(err)
	}
	p.setup = setup
	setup.Options.Questions = &agent.Questions{Answer: p.asks.Question}
	setup.Options.OnEvent, setup.OnOwnEvent = func(agent.Event) {}, func(attractor.Event) {}
	p.talk = protocol.New(setup, p.asks, nil)
	p.page = protocol.NewPage(setup)
	p.page.Serve(p.talk.Do)
	if p.session, err = setup.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// run works on a prompt, and closes the session. The result comes when all of that is done.
func (p *paged) run(prompt string) <-chan *agent.Result { return p.runWith(nil, prompt) }

// runWith is run beside the lines of a program.
func (p *paged) runWith(in io.Reader, prompt string) <-chan *agent.Result {
	done := make(chan *agent.Result, 1)
	go func() {
		result, err := p.talk.Run(context.Background(), p.session, in, prompt)
		if err := errors.Join(err, p.session.Close(), p.setup.Close()); err != nil {
			p.Error(err)
		}
		done <- result
	}()
	return done
}

// got is an event as a page gets it.
type got struct {
	Kind, Text, Ask, Name, How, Mode string
	CallID                           string `json:"call_id"`
	Running                          bool
	Asks                             []got
	Calls                            []struct{ Name, Output string }
	Models                           []struct{ Provider, Model string }
	Arguments                        json.RawMessage
}

// reader reads the live events of a page.
type reader struct {
	*testing.T
	next func() (json.RawMessage, bool)
}

func (p *paged) reader() *reader {
	next, stop := iter.Pull(p.page.Live(p.Context()))
	p.Cleanup(stop)
	return &reader{p.T, next}
}

// until returns the next event of a kind. A reader that was behind gets an ask in a LIVE.
func (r *reader) until(kind string) got {
	r.Helper()
	for {
		text, ok := r.next()
		if !ok {
			r.Fatalf("the events have ended before %s", kind)
		}
		var ev got
		if err := json.Unmarshal(text, &ev); err != nil {
			r.Fatalf("%s: %v", text, err)
		}
		if ev.Kind == kind {
			return ev
		}
		if kind == "APPROVAL_REQUESTED" && len(ev.Asks) > 0 {
			return ev.Asks[0]
		}
	}
}

// do sends a line and checks its error, which is empty if there must be none.
func (p *paged) do(line, problem string) map[string]any {
	p.Helper()
	var reply map[string]any
	if err := json.Unmarshal(p.page.Do(p.Context(), []byte(line)), &reply); err != nil {
		p.Fatal(err)
	}
	text, _ := reply["error"].(string)
	if reply["ok"] != (problem == "") || !strings.Contains(text, problem) {
		p.Errorf("%s: the reply is %v, want the error %q", line, reply, problem)
	}
	return reply
}

// call returns a turn that writes a file.
func call(name string) fakellm.Turn {
	return fakellm.Turn{Calls: []fakellm.Call{{Name: "write_file",
		Args: []byte(`{"file_path":"` + name + `","content":"x\n"}`)}}}
}

// A page that opens in the middle of a session gets what is open, and then the changes. It steers,
// approves, changes the mode and the queue, and its second answers are refused. The session ends
// with the work, whatever the page does.
func TestN5_PageSteers(t *testing.T) {
	p := newPaged(t, true, call("a.txt"), fakellm.Turn{Text: "First."}, fakellm.Turn{Text: "Second."})
	done := p.run("go")
	answer := <-p.held
	r := p.reader()
	if live := r.until("LIVE"); !live.Running || len(live.Asks) != 0 || live.Mode != "ask" || len(live.Models) == 0 {
		t.Errorf("%+v", live)
	}
	p.do(`{"type":"steer","text":"mind the gap"}`, "")
	if reply := p.do(`{"type":"user","text":"and then"}`, ""); reply["queued"] != true {
		t.Errorf("%v", reply)
	}
	answer()
	ask := r.until("APPROVAL_REQUESTED")
	late := p.reader()
	if live := late.until("LIVE"); len(live.Asks) != 1 || live.Asks[0].Ask != ask.Ask ||
		!strings.Contains(string(live.Asks[0].Arguments), "a.txt") {
		t.Errorf("%+v", live)
	}
	if status := p.do(`{"type":"status"}`, "")["status"].(map[string]any); len(status["asks"].([]any)) != 1 ||
		status["state"] != "PROCESSING" {
		t.Errorf("%v", status)
	}
	p.do(`{"type":"approve","ask":"`+ask.Ask+`","decision":"perhaps"}`, "allow or deny")
	p.do(`{"type":"approve","ask":"`+ask.Ask+`","decision":"allow"}`, "")
	p.do(`{"type":"approve","ask":"`+ask.Ask+`","decision":"deny"}`, "answered already")
	if end := late.until("ASK_ENDED"); end.Ask != ask.Ask || end.How != "answered" {
		t.Errorf("%+v", end)
	}
	p.do(`{"type":"set","mode":"accept-edits"}`, "")
	if ev := late.until("MODE_CHANGED"); ev.Mode != "accept-edits" {
		t.Errorf("%+v", ev)
	}
	(<-p.held)()
	(<-p.held)()
	if result := <-done; result == nil || result.Text != "Second." {
		t.Errorf("%+v", result)
	}
	late.until("SESSION_END")
	if _, more := late.next(); more {
		t.Error("there are events after the end")
	}
	p.do(`{"type":"user","text":"more"}`, "the session has ended")
	if _, err := os.Stat(p.dir + "/a.txt"); err != nil {
		t.Error(err)
	}
}

// An interrupt from a page ends the input, also while an ask waits, which ends as cancelled.
func TestN5_PageInterrupts(t *testing.T) {
	p := newPaged(t, false, call("a.txt"))
	done, r := p.run("go"), p.reader()
	ask := r.until("APPROVAL_REQUESTED")
	p.do(`{"type":"interrupt"}`, "")
	if result := <-done; result.Reason != agent.ReasonInterrupted {
		t.Errorf("%+v", result)
	}
	if end := r.until("ASK_ENDED"); end.Ask != ask.Ask || end.How != "cancelled" {
		t.Errorf("%+v", end)
	}
}

// A page knows that an interrupted input is continued, whether it watches or opens then.
func TestN5_PageSeesContinuedInput(t *testing.T) {
	p := newPaged(t, true, fakellm.Turn{Text: "First."}, fakellm.Turn{Text: "Second."})
	r := p.reader()
	r.until("LIVE") // from here on it gets every event
	interrupted := make(chan error)
	go func() {
		_, err := p.session.Submit(context.Background(), "go")
		interrupted <- err
	}()
	<-p.held
	p.session.Interrupt()
	if err := <-interrupted; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r.until("PROCESSING_END")
	done := p.run("") // continues it
	answer := <-p.held
	r.until("USER_INPUT")
	if live := p.reader().until("LIVE"); !live.Running {
		t.Errorf("for a page that opens now nothing runs: %+v", live)
	}
	answer()
	if result := <-done; result == nil || result.Reason != agent.ReasonCompleted {
		t.Errorf("%+v", result)
	}
}

// A page that does not read holds up nothing. When it reads again, it gets what is open instead of
// all that it has missed.
func TestN5_SlowPage(t *testing.T) {
	long := strings.Repeat("word ", 400_000)
	p := newPaged(t, false, fakellm.Turn{Text: long, Calls: call("a.txt").Calls}, fakellm.Turn{Text: "Done."})
	slow, quick := p.reader(), p.reader()
	slow.until("LIVE")
	done := p.run("go")
	ask := quick.until("APPROVAL_REQUESTED")
	live := slow.until("LIVE")
	for len(live.Asks) == 0 { // the first may still be from before the call
		live = slow.until("LIVE")
	}
	if live.Asks[0].Ask != ask.Ask || len(live.Text) > 1<<18 {
		t.Errorf("%d asks, %d bytes of text", len(live.Asks), len(live.Text))
	}
	p.do(`{"type":"approve","ask":"`+ask.Ask+`","decision":"deny","reason":"No."}`, "")
	slow.until("ASK_ENDED")
	if result := <-done; result.Text != "Done." {
		t.Errorf("%+v", result)
	}
}

// Bad lines have replies that say what is wrong.
func TestN5_BadLines(t *testing.T) {
	p := newPaged(t, true, fakellm.Turn{Text: "Done."})
	done := p.run("go")
	answer := <-p.held
	for line, problem := range map[string]string{
		"":                               "not JSON",
		"[]":                             "no object",
		`{"type":"shout"}`:               `there is no type "shout"`,
		`{"type":"approve","ask":"x-1"}`: "allow or deny",
		`{"type":"answer","ask":"x-1","text":"y"}`: "there is no ask",
		`{"type":"set","mode":"god"}`:              "there is no mode",
		`{"type":"continue"}`:                      "running already",
	} {
		p.do(line, problem)
	}
	answer()
	<-done
}

// An undo that a page has confirmed is carried out, although the page goes away meanwhile.
func TestO4_UndoOutlivesThePage(t *testing.T) {
	p := newPaged(t, false, call("a.txt"), fakellm.Turn{Text: "Done."})
	in, program := io.Pipe()
	done, r := p.runWith(in, "go"), p.reader()
	p.do(`{"type":"approve","ask":"`+r.until("APPROVAL_REQUESTED").Ask+`","decision":"allow"}`, "")
	r.until("PROCESSING_END")
	plan, _ := p.do(`{"type":"undo"}`, "")["plan"].(string)
	gone, leave := context.WithCancel(t.Context())
	leave()
	reply := "has not begun" // which may be said to a page that has gone
	for strings.Contains(reply, "has not begun") {
		reply = string(p.page.Do(gone, []byte(`{"type":"undo","plan":"`+plan+`"}`)))
	}
	if _, err := os.Stat(p.dir + "/a.txt"); err == nil || !strings.Contains(reply, `"ok":true`) {
		t.Fatalf("a.txt is still there: %v, %s", err == nil, reply)
	}
	if ev := r.until("UNDONE"); !strings.Contains(ev.Text, "Taken back: 1 path") {
		t.Errorf("%+v", ev)
	}
	if err := program.Close(); err != nil {
		t.Error(err)
	}
	<-done
}
