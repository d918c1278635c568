package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// textTool returns a tool that prints a given text.
func textTool(name, text string) tool.Tool {
	return newTool(name, writes, func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text(text), nil })
}

func described(t tool.Tool, description string) tool.Tool {
	t.Description = description
	return t
}

func add(t *testing.T, h *host, tools ...tool.Tool) {
	t.Helper()
	if err := h.AddTools(context.Background(), tools...); err != nil {
		t.Error(err)
	}
}

func remove(t *testing.T, h *host, names ...string) {
	t.Helper()
	if err := h.RemoveTools(context.Background(), names...); err != nil {
		t.Error(err)
	}
}

// callbackTool returns a tool that calls a function while it runs.
func callbackTool(name string, do func()) tool.Tool {
	return newTool(name, writes, func(context.Context, *tool.Call) (tool.Result, error) {
		do()
		return tool.Text("ok"), nil
	})
}

func names[T any](tools []T, name func(T) string) string {
	var list []string
	for _, t := range tools {
		list = append(list, name(t))
	}
	return strings.Join(list, ",")
}

// offered returns the names of the session's tools: those the model sees, and those that run.
func (h *host) offered() string {
	return names(h.Definitions(), func(d llm.ToolDefinition) string { return d.Name }) + " " +
		names(h.Tools(), func(t tool.Tool) string { return t.Name })
}

// openOverWire opens a session over Anthropic's wire format; the server counts what it could read
// from its cache.
func openOverWire(t *testing.T, turns []fakellm.Turn, o agent.Options, tools ...tool.Tool) (*host, *fakellm.Server) {
	t.Helper()
	server := fakellm.New(fakellm.Script(turns...), fakellm.Options{})
	provider, err := wire.New(wire.Options{Name: "test", APIKey: "test", BaseURL: "http://x.test",
		HTTPClient: llmtest.PipeClient(t, server)})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, setup{tools: tools, options: o, wrap: func(llm.Provider) llm.Provider { return provider }}), server
}

func replays(t *testing.T, log *journal.Memory) {
	t.Helper()
	if err := agent.Replay(context.Background(), log, agent.ReplayOptions{}); err != nil {
		t.Error(err)
	}
}

func callsTo(names ...string) fakellm.Turn {
	var turn fakellm.Turn
	for _, name := range names {
		turn.Calls = append(turn.Calls, fakellm.Call{Name: name, Args: json.RawMessage(`{}`)})
	}
	return turn
}

// Tools are added late, replaced, changed and removed. Each batch that the model can see begins one
// epoch. Other changes leave all bytes before the end of the request unchanged.
func TestJ6_ToolsComeAndGo(t *testing.T) {
	var h *host
	step := 0
	changes := []func(){
		// before a call of late
		func() { add(t, h, textTool("late", "one"), echo("later"), textTool("work", "new work")) },
		func() { add(t, h, textTool("late", "two")) },
		func() { add(t, h, described(textTool("late", "three"), "Is another tool now.")) },
		func() { remove(t, h, "late", "unheard of") },
	}
	change := callbackTool("change", func() { changes[step](); step++ })
	h, server := openOverWire(t, []fakellm.Turn{callsTo("change"), callsTo("late", "work"), callsTo("change"),
		callsTo("late"), callsTo("change"), callsTo("late"),
		callsTo("change"), callsTo("late"), {Text: "done"}}, agent.Options{}, change, echo("work"))
	h.submit(t, "go", agent.ReasonCompleted)
	if want := []int{0, 1, 1, 1, 1, 2, 2, 3, 3}; !slices.Equal(h.epochs(), want) {
		t.Errorf("epochs %v, want %v", h.epochs(), want)
	}
	outputs := map[string][]string{}
	for _, end := range only[*agent.ToolCallEnd](h) {
		outputs[end.Name] = append(outputs[end.Name], end.Output)
	}
	delete(outputs, "change")
	want := map[string][]string{"work": {"new work"},
		"late": {"one", "two", "three",
			`Error: the tool "late" was removed from this session; use another way. The tools are: change, work, later.`}}
	if diff := gocmp.Diff(want, outputs); diff != "" {
		t.Error(diff)
	}
	if got := h.offered(); got != "change,work,later change,work,later" {
		t.Errorf("offered %s", got)
	}
	requests, steps := server.Requests(), only[*agent.StepEnd](h)
	for i, r := range requests[1:] {
		same := h.epochs()[i] == h.epochs()[i+1]
		if before := head(requests[i].Body); strings.HasPrefix(head(r.Body), before) != same ||
			!strings.Contains(before, `"messages"`) {
			t.Errorf("request %d begins as the one before: %v, want %v\n%s\n%s", i+2, !same, same, requests[i].Body,
				r.Body)
		}
		if read, written := steps[i+1].Usage.CacheRead,
			steps[i].Usage.CacheRead+steps[i].Usage.CacheWrite; (read == written) != same {
			t.Errorf("request %d reads %d tokens from the cache, of %d that are there", i+2, read, written)
		}
	}
}

