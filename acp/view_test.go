package acp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Live output is sent twice a second and only its end, however much of it comes.
func TestN1_LiveOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var updates []callUpdate
		v := newView(&initializeParams{}, func(u any) { updates = append(updates, u.(callUpdate)) })
		v.open()
		v.event(&agent.ToolCallStart{CallID: "c", Name: "shell"}, false)
		for i := range 10_000 {
			v.event(&agent.ToolCallOutputDelta{CallID: "c", Text: fmt.Sprintf("\x1b[31mline %d\n", i)}, false)
			time.Sleep(time.Millisecond)
		}
		v.mu.Lock()
		n, last := len(updates)-1, updates[len(updates)-1]
		v.mu.Unlock()
		if n < 18 || n > 21 {
			t.Errorf("%d updates in ten seconds", n)
		}
		if text := *last.Content[0].Content.Text; len(text) > maxLive+100 ||
			!strings.HasPrefix(text, "```\n…\nline ") || strings.Contains(text, "\x1b") {
			t.Errorf("%d bytes: %.100q", len(text), text)
		}
		v.event(&agent.ToolCallEnd{CallID: "c", Name: "shell", Output: "all"}, false)
		n = len(updates)
		time.Sleep(time.Minute)
		if len(updates) != n || updates[n-1].Status != "completed" {
			t.Errorf("after the end: %+v", updates[n-1:])
		}
	})
}

// Ids of calls that come again are different ones for the editor, also those of subagents.
func TestN1_CallIDs(t *testing.T) {
	var ids []string
	v := newView(&initializeParams{}, func(u any) { ids = append(ids, u.(callUpdate).ID) })
	v.open()
	for range 2 {
		v.event(&agent.ToolCallStart{CallID: "c", Name: "x"}, false)
		v.event(&agent.SubagentEvent{AgentID: "a", Event: &agent.ToolCallStart{CallID: "c", Name: "x"}}, false)
		v.event(&agent.ToolCallEnd{CallID: "c", Name: "x"}, false)
		v.event(&agent.SubagentEvent{AgentID: "a", Event: &agent.ToolCallEnd{CallID: "c", Name: "x"}}, false)
	}
	if got := strings.Join(ids, " "); got != "c a/c c a/c c#2 a/c#2 c#2 a/c#2" {
		t.Error(got)
	}
}

// What happens before the editor knows the session waits until then.
func TestN1_UpdatesWait(t *testing.T) {
	var kinds []string
	v := newView(&initializeParams{}, func(u any) { kinds = append(kinds, fmt.Sprintf("%T", u)) })
	v.event(&agent.Warning{Text: "careful"}, false)
	v.replaying(true)
	v.event(&agent.UserInput{Text: "before"}, true)
	v.event(&agent.Warning{Text: "now"}, false)
	v.replaying(false)
	if len(kinds) != 2 {
		t.Errorf("%q", kinds)
	}
	if v.open(); len(kinds) != 4 {
		t.Errorf("%q", kinds)
	}
}

// The arguments of a call reach every editor: none is too deep for it, or has what is half a
// character or a number that it cannot represent.
func TestN1_RawInput(t *testing.T) {
	for args, want := range map[string]string{
		`{"b":1,"a":[true,null,"ä"]}`: `{"b":1,"a":[true,null,"ä"]}`,
		`{"b":"x\ud800y"}`:            "{\"b\":\"x\ufffdy\"}",
		"{\"b\":\"\xff\"}":            "{\"b\":\"\ufffd\"}",
		`{"b":[1e999,2]}`:             ``,
		`{"b":`:                       "",
		strings.Repeat("[", 200) + strings.Repeat("]", 200): "",
		`"` + strings.Repeat("x", maxInput) + `"`:           "",
	} {
		var got callUpdate
		v := newView(&initializeParams{}, func(u any) { got = u.(callUpdate) })
		v.open()
		v.event(&agent.ToolCallStart{CallID: "c", Name: "x", Arguments: json.RawMessage(args)}, false)
		if string(got.Input) != want {
			t.Errorf("%.60q: %.60q, want %q", args, got.Input, want)
		}
	}
}

// Characters that look blank are escapes in what an editor shows of a question and of a call that a
// person decides about.
func TestU20_BlanksInQuestions(t *testing.T) {
	v := newView(&initializeParams{}, func(any) {})
	u := v.asked(&Permission{Call: llm.ToolCall{ID: "c", Name: "shell", Args: "{}"},
		Access: tool.Access{Command: "ls\u2800"}, Text: "run ls\u2800"})
	shown, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	question := questionText(tool.Question{Text: "Red?\u2800", Options: []string{"yes\uffa0"}})
	if strings.Count(string(shown), `ls\\u{2800}`) != 2 || strings.Contains(string(shown)+question, "\u2800") ||
		!strings.Contains(question, `yes\u{ffa0}`) {
		t.Errorf("%s\n%s", shown, question)
	}
}
