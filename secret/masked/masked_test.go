package masked_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/secret/masked"
	"github.com/attractor-go/attractor/tool"
)

const key = "canary-host-secret-7f3a9c"

// masker returns a masker that knows the key.
func masker(t testing.TB) *secret.Masker {
	t.Helper()
	m := secret.New()
	if err := m.Register("CANARY", key); err != nil {
		t.Fatal(err)
	}
	return m
}

// ends returns the events that end calls, in order.
func (w *world) ends() (ends []*agent.ToolCallEnd) {
	for _, ev := range w.events {
		if end, ok := ev.(*agent.ToolCallEnd); ok {
			ends = append(ends, end)
		}
	}
	return ends
}

// A file tool does not write a placeholder over a secret, and says how to go on.
func TestL7_PlaceholdersAreNotWritten(t *testing.T) {
	w := newWorld(t, masker(t),
		llmtest.Calls(llmtest.Call("read_file", map[string]any{"file_path": ".env"})),
		llmtest.Calls(llmtest.Call("write_file",
			map[string]any{"file_path": ".env", "content": "TOKEN=[secret CANARY]\nMORE=1\n"})),
		llmtest.Calls(llmtest.Call("edit_file",
			map[string]any{"file_path": ".env", "old_string": "TOKEN=[secret CANARY]", "new_string": "TOKEN="})),
		llmtest.Calls(llmtest.Call("apply_patch",
			map[string]any{"patch": "*** Begin Patch\n*** Update File: .env\n@@\n TOKEN=[secret CANARY]\n+MORE=1\n" +
				"*** End Patch"})),
		llmtest.Calls(llm.ToolCall{ID: "escaped", Name: "write_file",
			Args: `{"file_path":".env","content":"TOKEN=\u005bsecret CANARY]"}`}),
		llmtest.Calls(llmtest.Call("write_file",
			map[string]any{"file_path": "other", "content": "[secret UNKNOWN]\n"})),
		llmtest.Calls(llmtest.Call("edit_file", map[string]any{"file_path": ".env", "old_string": "MODE=a",
			"new_string": "MODE=b"})),
		llmtest.Text("done"))
	w.write(".env", "TOKEN="+key+"\nMODE=a\n")
	if _, err := w.run("go"); err != nil {
		t.Fatal(err)
	}
	for i, refused := range []bool{false, true, true, true, true, false, false} {
		end := w.ends()[i]
		if end.IsError != refused || refused != strings.Contains(end.Output, "sed") {
			t.Errorf("call %d: error %v: %s", i, end.IsError, end.Output)
		}
	}
	text, err := os.ReadFile(filepath.Join(w.dir, ".env"))
	if err != nil || string(text) != "TOKEN="+key+"\nMODE=b\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
}

// A command does not get a placeholder instead of a secret, neither in its script nor as its input.
// What only describes a call, such as the task of a subagent, may have one.
func TestU20_PlaceholdersAreNotRun(t *testing.T) {
	w := newWorld(t, masker(t),
		llmtest.Calls(llmtest.Call("read_file", map[string]any{"file_path": ".env"})),
		llmtest.Calls(llmtest.Call("shell", map[string]any{"command": "echo 'TOKEN=[secret CANARY]' > .env"})),
		llmtest.Calls(llm.ToolCall{ID: "escaped", Name: "shell",
			Args: `{"command":"echo \u005bsecret CANARY] > .env"}`}),
		llmtest.Calls(llmtest.Call("shell", map[string]any{"command": "echo [secret CANARY] > .env",
			"run_in_background": true})),
		llmtest.Calls(llmtest.Call("shell", map[string]any{"command": "echo '[secret UNKNOWN]' > other; cat .env"})),
		llmtest.Calls(llmtest.Call("shell", map[string]any{"command": "cat > .env", "run_in_background": true})),
		llmtest.Calls(llmtest.Call("process",
			map[string]any{"id": "7", "action": "write", "input": "[secret CANARY]\n"})),
		llmtest.Text("done"))
	w.write(".env", "TOKEN="+key+"\n")
	if _, err := w.run("go"); err != nil {
		t.Fatal(err)
	}
	for i, refused := range []bool{false, true, true, true, false, false, true} {
		end := w.ends()[i]
		if end.IsError != refused || refused != strings.Contains(end.Output, "nothing was run: [secret CANARY]") {
			t.Errorf("call %d: error %v: %s", i, end.IsError, end.Output)
		}
	}
	ran := false
	describes := masked.Tools(w.masker)(func(context.Context, *tool.Call) (tool.Result,
		error) {
		ran = true
		return tool.Result{}, nil
	})
	call := &tool.Call{Args: `{"task":"look at [secret CANARY]"}`, Access: tool.Access{Effect: tool.Writes,
		Command: "Agent: look at [secret CANARY]"}}
	if _, err := describes(t.Context(), call); err != nil || !ran {
		t.Errorf("the task of a subagent: %v", err)
	}
}

