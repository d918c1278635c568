package agent_test

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/gemini"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/openai"
	"github.com/attractor-go/attractor/llm/openaichat"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// imagePart returns a placeholder for an image.
func imagePart() llm.Media { return llm.Media{MIME: "image/png", Data: []byte(llmtest.PNG)} }

// signature is the one with which fakellm recognizes the reasoning of pastConversation.
const signature = "f1bdd9a9c36e93d68a0aec3f"

// pastConversation returns a conversation with every kind of part, in the form of Anthropic's API.
func pastConversation() []llm.Message {
	answer := func(parts ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Parts: parts, Provider: "anthropic", Model: "claude-sonnet-5-5"}
	}
	return []llm.Message{
		llm.User("what is this?", imagePart()),
		answer(llm.Thinking{Text: "let me look", Signature: signature}, llm.ToolCall{ID: "c1", Name: "look",
			Args: `{"at":1}`}, llm.ToolCall{ID: "c2", Name: "look", Args: `{"at":2}`}),
		llm.ToolResults(llm.ToolResult{CallID: "c1", Name: "look", Content: llm.TextParts("a black spot")},
			llm.ToolResult{CallID: "c2", Name: "look", Content: llm.TextParts("no such place"), IsError: true}),
		llm.User("quickly, please"),
		answer(llm.Text{Text: "It is a dot."}),
	}
}

// A session continues from messages over each wire format: texts, images, calls and results are
// sent; reasoning goes only to its own provider.
func TestJ10_HistoryOnTheWire(t *testing.T) {
	for _, name := range []string{"anthropic", "openai", "gemini", "openaichat"} {
		t.Run(name, func(t *testing.T) {
			server := fakellm.New(func(*fakellm.Request) fakellm.Turn { return fakellm.Turn{Text: "A full stop."} },
				fakellm.Options{})
			client := llmtest.PipeClient(t, server)
			var p llm.Provider
			var err error
			switch name {
			case "anthropic":
				p, err = anthropic.New(anthropic.Options{APIKey: "k", BaseURL: "http://x.test", HTTPClient: client})
			case "openai":
				p, err = openai.New(openai.Options{APIKey: "k", BaseURL: "http://x.test/v1", HTTPClient: client})
			case "gemini":
				p, err = gemini.New(gemini.Options{APIKey: "k", BaseURL: "http://x.test", HTTPClient: client})
			default:
				p, err = openaichat.New(openaichat.Options{BaseURL: "http://x.test/v1", HTTPClient: client})
			}
			if err != nil {
				t.Fatal(err)
			}
			s, err := agent.New(context.Background(), agent.Options{Client: &llm.Client{Providers: []llm.Provider{p}},
				Env: emptyEnv(t), System: "You are being tested.",
				Profile: profile.Profile{Name: "test", Provider: p.Name(), Model: "model-1"},
				History: pastConversation()})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Submit(context.Background(), "what kind of dot?"); err != nil {
				t.Fatal(err)
			}
			req := server.Requests()[0]
			body := string(req.Body)
			for _, want := range []string{"what is this?", base64.StdEncoding.EncodeToString(imagePart().Data),
				"a black spot", "no such place", "quickly, please", "It is a dot.", "what kind of dot?"} {
				if strings.Count(body, want) != 1 {
					t.Errorf("%q is in the request %d times:\n%s", want, strings.Count(body, want), body)
				}
			}
			if strings.Contains(body, signature) != (name == "anthropic") ||
				strings.Contains(body, "let me look") != (name == "anthropic") {
				t.Errorf("the reasoning of anthropic in a request to %s:\n%s", name, body)
			}
			calls, results := 0, 0
			for _, m := range req.Messages {
				calls += len(m.Parts.ToolCalls())
				for _, part := range m.Parts {
					if _, ok := part.(llm.ToolResult); ok {
						results++
					}
				}
			}
			if calls != 2 || results != 2 {
				t.Errorf("%d calls and %d results were sent", calls, results)
			}
		})
	}
}