// head returns a request up to the end of its messages, without the cache marks.
func head(body []byte) string {
	head, _, _ := strings.Cut(strings.ReplaceAll(string(body), `,"cache_control":{"type":"ephemeral"}`, ""),
		`],"max_tokens"`)
	return head
}

// A running call ends normally when its tool is removed. A call that waits behind it gets an error
// that the tool is gone.
func TestJ6_RemovedWhileItRuns(t *testing.T) {
	var h *host
	work := callbackTool("work", func() { remove(t, h, "work", "set") })
	h = open(t, setup{tools: []tool.Tool{work},
		steps: []llmtest.Step{llmtest.Calls(call("work")), llmtest.Calls(call("work")), llmtest.Text("done")}})
	h.submit(t, "go", agent.ReasonCompleted)
	ends := only[*agent.ToolCallEnd](h)
	if ends[0].Output != "ok" || !strings.Contains(ends[1].Output, `the tool "work" was removed`) || !ends[1].IsError {
		t.Errorf("results %q and %q", ends[0].Output, ends[1].Output)
	}
	if want := []string{"model-1//work", "model-1//", "model-1//"}; !slices.Equal(h.requestSettings(), want) {
		t.Errorf("asked %q", h.requestSettings())
	}
}

// A tool that is added during a model call is there for the next one, and a call of a tool that was
// removed meanwhile has a result.
func TestJ6_ToolsChangeDuringAModelCall(t *testing.T) {
	var h *host
	h = open(t, setup{tools: []tool.Tool{echo("old")}, steps: []llmtest.Step{
		llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
			add(t, h, echo("new"))
			remove(t, h, "old")
			return llmtest.Calls(call("old"), call("new"))
		}), llmtest.Text("done")}})
	h.submit(t, "go", agent.ReasonCompleted)
	if !strings.Contains(h.results(), `"old" was removed`) || !strings.HasSuffix(h.results(), "|new ran") {
		t.Errorf("results %q", h.results())
	}
	if want := []string{"model-1//old", "model-1//new"}; !slices.Equal(h.requestSettings(), want) {
		t.Errorf("asked %q", h.requestSettings())
	}
}

// A session that is resumed without its tools gets them later. The request is as if they had never
// been away, and nothing is written. Tools that the model does not know are offered only when they
// are added.
func TestJ6_ToolsComeBackAfterAResume(t *testing.T) {
	turns := []fakellm.Turn{callsTo("server"), {Text: "done"}, {Text: "more"}}
	log := new(journal.Memory)
	h, server := openOverWire(t, turns, agent.Options{Journal: log}, echo("work"), textTool("server", "hello"))
	h.submit(t, "go", agent.ReasonCompleted)
	records := all(t, log)
	h.submit(t, "more", agent.ReasonCompleted)

	log = journal.NewMemory(records...)
	rest, again := openOverWire(t, []fakellm.Turn{callsTo("server"), {Text: "done"}, {Text: "more"}}[2:],
		agent.Options{Journal: log}, echo("work"), echo("unknown"))
	if rest.warned() != "tools_missing" || rest.offered() != "work,server work" {
		t.Errorf("warned %q, offered %s", rest.warned(), rest.offered())
	}
	before := log.Len()
	add(t, rest, textTool("server", "back again"))
	if rest.offered() != "work,server work,server" || log.Len() != before {
		t.Errorf("offered %s, %d more records", rest.offered(), log.Len()-before)
	}
	rest.submit(t, "more", agent.ReasonCompleted)
	if want, got := server.Requests()[2].Body, again.Requests()[0].Body; !bytes.Equal(want, got) {
		t.Errorf("the request differs after a resume:\n%s\n%s", want, got)
	}
	replays(t, log)
	add(t, rest, echo("unknown"))
	if rest.offered() != "work,server,unknown work,server,unknown" || log.Len() == before {
		t.Errorf("offered %s", rest.offered())
	}
}

