package generate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/generate"
	"github.com/attractor-go/attractor/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted returns a client of a provider in memory, for tests that depend on time and order.
func scripted(steps ...llmtest.Step) (*llm.Client, *llmtest.Provider) {
	p := llmtest.NewProvider("p", steps...)
	return &llm.Client{Providers: []llm.Provider{p}}, p
}

// served returns a client of a real provider whose server refuses what the API refuses.
func served(t *testing.T, turns ...fakellm.Turn) (*llm.Client, *fakellm.Server) {
	t.Helper()
	server := fakellm.New(fakellm.Script(turns...), fakellm.Options{})
	p, err := anthropic.New(anthropic.Options{APIKey: "k", BaseURL: "http://x.test",
		HTTPClient: llmtest.PipeClient(t, server)})
	if err != nil {
		t.Fatal(err)
	}
	return &llm.Client{Providers: []llm.Provider{p}}, server
}

type cityArgs struct {
	City string `json:"city"`
	Days int    `json:"days,omitempty"`
}

func weather(_ context.Context, args cityArgs) (string, error) {
	if args.City == "Atlantis" {
		return "", errors.New("no such city; try another")
	}
	if args.City == "Mordor" {
		panic("one does not simply ask")
	}
	return "Sunny in " + args.City, nil
}

var weatherTool = generate.Func("weather", "Says how the weather is.", weather)

func call(city string) fakellm.Call {
	return fakellm.Call{Name: "weather", Args: []byte(`{"city":"` + city + `"}`)}
}

func TestG9_PromptOrMessages(t *testing.T) {
	client, p := scripted()
	for name, o := range map[string]generate.Options{
		"both":    {Model: "m", Prompt: "hi", Messages: []llm.Message{llm.User("hi")}},
		"neither": {Model: "m", System: "s"},
	} {
		if res, err := generate.Generate(t.Context(), client, o); !errors.Is(err, llm.ErrInvalidRequest) || res == nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := generate.Stream(t.Context(), client, o).Result(); !errors.Is(err, llm.ErrInvalidRequest) {
			t.Errorf("%s, streaming: %v", name, err)
		}
		if _, _, err := generate.Object[cityArgs](t.Context(), client, o); !errors.Is(err, llm.ErrInvalidRequest) {
			t.Errorf("%s, object: %v", name, err)
		}
	}
	if len(p.Requests()) > 0 {
		t.Error("something was sent")
	}
}

