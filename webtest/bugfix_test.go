package webtest

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// use returns a tool call.
func use(name string, args object) fakellm.Call {
	data, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings can be encoded
	}
	return fakellm.Call{Name: name, Args: data}
}

const (
	backoffGo = `package backoff

import "time"

// Delay returns how long to wait before an attempt: twice as long each time, and never longer than most.
func Delay(first, most time.Duration, attempt int) time.Duration {
	delay := first << attempt
	if delay > most {
		return most
	}
	return delay
}
`
	backoffTest = `package backoff

import (
	"testing"
	"time"
)

func TestDelay(t *testing.T) {
	for _, tt := range []struct {
		attempt int
		want    time.Duration
	}{
		{0, time.Second},
		{3, 8 * time.Second},
		{10, time.Minute},
		{70, time.Minute},
	} {
		if got := Delay(time.Second, time.Minute, tt.attempt); got != tt.want {
			t.Errorf("Delay for attempt %d is %v, want %v", tt.attempt, got, tt.want)
		}
	}
}
`
)

// script is a model whose answers come in turn. Subagents and summaries have answers of their own.
type script struct {
	mu        sync.Mutex
	turns     []fakellm.Turn
	subagents map[string][]fakellm.Turn // by a word of the task
	summary   string
}

func (s *script) answer(r *fakellm.Request) fakellm.Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(r.Tools) == 0 {
		return fakellm.Turn{Text: s.summary}
	}
	for word, turns := range s.subagents {
		if strings.Contains(firstText(r), word) && r.Turn() < len(turns) {
			return turns[r.Turn()]
		}
	}
	if len(s.turns) == 0 {
		return fakellm.Turn{Text: "The script is over."}
	}
	turn := s.turns[0]
	s.turns = s.turns[1:]
	return turn
}

// firstText returns the task of a conversation.
func firstText(r *fakellm.Request) string {
	for _, message := range r.Messages {
		for _, part := range message.Parts {
			if text, is := part.(llm.Text); is && message.Role == llm.RoleUser {
				return text.Text
			}
		}
	}
	return ""
}

// plan returns a call that writes the todo list, of which the first entries are done and the next
// is in progress.
func plan(done int, steps ...string) fakellm.Call {
	var list []object
	for i, step := range steps {
		status := "pending"
		if i < done {
			status = "completed"
		} else if i == done {
			status = "in_progress"
		}
		list = append(list, object{"step": step, "status": status})
	}
	return use("update_plan", object{"plan": list})
}

// bugfixScript returns the answers of a model that mends a bug, with a detour.
func bugfixScript() *script {
	steps := []string{"See the test fail", "Find the cause", "Mend it", "Run all tests"}
	test := use("shell", object{"command": "go test ./...", "timeout_ms": 120000, "description": "Run all tests"})
	patch := func(text string) fakellm.Call {
		return use("apply_patch",
			object{"patch": "*** Begin Patch\n*** Update File: backoff.go\n" + text + "*** End Patch"})
	}
	return &script{
		summary: "The bug in Delay is mended: it doubles step by step and stops at the limit. All tests pass. A " +
			"changelog is still to be written.",
		subagents: map[string][]fakellm.Turn{
			"Find all callers": {{Text: "I search.", Calls: []fakellm.Call{use("grep", object{"pattern": "Delay\\("})}},
				{Text: "Only the test calls Delay."}},
			"Read the README": {{Calls: []fakellm.Call{use("read_file", object{"file_path": "README.md"})}},
				{Text: "The README promises that a delay is never longer than the limit."}},
		},
		turns: []fakellm.Turn{
			{Thinking: "I should see the failure before I change anything. The test's name says what is expected.",
				Text:  "I look at the code and run the tests first.",
				Calls: []fakellm.Call{plan(0, steps...), use("read_file", object{"file_path": "backoff.go"}), test}},
			{Thinking: "For attempt 70 the shift moves every bit out of 64, so the delay is 0. It may also become " +
				"negative before. Who else relies on it? Two others can look at that while I go on.",
				Text: "The shift overflows for large attempts: `first << 70` is 0. Two agents look at the callers " +
					"and at what is promised.",
				Calls: []fakellm.Call{plan(1, steps...),
					use("spawn_agent", object{"task": "Find all callers of Delay and say what they pass."}),
					use("spawn_agent", object{"task": "Read the README and say what it promises about delays."})}},
			{Text: "Meanwhile I try the smallest change.",
				Calls: []fakellm.Call{patch(
					"@@\n \tdelay := first << attempt\n-\tif delay > most {\n+\tif delay > most || delay < 0 {\n " +
						"\t\treturn most\n \t}\n")}},
			{Calls: []fakellm.Call{test}},
			{Thinking: "Negative delays are caught now, but zero is not. A guard for each case is a patch on a " +
				"patch; a loop that stops at the limit cannot overflow at all.",
				Text: "That catches negative delays, but not zero. Before I go on I ask.",
				Calls: []fakellm.Call{use("ask_user",
					object{"question": "May Delay loop instead of shifting? It can then not overflow at all.",
						"options": []string{"Yes, loop", "No, keep the shift"}})}},
			{Text: "A loop that stops at the limit cannot overflow.",
				Calls: []fakellm.Call{plan(2, steps...),
					patch("@@\n-\tdelay := first << attempt\n-\tif delay > most || delay < 0 {\n-\t\treturn most\n" +
						"+\tdelay := first\n+\tfor range attempt {\n+\t\tif delay >= most-delay {\n+\t\t\treturn " +
						"most\n+\t\t}\n+\t\tdelay *= 2\n \t}\n")}},
			{Calls: []fakellm.Call{plan(3, steps...), test}},
			{Calls: []fakellm.Call{plan(4, steps...)}},
			{Text: "Delay is right for every attempt now.\n\n- `backoff.go`: the delay doubles in a loop that stops " +
				"at the limit, so it cannot overflow.\n- `go test ./...` passes, also for attempt 70.\n\nNothing " +
				"else calls Delay."},
			{Text: "I write the changelog while the tests run once more.",
				Calls: []fakellm.Call{use("write_file", object{"file_path": "CHANGELOG.md",
					"content": "# Changes\n\n- Delay no longer overflows for large attempts.\n"}),
					use("shell", object{"command": "sleep 1000"})}},
			{Text: "The changelog is written. I have left out the second run of the tests."},
		},
	}
}