// The result for a tool that is not there yet says that it may come, and the same call runs once it
// has come.
func TestJ6_CallsOfAMissingTool(t *testing.T) {
	log := new(journal.Memory)
	h := open(t, setup{tools: []tool.Tool{echo("work"), echo("server")}, steps: []llmtest.Step{llmtest.Text("hi")},
		options: agent.Options{Journal: log}})
	h.submit(t, "go", agent.ReasonCompleted)
	log = journal.NewMemory(all(t, log)...)
	var rest *host
	rest = open(t, setup{tools: []tool.Tool{callbackTool("work", func() { add(t, rest, echo("server")) }),
		echo("unknown")}, options: agent.Options{Journal: log},
		steps: []llmtest.Step{llmtest.Calls(call("server"), call("unknown")), llmtest.Calls(call("work")),
			llmtest.Calls(call("server")), llmtest.Text("done")}})
	rest.submit(t, "go on", agent.ReasonCompleted)
	ends := only[*agent.ToolCallEnd](rest)
	first := ends[0].Output + ends[1].Output
	if !strings.Contains(first, `the tool "server" is not there now`) ||
		!strings.Contains(first, `unknown tool "unknown"`) || ends[3].Output != "server ran" {
		t.Errorf("results %q and %q", first, ends[3].Output)
	}
	if want := []int{0, 0, 0, 0}; !slices.Equal(rest.epochs(), want) {
		t.Errorf("epochs %v", rest.epochs())
	}
	replays(t, log)
}

// Added tools are written as they are sent, and a session that is resumed with the same tools
// continues.
func TestJ6_AddedToolsAreInTheJournal(t *testing.T) {
	loose := tool.Tool{ToolDefinition: llm.ToolDefinition{Name: "loose", Description: "<b>",
		Parameters: []byte(`{ "type": "object",  "properties": {} }`)}, Run: echo("loose").Run}
	for name, change := range map[string]func(h *host){
		"AddTools": func(h *host) { add(t, h, loose) },
		"Set":      func(h *host) { set(t, h, agent.Settings{Tools: []tool.Tool{echo("work"), loose}}) },
	} {
		t.Run(name, func(t *testing.T) {
			log := new(journal.Memory)
			h := open(t, setup{tools: []tool.Tool{echo("work")}, options: agent.Options{Journal: log},
				steps: []llmtest.Step{llmtest.Text("1"), llmtest.Text("2")}})
			change(h) // before anything else
			h.submit(t, "go", agent.ReasonCompleted)
			records := all(t, log)
			h.submit(t, "more", agent.ReasonCompleted)
			log = journal.NewMemory(records...)
			rest := open(t, setup{tools: []tool.Tool{echo("work"), loose}, options: agent.Options{Journal: log},
				steps: []llmtest.Step{llmtest.Text("2")}})
			before := log.Len()
			add(t, rest, loose)
			if log.Len() != before || rest.warned() != "" {
				t.Errorf("%d more records, warned %q", log.Len()-before, rest.warned())
			}
			rest.submit(t, "more", agent.ReasonCompleted)
			checkSameRequest(t, h.model.Requests()[1], rest.model.Requests()[0])
			replays(t, log)
		})
	}
}