func TestG9_OptionsReachTheRequest(t *testing.T) {
	client, p := scripted(llmtest.Text("ok"), llmtest.Text("ok"))
	half := 0.5
	format := &llm.Format{Name: "f", Schema: []byte(`{}`)}
	o := generate.Options{Model: "m", Provider: "p", Prompt: "hi", System: "s",
		Tools:      []generate.Tool{{ToolDefinition: llm.ToolDefinition{Name: "t"}}},
		ToolChoice: llm.ToolChoice{Mode: llm.ToolNone}, Sequential: true, Effort: "low", MaxTokens: 7,
		Temperature: &half, TopP: &half,
		Stop: []string{"."}, Format: format, CacheKey: "c", NoCache: true,
		ProviderOptions: map[string]json.RawMessage{"p": []byte(`{}`)}}
	if _, err := generate.Generate(t.Context(), client, o); err != nil {
		t.Fatal(err)
	}
	got := p.Requests()[0]
	got.Memo = nil
	want := &llm.Request{Provider: "p", Model: "m", Messages: []llm.Message{llm.System("s"), llm.User("hi")},
		Tools: []llm.ToolDefinition{{Name: "t"}}, ToolChoice: llm.ToolChoice{Mode: llm.ToolNone}, Sequential: true,
		Effort: "low", MaxTokens: 7,
		Temperature: &half, TopP: &half, Stop: []string{"."}, Format: format, CacheKey: "c", NoCache: true,
		Options: map[string]json.RawMessage{"p": []byte(`{}`)}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(llm.Memo{})); diff != "" {
		t.Error(diff)
	}
	history := []llm.Message{llm.User("1"), llm.Assistant("2"), llm.User("3")}
	if _, err := generate.Generate(t.Context(), client, generate.Options{Model: "m", Messages: history,
		System: "s"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append([]llm.Message{llm.System("s")}, history...), p.Requests()[1].Messages); diff != "" {
		t.Error(diff)
	}
	if history[0].Role != llm.RoleUser {
		t.Error("the caller's messages were changed")
	}
}

func TestG9_ToolLoop(t *testing.T) {
	client, server := served(t,
		fakellm.Turn{Text: "I look.", Calls: []fakellm.Call{call("Oslo"), call("Atlantis"), call("Mordor"),
			{Name: "rain"},
			{Name: "weather", Args: []byte(`{"city":7}`)}, {Name: "weather", Raw: `{"city`}},
			Usage: &llm.Usage{Input: 10, Output: 5}},
		fakellm.Turn{Text: "Sunny.", Usage: &llm.Usage{Input: 30, Output: 2}})
	res, err := generate.Generate(t.Context(), client,
		generate.Options{Model: "m", Prompt: "How is it?", System: "Be brief.", Tools: []generate.Tool{weatherTool}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Text() != "Sunny." || len(res.Steps) != 2 || res.Usage != (llm.Usage{Input: 40, Output: 7}) ||
		len(res.OpenCalls()) != 0 {
		t.Errorf("%q, %d steps, %+v", res.Text(), len(res.Steps), res.Usage)
	}
	step := res.Steps[0]
	wants := []struct {
		isError bool
		text    string
		err     string
	}{
		{false, "Sunny in Oslo", "<nil>"},
		{true, "Error: no such city; try another", "no such city; try another"},
		{true, "Error: the tool is broken and stopped: one does not simply ask",
			"the tool is broken and stopped: one does not simply ask"},
		{true, `Error: unknown tool "rain". The tools are: weather.`, `unknown tool "rain"`},
		{true, "Error: invalid arguments for weather: ", "invalid arguments: "},
		{true, "Error: invalid arguments for weather: they are not valid JSON: ",
			"invalid arguments: they are not valid JSON: "},
	}
	for i, want := range wants {
		r := step.Results[i]
		if r.CallID != fmt.Sprintf("call_0_%d", i) || r.IsError != want.isError || !strings.HasPrefix(r.Content.Text(),
			want.text) ||
			!strings.HasPrefix(fmt.Sprint(step.Errors[i]), want.err) {
			t.Errorf("result %d: %+v, %v", i, r, step.Errors[i])
		}
	}
	var p *generate.PanicError
	if !errors.As(step.Errors[2], &p) || !strings.Contains(string(p.Stack), "weather") {
		t.Errorf("no stack: %v", step.Errors[2])
	}
	if strings.Contains(step.Results[2].Content.Text(), "goroutine") {
		t.Error("the model was sent a stack")
	}
	// There is one continuation, and it has all results.
	requests := server.Requests()
	if len(requests) != 2 {
		t.Fatalf("%d requests", len(requests))
	}
	if n := len(requests[1].Messages[len(requests[1].Messages)-1].Parts); n != len(wants) {
		t.Errorf("%d results in the continuation", n)
	}
	roles := ""
	for _, m := range res.Messages {
		roles += string(m.Role) + " "
	}
	if roles != "system user assistant tool assistant " {
		t.Errorf("conversation: %s", roles)
	}
}

func TestG9_CallsRunAtTheSameTimeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type args struct {
			N int `json:"n"`
		}
		// Call n waits for call n+1. So they end in reverse order, and only if all of them run.
		ended := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})}
		close(ended[3])
		var mu sync.Mutex
		var order []int
		slow := generate.Func("slow", "", func(_ context.Context, a args) (map[string]int, error) {
			<-ended[a.N+1]
			mu.Lock()
			order = append(order, a.N)
			mu.Unlock()
			close(ended[a.N])
			return map[string]int{"was": a.N}, nil
		})
		client, p := scripted(llmtest.Calls(llmtest.Call("slow", args{0}), llmtest.Call("slow", args{1}),
			llmtest.Call("slow", args{2})), llmtest.Text("done"))
		if _, err := generate.Generate(t.Context(), client, generate.Options{Model: "m", Prompt: "go",
			Tools: []generate.Tool{slow}}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int{2, 1, 0}, order); diff != "" {
			t.Error(diff)
		}
		messages := p.Requests()[1].Messages
		var got []string
		for _, part := range messages[len(messages)-1].Parts {
			got = append(got, part.(llm.ToolResult).Content.Text())
		}
		if diff := cmp.Diff([]string{`{"was":0}`, `{"was":1}`, `{"was":2}`}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestG9_RoundsAndStopping(t *testing.T) {
	again := llmtest.Calls(llmtest.Call("weather", cityArgs{City: "Oslo"}))
	passive := generate.Tool{ToolDefinition: llm.ToolDefinition{Name: "ask"}}
	after := func(n int) func([]generate.Step) bool {
		return func(steps []generate.Step) bool { return len(steps) >= n }
	}
	for name, tt := range map[string]struct {
		o     generate.Options
		steps []llmtest.Step
		calls int // of the model
		runs  int // of tools
		open  int
		last  llm.Role // of the conversation
	}{
		"once by default": {generate.Options{}, []llmtest.Step{again, again, again}, 2, 1, 1, llm.RoleAssistant},
		"never": {generate.Options{MaxToolRounds: generate.Rounds(0)}, []llmtest.Step{again}, 1, 0, 1,
			llm.RoleAssistant},
		"three times": {generate.Options{MaxToolRounds: generate.Rounds(3)}, []llmtest.Step{again, again, again, again},
			4, 3, 1, llm.RoleAssistant},
		"an answer": {generate.Options{MaxToolRounds: generate.Rounds(9)},
			[]llmtest.Step{again, llmtest.Text("ok")}, 2, 1, 0, llm.RoleAssistant},
		"a stop condition": {generate.Options{MaxToolRounds: generate.Rounds(9), StopWhen: after(2)},
			[]llmtest.Step{again, again}, 2, 2, 0, llm.RoleTool},
		"no executor": {generate.Options{}, []llmtest.Step{llmtest.Calls(llmtest.Call("ask", nil))}, 1, 0, 1,
			llm.RoleAssistant},
		"some without": {generate.Options{},
			[]llmtest.Step{llmtest.Calls(llmtest.Call("ask", nil), llmtest.Call("weather", cityArgs{City: "x"}),
				llmtest.Call("ask", nil))}, 1, 1, 2, llm.RoleTool},
		"a cut answer": {generate.Options{},
			[]llmtest.Step{llmtest.Respond(llm.Response{Finish: llm.Finish{Reason: llm.FinishLength},
				Message: llm.Message{Parts: llm.Parts{llm.ToolCall{ID: "1", Name: "weather",
					Args: `{"city":"Os"}`}}}})}, 1,
			0, 1, llm.RoleAssistant},
		"a free call": {generate.Options{},
			[]llmtest.Step{llmtest.Answer(llm.ToolCall{Name: "free", Args: "not JSON", Free: true}),
				llmtest.Text("ok")}, 2, 1, 0, llm.RoleAssistant},
	} {
		t.Run(name, func(t *testing.T) {
			client, p := scripted(tt.steps...)
			o := tt.o
			o.Model, o.Prompt = "m", "go"
			var mu sync.Mutex
			runs := 0
			count := func(_ context.Context, args string) (llm.Parts, error) {
				mu.Lock()
				defer mu.Unlock()
				runs++
				return llm.TextParts(args), nil
			}
			active := weatherTool
			active.Execute = count
			o.Tools = []generate.Tool{active, passive,
				{ToolDefinition: llm.ToolDefinition{Name: "free", Grammar: &llm.Grammar{}}, Execute: count}}
			res, err := generate.Generate(t.Context(), client, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Requests()) != tt.calls || runs != tt.runs || len(res.OpenCalls()) != tt.open {
				t.Errorf("%d model calls, %d runs, %d open calls, want %d, %d, %d", len(p.Requests()), runs,
					len(res.OpenCalls()), tt.calls, tt.runs, tt.open)
			}
			if last := res.Messages[len(res.Messages)-1].Role; last != tt.last {
				t.Errorf("the conversation ends with %s", last)
			}
		})
	}
}

func TestG9_ForcedChoiceHoldsOnce(t *testing.T) {
	again := llmtest.Calls(llmtest.Call("weather", cityArgs{City: "Oslo"}))
	for mode, after := range map[llm.ToolMode]llm.ToolMode{llm.ToolRequired: "", llm.ToolNamed: "",
		llm.ToolNone: llm.ToolNone, llm.ToolAuto: llm.ToolAuto} {
		client, p := scripted(again, llmtest.Text("ok"))
		_, err := generate.Generate(t.Context(), client, generate.Options{Model: "m", Prompt: "go",
			Tools: []generate.Tool{weatherTool}, ToolChoice: llm.ToolChoice{Mode: mode, Name: "weather"}})
		if r := p.Requests(); err != nil || r[0].ToolChoice.Mode != mode || r[1].ToolChoice.Mode != after {
			t.Errorf("%s: %v, then %q", mode, err, r[1].ToolChoice.Mode)
		}
	}
}

func TestG9_BadTools(t *testing.T) {
	client, p := scripted()
	named := func(name string) generate.Tool { return generate.Tool{ToolDefinition: llm.ToolDefinition{Name: name}} }
	broken := weatherTool
	broken.Parameters = []byte(`{"type":7}`)
	for says, tools := range map[string][]generate.Tool{
		"has no name":                 {named("")},
		`two tools have the name "a"`: {named("a"), named("a")},
		`tool "c": cannot infer its parameter`: {generate.Func("c", "",
			func(context.Context, struct{ C chan int }) (string, error) { return "", nil })},
		`tool "weather": its parameters are no`: {broken},
	} {
		_, err := generate.Generate(t.Context(), client, generate.Options{Model: "m", Prompt: "go", Tools: tools})
		if !errors.Is(err, llm.ErrConfiguration) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	if len(p.Requests()) > 0 {
		t.Error("something was sent")
	}
}

func TestG9_FuncResults(t *testing.T) {
	picture := llm.Media{MIME: "image/png", Data: []byte{1}}
	tools := []generate.Tool{
		generate.Func("parts", "", func(context.Context, struct{}) (llm.Parts, error) {
			return llm.Parts{picture},
				nil
		}),
		generate.Func("number", "", func(context.Context, struct{}) (int, error) { return 7, nil }),
		generate.Func("channel", "", func(context.Context, struct{}) (chan int, error) { return nil, nil }),
	}
	client, _ := scripted(llmtest.Calls(llmtest.Call("parts", nil), llmtest.Call("number", ""),
		llmtest.Call("channel", nil), llmtest.Call("number", "[1]")), llmtest.Text("ok"))
	res, err := generate.Generate(t.Context(), client, generate.Options{Model: "m", Prompt: "go", Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	got := res.Steps[0].Results
	if diff := cmp.Diff([]llm.Parts{{picture}, llm.TextParts("7")},
		[]llm.Parts{got[0].Content, got[1].Content}); diff != "" {
		t.Error(diff)
	}
	if !got[2].IsError || !got[3].IsError || got[0].IsError || got[1].IsError {
		t.Errorf("%+v", got)
	}
}