// What a person types is masked, and the model is told.
func TestL7_InputsAreMasked(t *testing.T) {
	w := newWorld(t, masker(t), llmtest.Text("ok"))
	if _, err := w.run("use " + key); err != nil {
		t.Fatal(err)
	}
	sent := w.sink("requests")
	if !strings.Contains(sent, "use [secret CANARY]") || !strings.Contains(sent, "were replaced by placeholders") ||
		strings.Contains(sent, key) {
		t.Errorf("the request is %s", sent)
	}
	var o agent.Options
	o.BeforeInput = func(_ context.Context, msg agent.Message) (agent.Message, error) {
		msg.Context = "from the hook: " + msg.Text + " " + key
		return msg, nil
	}
	masked.Doors(masker(t), &o)
	msg, err := o.BeforeInput(t.Context(), agent.Message{Text: "plain"})
	if err != nil || msg.Text != "plain" || msg.Context != "from the hook: plain [secret CANARY]" {
		t.Errorf("%+v, %v", msg, err)
	}
}

// The answer of the model stays in the history as it was sent. Only those who watch get a masked
// one.
func TestL7_AnswersStay(t *testing.T) {
	w := newWorld(t, masker(t), llmtest.Text("the value is canary-host-secret-7f3a9c in can\n"))
	result, err := w.run("go")
	if err != nil || !strings.Contains(result.Text, key) {
		t.Fatalf("%+v, %v", result, err)
	}
	var deltas, whole string
	for _, ev := range w.events {
		switch ev := ev.(type) {
		case *agent.AssistantTextDelta:
			deltas += ev.Text
		case *agent.AssistantTextEnd:
			whole = ev.Text
			if deltas != whole {
				t.Errorf("before its end the text is %q, at its end %q", deltas, whole)
			}
		}
	}
	if want := "the value is [secret CANARY] in can\n"; whole != want {
		t.Errorf("the events have %q, want %q", whole, want)
	}
	if !strings.Contains(w.sink("journal"), key) {
		t.Error("the journal has another answer than the model gave")
	}
}

// A background command prints a secret in two pieces, which are read by two calls.
func TestL7_BackgroundOutput(t *testing.T) {
	w := newWorld(t, masker(t),
		llmtest.Calls(llmtest.Call("shell",
			map[string]any{"command": "printf 'key: canary-host-'; read x; echo secret-7f3a9c; printf 'the end of can'",
				"run_in_background": true})),
		llmtest.Calls(llmtest.Call("process", map[string]any{"id": "2", "action": "write", "input": "go\n"})),
		llmtest.Calls(llmtest.Call("process", map[string]any{"id": "2", "action": "read", "wait_ms": 10_000})),
		llmtest.Text("done"))
	if _, err := w.run("go"); err != nil {
		t.Fatal(err)
	}
	var all string
	for _, end := range w.ends() {
		all += end.Output
	}
	if strings.Contains(all, "canary-host") || !strings.Contains(all, "[secret CANARY]") ||
		!strings.Contains(all, "the end of can") {
		t.Errorf("the calls return %q", all)
	}
}

// Events of subagents are masked, each text by itself.
func TestL7_SubagentEvents(t *testing.T) {
	var got []agent.Event
	show := masked.Events(masker(t), func(ev agent.Event) { got = append(got, ev) })
	wrap := func(session string, ev agent.Event) agent.Event {
		*ev.Head() = agent.EventHeader{Kind: agent.KindAssistantTextDelta, SessionID: session, Seq: 1}
		return &agent.SubagentEvent{AgentID: session, Event: ev}
	}
	first := &agent.AssistantTextDelta{Text: "x canary-host"}
	for _, ev := range []agent.Event{wrap("a", first), wrap("b", &agent.AssistantTextDelta{Text: "-secret-7f3a9c "}),
		wrap("a", &agent.AssistantTextDelta{Text: "-secret-7f3a9c c"}),
		wrap("a", &agent.AssistantTextEnd{Text: "x " + key + " c"})} {
		show(ev)
	}
	var texts []string
	for _, ev := range got {
		text, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		var outer struct{ Event struct{ Text string } }
		if err := json.Unmarshal(text, &outer); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, outer.Event.Text)
	}
	if got, want := strings.Join(texts, "|"), "x |-secret-7f3a9c |[secret CANARY] |c|x [secret CANARY] c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if first.Text != "x canary-host" {
		t.Error("an event was changed that others read")
	}
	if masked.Events(masker(t), nil) != nil {
		t.Error("nobody is shown events")
	}
}