// A batch that takes tools away and brings others is one record, and so one epoch. If a part of it
// is invalid, nothing changes.
func TestJ6_ReplacedInOneRecord(t *testing.T) {
	log := new(journal.Memory)
	h := open(t, setup{tools: []tool.Tool{echo("work"), echo("old")}, options: agent.Options{Journal: log},
		steps: []llmtest.Step{llmtest.Text("1"), llmtest.Text("2")}})
	h.submit(t, "go", agent.ReasonCompleted)
	before := log.Len()
	if err := h.ReplaceTools(context.Background(), []string{"old"},
		tool.Tool{ToolDefinition: llm.ToolDefinition{Name: "broken", Parameters: []byte("x")}}); err == nil {
		t.Error("a broken tool was added")
	}
	if log.Len() != before || h.offered() != "work,old work,old" {
		t.Errorf("%d more records; offered %s", log.Len()-before, h.offered())
	}
	if err := h.ReplaceTools(context.Background(), []string{"old", "unheard of"}, echo("new"),
		described(echo("work"), "Works.")); err != nil {
		t.Fatal(err)
	}
	if log.Len() != before+1 || h.offered() != "work,new work,new" {
		t.Errorf("%d more records; offered %s", log.Len()-before, h.offered())
	}
	h.submit(t, "more", agent.ReasonCompleted)
	replays(t, log)
}

// An invalid change is an error and changes nothing, not even in part.
func TestJ6_InvalidToolChanges(t *testing.T) {
	broken := tool.Tool{ToolDefinition: llm.ToolDefinition{Name: "broken", Parameters: []byte("x")}}
	schema := json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"]}`)
	for name, c := range map[string]struct {
		options agent.Options
		change  func(h *host) error
		says    string
	}{
		"a broken tool": {agent.Options{}, func(h *host) error {
			return h.AddTools(context.Background(), echo("new"), echo("work"), broken)
		}, "broken"},
		"the result's": {withResult(schema), func(h *host) error {
			return h.AddTools(context.Background(), echo("new"), echo("final_result"))
		}, "another name"},
		"not the result": {withResult(schema), func(h *host) error {
			return h.RemoveTools(context.Background(), "work", "final_result")
		}, "cannot be removed"},
		"the chosen": {agent.Options{Request: agent.RequestOptions{ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed,
			Name: "work"}}}, func(h *host) error { return h.RemoveTools(context.Background(), "work") }, "ToolChoice"},
		"an ended wait": {agent.Options{}, func(h *host) error { return h.AddTools(ended(), echo("new")) },
			"canceled"},
		"a full disk": {agent.Options{Journal: &failing{left: 1}},
			func(h *host) error { return h.AddTools(context.Background(), echo("new"), textTool("work", "no")) },
			errDisk.Error()},
		"a closed one": {agent.Options{},
			func(h *host) error { _ = h.Close(); return h.AddTools(context.Background(), echo("new")) }, "closed"},
		"a needless one": {agent.Options{}, func(h *host) error {
			return h.AddTools(context.Background(), coding.AskUser())
		}, ""},
		"nothing is less": {agent.Options{}, func(h *host) error { return h.RemoveTools(context.Background()) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, setup{tools: []tool.Tool{echo("work")}, options: c.options, fails: true})
			before := h.offered()
			err := c.change(h)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v", err)
			}
			if strings.Count(fmt.Sprint(err), "agent:") > 1 {
				t.Errorf("error %v", err)
			}
			if h.offered() != before || h.FoldedState().Epoch != 0 {
				t.Errorf("offered %s, before %s", h.offered(), before)
			}
			if run, err := h.Tools()[0].Run(context.Background(), &tool.Call{Args: "{}"}); err != nil ||
				run.Content.Text() != "work ran" {
				t.Errorf("the tool is another one: %q, %v", run.Content.Text(), err)
			}
		})
	}
}

func withResult(schema json.RawMessage) agent.Options {
	return agent.Options{Policy: agent.Policy{Result: &agent.ResultPolicy{Schema: schema}}}
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Servers that start at the same time do not lose each other's tools.
func TestJ6_ConcurrentToolChanges(t *testing.T) {
	h := open(t, setup{tools: []tool.Tool{echo("work")}})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() { add(t, h, echo(fmt.Sprint("a", i)), echo(fmt.Sprint("b", i))) })
	}
	group.Wait()
	if got := len(h.Definitions()); got != 17 || len(h.Tools()) != got {
		t.Errorf("offered %s", h.offered())
	}
	for i, d := range h.Definitions()[1:] {
		if strings.HasPrefix(d.Name, "a") != (i%2 == 0) {
			t.Errorf("batches are mixed: %s", h.offered())
		}
	}
}

