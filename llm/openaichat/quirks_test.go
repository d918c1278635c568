package openaichat_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/openaichat"
)

// sentMessages returns what a server got: a line for each message, with its role and its text.
func sentMessages(t *testing.T, p *openaichat.Provider, bodies *[]string, req *llm.Request) string {
	t.Helper()
	for _, err := range p.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var body struct{ Messages []map[string]any }
	if err := json.Unmarshal([]byte((*bodies)[len(*bodies)-1]), &body); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range body.Messages {
		line, _ := json.Marshal(m["content"])
		lines = append(lines, m["role"].(string)+" "+string(line))
		if r, ok := m["reasoning_content"]; ok {
			lines[len(lines)-1] += " reasons " + r.(string)
		}
	}
	return strings.Join(lines, "\n")
}

// newRecorder returns a provider and the bodies of its requests.
func newRecorder(t *testing.T) (*openaichat.Provider, *[]string) {
	t.Helper()
	var bodies []string
	client := llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies = append(bodies, string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
	}))
	p, err := openaichat.New(openaichat.Options{BaseURL: "http://x.test/v1", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	return p, &bodies
}

// For a server where the user and the assistant take turns, new texts join the message before them,
// and sent messages stay as they were.
func TestU4_MessagesTakeTurns(t *testing.T) {
	p, bodies := newRecorder(t)
	req := &llm.Request{Model: "m", Quirks: []llm.Quirk{llm.QuirkAlternates}, Memo: new(llm.Memo)}
	call := llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "c1", Name: "f", Args: "{}"}}}
	for _, step := range []struct {
		messages []llm.Message
		want     string
	}{
		{[]llm.Message{llm.System("s"), llm.User("a"), llm.User("b")}, `system "s"` + "\n" + `user "a\n\nb"`},
		{[]llm.Message{call, llm.ToolResults(llm.ToolResult{CallID: "c1", Content: llm.TextParts("r")}),
			llm.User("note"), llm.User("more")},
			"assistant null\n" + `tool "r\n\nnote\n\nmore"`},
		{[]llm.Message{llm.User("c")}, `assistant "(no answer)"` + "\n" + `user "c"`},
		{[]llm.Message{llm.User("d")}, `assistant "(no answer)"` + "\n" + `user "d"`},
		{[]llm.Message{llm.Assistant("e")}, `assistant "e"`},
		{[]llm.Message{llm.Assistant("f"), llm.User("g")}, `user "(go on)"` + "\n" + `assistant "f"` + "\n" +
			`user "g"`},
	} {
		before := ""
		if n := len(*bodies); n > 0 {
			before = strings.TrimSuffix((*bodies)[n-1][:strings.LastIndex((*bodies)[n-1], "]")], "]")
		}
		req.Messages = append(req.Messages, step.messages...)
		got := sentMessages(t, p, bodies, req)
		if !strings.HasSuffix(got, step.want) {
			t.Errorf("sent\n%s\nwant at the end\n%s", got, step.want)
		}
		if last := (*bodies)[len(*bodies)-1]; !strings.HasPrefix(last, before) {
			t.Errorf("the request\n%s\ndoes not begin as the one before\n%s", last, before)
		}
	}
}

// A server that wants reasoning back has it on all messages with calls, whoever wrote them.
func TestU4_ReasoningOnAllCalls(t *testing.T) {
	p, bodies := newRecorder(t)
	call := func(provider string, parts ...llm.Part) llm.Message {
		return llm.Message{
			Role:     llm.RoleAssistant,
			Provider: provider,
			Parts:    append(parts, llm.ToolCall{ID: "c", Name: "f", Args: "{}"}),
		}
	}
	result := llm.ToolResults(llm.ToolResult{CallID: "c", Content: llm.TextParts("r")})
	req := &llm.Request{Model: "m", Quirks: []llm.Quirk{llm.QuirkReasoning}, Messages: []llm.Message{llm.User("a"),
		call("anthropic", llm.Thinking{Text: "of another", Signature: "s"}), result,
		call(p.Name(), llm.Thinking{ID: "reasoning_content", Text: "mine"}), result, call(p.Name()), result}}
	got := sentMessages(t, p, bodies, req)
	if strings.Count(got, "assistant null reasons") != 3 || strings.Count(got, "reasons mine") != 1 ||
		strings.Contains(got, "of another") {
		t.Error(got)
	}
	req.Quirks = nil
	if got := sentMessages(t, p, bodies, req); strings.Count(got, "reasons") != 1 {
		t.Errorf("without the quirk: %s", got)
	}
}