// What may be a part of a secret beside a gap goes into the gap.
func TestL7_Gap(t *testing.T) {
	middleware := masked.Tools(masker(t))
	head, tail := "first "+key+" then canary-host", "-secret-7f3a9c\nlast "+key
	result, err := middleware(func(context.Context, *tool.Call) (tool.Result, error) {
		r := tool.Text(head + tail)
		r.Gap = tool.Gap{At: len(head), Bytes: 100, Chars: 100, Lines: 5}
		r.Ran = &tool.Ran{Omitted: 100, Err: "no " + key}
		return r, nil
	})(t.Context(), &tool.Call{Env: envtest.NewMemory(nil)})
	if err != nil {
		t.Fatal(err)
	}
	shown := "first [secret CANARY] then "
	lost := int64(len("canary-host" + "-secret-7f3a9c\n"))
	if result.Content.Text() != shown+"last [secret CANARY]" ||
		result.Gap != (tool.Gap{At: len(shown), Bytes: 100 + lost, Chars: 100 + lost, Lines: 6}) ||
		result.Ran.Omitted != 100+lost || result.Ran.Err != "no [secret CANARY]" {
		t.Errorf("%q, %+v, %+v", result.Content.Text(), result.Gap, result.Ran)
	}
}

// What was held back of a subagent's text is shown before the event that ends the text, also if
// that event has no secret.
func TestL7_SubagentsKeepTheirRests(t *testing.T) {
	var shown string
	show := masked.Events(masker(t), func(ev agent.Event) {
		switch inner := ev.(*agent.SubagentEvent).Event.(type) {
		case *agent.ToolCallOutputDelta:
			shown += inner.Text
		case *agent.ToolCallEnd:
			shown += "|" + inner.Output
		}
	})
	header := agent.EventHeader{SessionID: "child"}
	for _, inner := range []agent.Event{
		&agent.ToolCallOutputDelta{EventHeader: header, CallID: "1", Text: "a can"},
		&agent.ToolCallEnd{EventHeader: header, CallID: "1", Output: "a can"},
	} {
		show(&agent.SubagentEvent{AgentID: "child", Event: inner})
	}
	if shown != "a can|a can" {
		t.Errorf("shown is %q", shown)
	}
}

// What is held back of a text becomes an event with a number of its own, also in a subagent and
// between other events. The numbers are those of the session again as soon as there is a free one.
func TestL7_NumbersOfRests(t *testing.T) {
	var got []agent.Event
	show := masked.Events(masker(t), func(ev agent.Event) { got = append(got, ev) })
	seq := map[string]int64{}
	header := func(session string, kind agent.Kind) agent.EventHeader {
		seq[session]++
		return agent.EventHeader{Kind: kind, SessionID: session, Seq: seq[session]}
	}
	output := func(session, call, text string) agent.Event {
		return &agent.ToolCallOutputDelta{EventHeader: header(session, agent.KindToolCallOutputDelta), CallID: call,
			Text: text}
	}
	end := func(session, call string) agent.Event {
		return &agent.ToolCallEnd{EventHeader: header(session, agent.KindToolCallEnd), CallID: call}
	}
	child := func(ev agent.Event) agent.Event {
		return &agent.SubagentEvent{EventHeader: header("parent", agent.KindSubagentEvent), AgentID: "1", Event: ev}
	}
	for _, ev := range []agent.Event{
		output("parent", "a", "1 can"), output("parent", "b", "2 can"), end("parent", "a"), end("parent", "b"),
		child(output("child", "c", "3 can")), child(end("child", "c")),
		output("parent", "d", "can"), output("parent", "d", "a"), output("parent", "d", "ry."), end("parent", "d"),
	} {
		show(ev)
	}
	checkNumbers(t, got)
	var texts strings.Builder
	for _, ev := range got {
		if outer, ok := ev.(*agent.SubagentEvent); ok {
			ev = outer.Event
		}
		if delta, ok := ev.(*agent.ToolCallOutputDelta); ok {
			texts.WriteString(delta.CallID + ":" + delta.Text + "|")
		}
	}
	if got, want := texts.String(), "a:1 |b:2 |a:can|b:can|c:3 |c:can|d:canary.|"; got != want {
		t.Errorf("the texts are %q, want %q", got, want)
	}
	if last := got[len(got)-1].Head().Seq; last != seq["parent"]+1 {
		t.Errorf("the last event has number %d, in the session %d: three events were added and two held back", last,
			seq["parent"])
	}
}

// A question of a server is masked before anybody sees it.
func TestL7_Questions(t *testing.T) {
	m := secret.New()
	if err := m.Register("TOKEN", "token-of-a-server-3"); err != nil {
		t.Fatal(err)
	}
	var asked tool.Question
	o := agent.Options{Questions: &agent.Questions{Answer: func(_ context.Context, q tool.Question) (tool.Answer,
		error) {
		asked = q
		return tool.Answer{}, nil
	}}}
	masked.Doors(m, &o)
	if _, err := o.Questions.Answer(t.Context(), tool.Question{Text: "Is it token-of-a-server-3?",
		Options: []string{"token-of-a-server-3"}, Problem: "no token-of-a-server-3"}); err != nil {
		t.Fatal(err)
	}
	if text := asked.Text + asked.Options[0] + asked.Problem; strings.Contains(text, "token-of") ||
		strings.Count(text, "[secret TOKEN]") != 3 {
		t.Errorf("%+v", asked)
	}
	nobody := agent.Options{Questions: new(agent.Questions)}
	masked.Doors(m, &nobody)
	if nobody.Questions.Answer != nil {
		t.Error("nobody answers, but somebody is asked")
	}
}