// A subagent has its session's tools at the time of its start, without those removed earlier.
func TestJ6_SubagentsHaveTheCurrentTools(t *testing.T) {
	var h *host
	change := callbackTool("change", func() { add(t, h, echo("late")); remove(t, h, "early") })
	h = open(t, setup{tools: append(coding.Agents(), change, echo("early")),
		options: agent.Options{Subagents: &agent.Subagents{}}, steps: byTask(map[string][]llmtest.Step{
			"go": {llmtest.Calls(call("change")), llmtest.Calls(spawn("help")), llmtest.Calls(wait("agent-1")),
				llmtest.Text("done")},
			"help": {llmtest.Calls(call("late")), llmtest.Text("here")}})})
	h.submit(t, "go", agent.ReasonCompleted)
	for _, r := range h.requests("help") {
		if got := names(r.Tools, func(d llm.ToolDefinition) string { return d.Name }); got != "change,late" {
			t.Errorf("the subagent has %s", got)
		}
	}
	if text := h.requests("help")[1].Messages[3].Parts[0].(llm.ToolResult).Content.Text(); text != "late ran" {
		t.Errorf("its call came to %q", text)
	}
}

// A host may change tools from OnEvent, and the next model call has them. Tools added during that
// call are in the one after it.
func TestJ6_ToolsAddedByOnEvent(t *testing.T) {
	var h *host
	h = open(t, setup{tools: []tool.Tool{echo("work")},
		steps: []llmtest.Step{llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
			add(t, h, echo("later"))
			return llmtest.Calls(call("late"))
		}), llmtest.Text("done"), llmtest.Text("done again")},
		options: agent.Options{OnEvent: func(ev agent.Event) {
			if input, ok := ev.(*agent.UserInput); ok {
				add(t, h, echo(input.Text))
				remove(t, h, "work")
			}
		}}})
	h.submit(t, "late", agent.ReasonCompleted)
	h.submit(t, "again", agent.ReasonCompleted)
	if want := []string{"model-1//late", "model-1//late,later",
		"model-1//late,later,again"}; !slices.Equal(h.requestSettings(), want) || h.results() != "late ran" {
		t.Errorf("asked %q, results %q", h.requestSettings(), h.results())
	}
	if want := []int{2, 3, 4}; !slices.Equal(h.epochs(), want) {
		t.Errorf("epochs %v, want %v", h.epochs(), want)
	}
}

// A call that has not begun when its tool is removed does not run.
func TestJ6_RemovedBeforeItBegins(t *testing.T) {
	var h *host
	ran := false
	first := newTool("first", tool.Access{Effect: tool.Exclusive}, func(context.Context, *tool.Call) (tool.Result,
		error) {
		remove(t, h, "work")
		return tool.Text("ok"), nil
	})
	work := newTool("work", writes, func(context.Context, *tool.Call) (tool.Result, error) {
		ran = true
		return tool.Text("ran"), nil
	})
	h = open(t, setup{tools: []tool.Tool{first, work},
		steps: []llmtest.Step{llmtest.Calls(call("first"), call("work")), llmtest.Text("done")}})
	h.submit(t, "go", agent.ReasonCompleted)
	if texts := resultTexts(h.History()); ran || !strings.Contains(texts, "was removed") {
		t.Errorf("ran %v, results %s", ran, texts)
	}
}

// The window that a host sets for an unknown model stays when tools change.
func TestJ6_WindowStaysWithTools(t *testing.T) {
	log := new(journal.Memory)
	h := open(t, setup{options: agent.Options{Journal: log, Policy: agent.Policy{Window: 12345}}})
	add(t, h, echo("x"))
	if state, err := agent.Load(context.Background(), log); err != nil || state.Policy.Window != 12345 {
		t.Errorf("window %d, %v", state.Policy.Window, err)
	}
}