// bugfix makes the session that people look at: a bug is found and mended, with a failing test, a
// wrong edit, a question, two subagents, a retry, a text on the way, a summary, an interrupt and a
// resume. It returns the session's id. All tests read the same one.
func bugfix(t testing.TB) (*home, string) {
	t.Helper()
	dir := filepath.Join(the.dir, "bugfix")
	if err := the.bugfix.once.do(func() error { the.bugfix.id = makeBugfix(t, dir); return nil }); err != nil ||
		the.bugfix.id == "" {
		t.Fatal("the session could not be made")
	}
	return homeIn(t, dir, "backoff", nil, fakellm.Options{}), the.bugfix.id
}

func makeBugfix(t testing.TB, dir string) string {
	t.Helper()
	h := homeIn(t, dir, "backoff", bugfixScript().answer, fakellm.Options{Delay: 8 * time.Millisecond,
		Faults: map[int]fakellm.Fault{2: {Kind: fakellm.FaultStatus, Status: 529}}})
	h.file("go.mod", "module example.com/backoff\n\ngo 1.24\n")
	h.file("backoff.go", backoffGo)
	h.file("backoff_test.go", backoffTest)
	h.file("README.md", "# backoff\n\nA delay is never longer than the limit.\n")
	c := h.converse("--yes", "--diffs", "65536", "--keep-outputs", "1048576")
	c.say("user", object{"text": "TestDelay fails: for attempt 70 there is no delay at all. Find the cause and " +
		"mend it."})
	for c.next("TOOL_CALL_START")["name"] != "shell" {
	}
	c.say("steer", object{"text": "Leave the signature of Delay as it is."})
	c.say("answer", object{"ask": c.next("QUESTION")["ask"], "text": "Yes, loop"})
	c.next("PROCESSING_END")
	c.say("compact", nil)
	c.next("COMPACTION")
	c.say("user", object{"text": "Now write a changelog, and run the tests once more."})
	for c.next("TOOL_CALL_START")["name"] != "shell" {
	}
	c.say("interrupt", nil)
	c.next("PROCESSING_END")
	c.end()
	h.run("run", "--yes", "--resume", c.id, "Leave the tests, and say what you did.")
	return c.id
}

// What is looked at has all that it is made for.
func TestN5_TheBugfixHasEveryKindOfRow(t *testing.T) {
	t.Parallel()
	h, id := bugfix(t)
	var kinds []string
	var outputs string
	for line := range strings.Lines(h.run("sessions", "events", id)) {
		var event struct{ Kind, Name, Output string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, event.Kind)
		outputs += event.Output
	}
	for _, want := range []string{"USER_INPUT", "THINKING_DELTA", "ASSISTANT_TEXT_END", "TOOL_CALL_END", "PLAN",
		"STEERING_INJECTED", "LLM_RETRY",
		"COMPACTION", "PROCESSING_END", "SESSION_END"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("there is no %s", want)
		}
	}
	for _, want := range []string{"Delay for attempt 70 is 0s", "ok  \texample.com/backoff", "Yes, loop", "agent-2"} {
		if !strings.Contains(outputs, want) {
			t.Errorf("no tool has said %q:\n%s", want, outputs)
		}
	}
}