// The messages are in the journal: a resume, a fork, a projection and a replay have them, and later
// changes of the host's copy have no effect.
func TestJ10_HistoryStays(t *testing.T) {
	ctx := context.Background()
	store := journal.NewDir(t.TempDir())
	log, err := store.Create(ctx, "source")
	if err != nil {
		t.Fatal(err)
	}
	mine := pastConversation()
	h := open(t, setup{tools: []tool.Tool{echo("look")},
		options: agent.Options{ID: "source", Journal: log, History: mine}, steps: []llmtest.Step{llmtest.Text("one")}})
	mine[4].Parts[0], mine[0].Parts[1].(llm.Media).Data[0] = llm.Text{Text: "something else"}, 0
	h.submit(t, "first", agent.ReasonCompleted)
	if loaded, ok := h.events[1].(*agent.HistoryLoaded); !ok || len(loaded.Messages) != 5 ||
		loaded.Messages[0].Parts[1].(llm.Media).Data != nil {
		t.Errorf("the second event is %+v", h.events[1])
	}
	sent := h.model.Requests()[0].Messages
	if diff := gocmp.Diff(append(append([]llm.Message{llm.System("You are being tested.")}, pastConversation()...),
		llm.User("first")), sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	reader, err := store.Read(ctx, "source")
	if err != nil {
		t.Fatal(err)
	}
	checkReplay(t, journal.NewMemory(all(t, reader)...), h.events)
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	fork, err := agent.Fork(ctx, store, "source", 5, "fork", "")
	if err != nil {
		t.Fatal(err)
	}
	again, err := store.Open(ctx, "source")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		log  journal.Log
		most int
	}{"resumed": {again, 8}, "fork": {fork, 6}} {
		rest := open(t, setup{tools: []tool.Tool{echo("look")}, options: agent.Options{Journal: c.log},
			steps: []llmtest.Step{llmtest.Text("two")}})
		rest.submit(t, "first", agent.ReasonCompleted)
		got := rest.model.Requests()[0].Messages
		if diff := gocmp.Diff(sent[:6], got[:6]); diff != "" || len(got)-1 != c.most {
			t.Errorf("%s: %d messages (-before +after):\n%s", name, len(got)-1, diff)
		}
	}
	for turn := 1; turn < 5; turn++ {
		if _, err := agent.Fork(ctx, store, "source", turn, "inside", ""); !errors.Is(err, agent.ErrNoTurn) ||
			!strings.Contains(err.Error(), "fork behind turn 5") {
			t.Errorf("a fork behind turn %d: %v", turn, err)
		}
	}
}

// The messages count for the window, and a compaction replaces them but keeps people's messages.
func TestJ10_HistoryIsCountedAndCompacted(t *testing.T) {
	long := pastConversation()
	long[4].Parts = llm.TextParts(strings.Repeat("It is a dot. ", 2_000))
	h := open(t, setup{models: window(8_000), options: agent.Options{History: long,
		Policy: agent.Policy{Compaction: agent.CompactionPolicy{Threshold: 0.5, KeepTurns: 1}, MaxTurns: 1}},
		steps: []llmtest.Step{llmtest.Text("a dot was seen"), llmtest.Text("done")}})
	if filled := h.windowWarnings(); len(filled) != 1 || !strings.HasPrefix(filled[0], "100") {
		t.Errorf("the warnings about the window: %q", filled)
	}
	if _, ok := h.events[0].(*agent.SessionStart); !ok {
		t.Errorf("the first event is %T", h.events[0])
	}
	h.submit(t, "go on", agent.ReasonCompleted) // the messages do not count for MaxTurns
	req := h.model.Requests()[1]
	first := req.Messages[1].Parts
	if text := first.Text(); !strings.Contains(text, "a dot was seen") || !strings.Contains(text, "what is this?") ||
		!strings.Contains(text, "quickly, please") || strings.Contains(text, "It is a dot. It") {
		t.Errorf("the history became %q", text)
	}
	if m, ok := first[len(first)-1].(llm.Media); !ok || string(m.Data) != string(imagePart().Data) {
		t.Errorf("the image is gone: %+v", first)
	}
}

