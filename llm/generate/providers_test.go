package generate_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/gemini"
	"github.com/attractor-go/attractor/llm/generate"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/openai"
	"github.com/attractor-go/attractor/llm/openaichat"
)

// everyProvider returns each of the providers, for a client of the scripted server.
func everyProvider(client *http.Client) (list []llm.Provider, err error) {
	add := func(p llm.Provider, e error) {
		if list = append(list, p); e != nil {
			err = e
		}
	}
	a, e := anthropic.New(anthropic.Options{APIKey: "k", BaseURL: "http://x.test", HTTPClient: client})
	add(a, e)
	o, e := openai.New(openai.Options{APIKey: "k", BaseURL: "http://x.test/v1", HTTPClient: client})
	add(o, e)
	g, e := gemini.New(gemini.Options{APIKey: "k", BaseURL: "http://x.test", HTTPClient: client})
	add(g, e)
	c, e := openaichat.New(openaichat.Options{BaseURL: "http://x.test/v1", HTTPClient: client})
	add(c, e)
	return list, err
}

// The tool loop and objects work over every API, with servers as strict as the vendors'.
func TestG9_OverEveryProvider(t *testing.T) {
	answer := fakellm.Turn{Text: alice}
	looks := fakellm.Turn{Text: "I look.", Calls: []fakellm.Call{call("Oslo"), call("Atlantis")}}
	for i, name := range []string{"anthropic", "openai", "gemini", "openai-compatible"} {
		for mode, turns := range map[generate.ObjectMode][]fakellm.Turn{
			generate.ObjectNative: {looks, answer},
			generate.ObjectTool:   {looks, {Calls: []fakellm.Call{{Name: "answer", Args: []byte(alice)}}}},
		} {
			server := fakellm.New(fakellm.Script(turns...), fakellm.Options{})
			list, err := everyProvider(llmtest.PipeClient(t, server))
			if err != nil {
				t.Fatal(err)
			}
			client := &llm.Client{Providers: list[i : i+1]}
			o := generate.Options{Model: "m-1", Prompt: "who?", System: "Be brief.",
				Tools: []generate.Tool{weatherTool}, ObjectMode: mode, Retry: llm.RetryPolicy{Max: -1}}
			got, res, err := generate.Object[person](t.Context(), client, o)
			if err != nil || !cmp.Equal(got, person{Name: "Alice", Age: 30}) || len(res.Steps) != 2 ||
				len(server.Requests()) != 2 {
				t.Errorf("%s, mode %d: %+v, %v", name, mode, got, err)
			}
			if name != list[i].Name() {
				t.Errorf("%s is %s", name, list[i].Name())
			}
		}
	}
}

// A conversation passes through all providers, repaired for each. Every server accepts what the
// others' models said.
func TestG11_SwitchingProviders(t *testing.T) {
	turn := fakellm.Turn{Thinking: "Let me think.", Text: "I look.", Calls: []fakellm.Call{call("Oslo"), call("Rome")}}
	server := fakellm.New(func(*fakellm.Request) fakellm.Turn { return turn }, fakellm.Options{})
	list, err := everyProvider(llmtest.PipeClient(t, server))
	if err != nil {
		t.Fatal(err)
	}
	client := &llm.Client{Providers: list}
	messages := []llm.Message{llm.System("Be brief."), llm.User("begin")}
	for round := range 3 * len(list) {
		name := list[round%len(list)].Name()
		messages = llm.Repair(messages, name)
		resp, err := client.Complete(t.Context(), &llm.Request{Provider: name, Model: "m-1", Messages: messages,
			Effort: "low", Tools: []llm.ToolDefinition{weatherTool.ToolDefinition}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		messages = append(messages, resp.Message)
		if round%2 == 0 { // otherwise the calls stay open
			calls := resp.ToolCalls()
			messages = append(messages, llm.ToolResults(llm.ToolResult{CallID: calls[1].ID, Name: calls[1].Name,
				Content: llm.TextParts("warm")}), llm.User("and?"))
		}
	}
}