// Subagents do not get the messages.
func TestJ10_SubagentsDoNotGetTheHistory(t *testing.T) {
	h := openSpawning(t, agent.Options{History: []llm.Message{llm.User("go"), llm.Assistant("where?")}},
		map[string][]llmtest.Step{
			"go":   {llmtest.Calls(spawn("part")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
			"part": {llmtest.Text("ok")},
		})
	h.submit(t, "there", agent.ReasonCompleted)
	if n := len(h.requests("part")); n != 1 {
		t.Errorf("%d requests of the child", n)
	}
}

// An invalid history is refused. The error names the message and says what to do.
func TestJ10_InvalidHistory(t *testing.T) {
	user, call := llm.User("hi"), func(ids ...string) llm.Message {
		m := llm.Message{Role: llm.RoleAssistant}
		for _, id := range ids {
			m.Parts = append(m.Parts, llm.ToolCall{ID: id, Name: "x", Args: "{}"})
		}
		return m
	}
	results := func(ids ...string) llm.Message {
		m := llm.Message{Role: llm.RoleTool}
		for _, id := range ids {
			m.Parts = append(m.Parts, llm.ToolResult{CallID: id, Content: llm.TextParts("ok")})
		}
		return m
	}
	for name, c := range map[string]struct {
		history []llm.Message
		want    string
	}{
		"a system message": {[]llm.Message{llm.System("be good"), user},
			"History[0]: it has the role system: put it into Options.System"},
		"an unknown role": {[]llm.Message{user, {Role: "bot", Parts: llm.TextParts("x")}},
			`History[1]: it has the unknown role "bot"`},
		"the model first": {[]llm.Message{llm.Assistant("hi")},
			"History[0]: a history begins with a message of the role user, not assistant"},
		"results first": {[]llm.Message{results("a")},
			"History[0]: a history begins with a message of the role user, not tool"},
		"nothing in it": {[]llm.Message{user, {Role: llm.RoleAssistant}},
			"History[1]: it is empty: leave it out"},
		"blank": {[]llm.Message{llm.User(" \n")}, "History[0]: it is empty"},
		"two of the model": {[]llm.Message{user, llm.Assistant("a"), llm.Assistant("b")},
			"History[2]: it has the role assistant, as History[1] does: join"},
		"no result": {[]llm.Message{user, call("a"), user},
			`History[2]: the call "a" of History[1] has no result: put a message`},
		"no result at the end": {[]llm.Message{user, call("a")},
			`History[1]: the call "a" has no result: add a message`},
		"one result of two": {[]llm.Message{user, call("a", "b"), results("a"), results("b")},
			`History[2]: the call "b" of History[1] has no result in it`},
		"a result too many": {[]llm.Message{user, call("a"), results("a", "a")},
			`History[2]: the result of "a"`},
		"a result of another call": {[]llm.Message{user, call("a"), results("z")}, `History[2]: the result of "z"`},
		"results of no calls": {[]llm.Message{user, results("a")},
			`History[1]: the result of "a" answers no open call of History[0]`},
		"a call without an id": {[]llm.Message{user, call(""), results("")},
			`History[1]: its call of x has the id ""`},
		"an id twice": {[]llm.Message{user, call("a", "a"), results("a", "a")},
			`History[1]: its call of x has the id "a"`},
		"a call of a user": {[]llm.Message{{Role: llm.RoleUser,
			Parts: llm.Parts{llm.ToolCall{ID: "a", Name: "x"}}}},
			"History[0]: part 0 is a llm.ToolCall, which a message of the role user cannot have"},
		"text of a tool": {[]llm.Message{user, call("a"), {Role: llm.RoleTool, Parts: llm.TextParts("ok")}},
			"History[2]: part 0 is a llm.Text"},
		"a pointer": {[]llm.Message{{Role: llm.RoleUser, Parts: llm.Parts{nil}}}, "History[0]: part 0"},
		"a call in a result": {[]llm.Message{user, call("a"),
			{Role: llm.RoleTool, Parts: llm.Parts{llm.ToolResult{CallID: "a", Content: llm.Parts{llm.ToolCall{}}}}}},
			"History[2]: part 0"},
	} {
		o := agent.Options{Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test")}},
			Env:     emptyEnv(t),
			Profile: profile.Profile{Name: "test", Provider: "test", Model: "m"}, History: c.history}
		if _, err := agent.New(context.Background(), o); err == nil || !strings.Contains(err.Error(),
			"agent: Options."+c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	log := shortJournal(t)
	o := agent.Options{Journal: log, Env: emptyEnv(t),
		Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test")}}, History: []llm.Message{user}}
	if _, err := agent.Resume(context.Background(), o); err == nil || !strings.Contains(err.Error(),
		"Options.History begins a new session") {
		t.Errorf("a resume with another history: %v", err)
	}
}
