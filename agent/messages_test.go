package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// briefSummary is a summary without any details.
var briefSummary = llmtest.Respond(llm.Response{Message: llm.Assistant("something was done"),
	Usage: llm.Usage{Input: 10, Output: 4}})

// answerSummaries returns a model that answers requests for a summary with briefSummary and all
// others with its script.
func answerSummaries(script ...llmtest.Step) []llmtest.Step {
	n := 0
	return slices.Repeat([]llmtest.Step{llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
		if len(req.Tools) == 0 {
			return briefSummary
		}
		if n++; n > len(script) {
			return llmtest.Text("the script is at its end")
		}
		return script[n-1]
	})}, 4*len(script)+20)
}

// lastRequestText returns the joined texts of the last request that does not ask for a summary.
func (h *host) lastRequestText() string {
	for _, req := range slices.Backward(h.model.Requests()) {
		if len(req.Tools) == 0 {
			continue
		}
		var b strings.Builder
		for _, m := range req.Messages {
			b.WriteString(m.Parts.Text() + "\n")
		}
		return b.String()
	}
	return ""
}

func compactAll(t *testing.T, h *host) {
	t.Helper()
	before := len(only[*agent.Compaction](h))
	if err := h.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(only[*agent.Compaction](h)) != before+1 {
		t.Fatalf("nothing was compacted: %s, warned %q", h.turns(), h.warned())
	}
}

// The user's messages, first and later ones, are in the last request word for word, even after many
// summaries without them.
func TestI12_UserMessagesStay(t *testing.T) {
	const rule, steer = "Clean up the  module.\nNever touch vendor/legacy.go, whatever happens!",
		"\tuse tabs, \"please\"\n"
	script := slices.Repeat([]llmtest.Step{llmtest.Calls(call("print"))}, 22)
	script[10], script[21] = llmtest.Text("half"), llmtest.Text("all of it")
	h := openLong(t, agent.Options{}, answerSummaries(script...))
	if err := h.Steer(context.Background(), steer); err != nil {
		t.Fatal(err)
	}
	h.submit(t, rule, agent.ReasonCompleted)
	h.submit(t, "now the rest", agent.ReasonCompleted)
	if n := len(only[*agent.Compaction](h)); n < 3 {
		t.Fatalf("%d compactions", n)
	}
	sent := h.lastRequestText()
	for _, text := range []string{rule, steer, "now the rest"} {
		if strings.Count(sent, text) != 1 {
			t.Errorf("%q is %d times in the last request:\n%s", text, strings.Count(sent, text), sent)
		}
	}
	if strings.Index(sent, rule) > strings.Index(sent, steer) {
		t.Errorf("the messages are not in their order:\n%s", sent)
	}
}

// A task of a quarter of the window is not cut, and the session continues.
func TestI12_TheTaskStaysWhole(t *testing.T) {
	var task strings.Builder
	for i := range 250 {
		fmt.Fprintf(&task, "%3d: a line of the task which counts.\n", i)
	}
	if task.Len() < 9_200 || task.Len() > 9_900 {
		t.Fatalf("%d bytes", task.Len())
	}
	h := openLong(t, agent.Options{}, worker(12, llmtest.Text("done"), summaryAnswer))
	result := h.submit(t, task.String(), agent.ReasonCompleted)
	if n := len(only[*agent.Compaction](h)); n < 3 || result.ToolRounds != 12 {
		t.Fatalf("%d compactions, %+v", n, result)
	}
	if sent := h.lastRequestText(); strings.Count(sent, task.String()) != 1 ||
		!strings.Contains(sent, "being worked on is that of turn 1.") {
		t.Errorf("the task is not whole:\n%s", sent)
	}
	for _, e := range only[*agent.Compaction](h) {
		if e.TokensAfter-task.Len()/4 >= size/2 {
			t.Errorf("%+v", e)
		}
	}
}

// Newer messages stay whole up to a quarter of the window. The model sees the first line of older
// ones and can read the rest, also in a resumed session and in a fork.
func TestI12_OlderMessagesByTheirFirstLine(t *testing.T) {
	message := func(n int) string {
		return fmt.Sprintf("Wish %d of many\n%s", n, strings.Repeat(fmt.Sprintf("detail %d. ", n), 270)) // 3 KB
	}
	log := new(journal.Memory)
	o := agent.Options{Journal: log, Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}}
	steps := slices.Repeat([]llmtest.Step{llmtest.Text("ok")}, 8)
	read := llmtest.Calls(llmtest.Call("read_output", `{"turns":"3"}`),
		llmtest.Call("read_output", `{"pattern":"detail [0-9]"}`))
	h := openLong(t, o, answerSummaries(append(steps, read, llmtest.Text("seen"))...))
	for n := range 8 {
		h.submit(t, message(n+1), agent.ReasonCompleted)
		if n > 3 {
			compactAll(t, h)
		}
	}
	check := func(t *testing.T, h *host) {
		t.Helper()
		h.submit(t, "and now?", agent.ReasonCompleted)
		sent := h.lastRequestText()
		for n := 1; n <= 8; n++ {
			// a quarter of the window is 10,000 characters
			if whole := strings.Contains(sent, message(n)); whole != (n > 5) {
				t.Errorf("message %d is whole: %v", n, whole)
			}
			if !strings.Contains(sent, fmt.Sprintf("Wish %d of many", n)) {
				t.Errorf("message %d is gone", n)
			}
		}
		if !strings.Contains(sent, "turn 3, user: Wish 2 of many [...]") {
			t.Errorf("no reference to turn 3:\n%s", sent)
		}
		outputs := h.outputs()
		if got := outputs[0]; !strings.Contains(got, "[turn 3, user]") || strings.Count(got, "detail 2. ") != 270 {
			t.Errorf("turn 3 is %q", got)
		}
		if got := outputs[1]; !strings.Contains(got, "[turn 3, user]") || !strings.Contains(got, "[turn 1, user]") {
			t.Errorf("the search found %q", got)
		}
	}
	check(t, h)
	records := all(t, log)
	records = records[:slices.IndexFunc(records, func(r journal.Record) bool {
		return strings.Contains(string(r.Data), "and now?")
	})]
	for name, records := range map[string][]journal.Record{"resumed": records, "forked": forkOf(t, "other",
		records...)} {
		t.Run(name, func(t *testing.T) {
			o.Journal = journal.NewMemory(records...)
			check(t, openLong(t, o, answerSummaries(read, llmtest.Text("seen"))))
		})
	}
}

// forkOf returns the records of a fork of a session with these records.
func forkOf(t *testing.T, id string, records ...journal.Record) []journal.Record {
	t.Helper()
	ctx := context.Background()
	store := journal.NewMemoryStore(false)
	log, err := store.Create(ctx, "source")
	if err == nil {
		err = errors.Join(log.Append(ctx, 1, records...), log.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	fork, err := agent.Fork(ctx, store, "source", 0, id, "")
	if err != nil {
		t.Fatal(err)
	}
	return all(t, fork)
}

// Replaced calls, results and answers can be read by the numbers of their turns, across
// compactions, and also when only the journal has them.
func TestI12_ReplacedTurnsCanBeRead(t *testing.T) {
	log := new(journal.Memory)
	o := agent.Options{Journal: log, Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}}
	say := newTool("say", readOnly, func(_ context.Context, c *tool.Call) (tool.Result,
		error) {
		return tool.Text("said " + c.Args), nil
	})
	read := llmtest.Calls(llmtest.Call("read_output", `{"turns":"2-8"}`),
		llmtest.Call("read_output", `{"pattern":"^said .*second"}`),
		llmtest.Call("read_output", `{"turns":"99"}`))
	s := setup{models: window(size), tools: []tool.Tool{say, coding.ReadOutput()}, options: o, steps: answerSummaries(
		llmtest.Calls(call("say", `"path":"first"`)), llmtest.Text("one"),
		llmtest.Calls(call("say", `"path":"second"`)), llmtest.Text("two"),
		llmtest.Text("three"), read, llmtest.Text("seen"))}
	h := open(t, s)
	for _, task := range []string{"a", "b", "c"} {
		h.submit(t, task, agent.ReasonCompleted)
		compactAll(t, h)
	}
	check := func(h *host) {
		t.Helper()
		h.submit(t, "look back", agent.ReasonCompleted)
		outputs := h.outputs()
		want := "[turn 2, assistant]\n  1 | [call say] {\"path\":\"first\"}\n[turn 3, tool_results]\n  2 | [result " +
			"of say] said {\"path\":\"first\"}\n[turn 4, assistant]\n  3 | one\n[turn 6, user]\n  4 | b\n[turn 7, " +
			"assistant]\n  5 | [call say] {\"path\":\"second\"}\n[turn 8, tool_results]\n  6 | [result of say] said " +
			"{\"path\":\"second\"}\n"
		if outputs[0] != want {
			t.Errorf("read\n%s\nwant\n%s", outputs[0], want)
		}
		if !strings.Contains(outputs[1], "No line matches") || !strings.Contains(outputs[2],
			"no summary has replaced one of these turns") {
			t.Errorf("%q", outputs[1:])
		}
	}
	check(h)
	records := all(t, log)
	last := slices.IndexFunc(records, func(r journal.Record) bool {
		return strings.Contains(string(r.Data), "look back")
	})
	s.options.Journal, s.steps = journal.NewMemory(records[:last]...), answerSummaries(read, llmtest.Text("seen"))
	check(open(t, s))
	s.options.Journal = journal.NewMemory(records[:last]...)
	s.steps = answerSummaries(llmtest.Text("four"), read, llmtest.Text("seen"),
		llmtest.Calls(llmtest.Call("read_output", `{"pattern":"^(a|d)$"}`)),
		llmtest.Text("seen")) // turns replaced by one run come before those replaced by the next
	again := open(t, s)
	again.submit(t, "d", agent.ReasonCompleted)
	compactAll(t, again)
	check(again)
	again.submit(t, "once more", agent.ReasonCompleted)
	if got := again.outputs(); !strings.HasPrefix(got[len(got)-1], "[turn 1, user]\n  1 | a\n[turn ") ||
		!strings.HasSuffix(got[len(got)-1], " | d\n") {
		t.Errorf("the turns of both runs are %q", got[len(got)-1])
	}
}

// The user's images are kept like text, and so are answers to questions.
func TestI12_ImagesAndAnswersStay(t *testing.T) {
	image := llm.Media{MIME: "image/png", Data: []byte(llmtest.PNG)}
	h := open(t, setup{models: window(size), tools: []tool.Tool{coding.AskUser()},
		options: agent.Options{Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}},
			Questions: &agent.Questions{}}, steps: answerSummaries(
			llmtest.Calls(llmtest.Call("ask_user", `{"question":"Which database?"}`)), llmtest.Text("ok"),
			llmtest.Text("done"))})
	if _, err := h.Submit(context.Background(), "like this", agent.Attach(image)); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "Postgres, and only version 17", agent.ReasonCompleted)
	compactAll(t, h)
	compact := func(ev agent.Event) bool { return ev.Head().Kind == "COMPACTION" }
	if !slices.ContainsFunc(h.events, compact) {
		t.Fatal("no compaction")
	}
	h.submit(t, "go on", agent.ReasonCompleted)
	sent := h.model.Requests()[len(h.model.Requests())-1].Messages[1]
	text := sent.Parts.Text()
	if !strings.Contains(text, "To the question: Which database?\nPostgres, and only version 17\n") ||
		!strings.Contains(text, "like this\n[image/png") {
		t.Errorf("sent %s", text)
	}
	if m, ok := sent.Parts[len(sent.Parts)-1].(llm.Media); !ok || string(m.Data) != llmtest.PNG {
		t.Errorf("the image is gone: %v", sent.Parts)
	}
}

// An answer during the call is kept like an answer by the next input.
func TestI12_AnswersAtOnceStay(t *testing.T) {
	answer := func(context.Context, tool.Question) (tool.Answer, error) {
		return tool.Answer{Text: "the green one"}, nil
	}
	h := open(t, setup{models: window(size), tools: []tool.Tool{coding.AskUser()},
		options: agent.Options{Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}},
			Questions: &agent.Questions{Answer: answer}}, steps: answerSummaries(
			llmtest.Calls(llmtest.Call("ask_user", `{"question":"Which door?"}`)), llmtest.Text("ok"),
			llmtest.Text("done"))})
	h.submit(t, "go", agent.ReasonCompleted)
	compactAll(t, h)
	h.submit(t, "on", agent.ReasonCompleted)
	if sent := h.lastRequestText(); !strings.Contains(sent, "To the question: Which door?\nthe green one\n") {
		t.Errorf("sent %s", sent)
	}
}

// The todo list survives a compaction, also if the session is resumed or forked in between.
func TestI12_TheTodoListStays(t *testing.T) {
	const plan = `{"plan":[{"step":"Look at <all> \"places\"","status":"completed"},{"step":"Change them","status":"in_progress"}]}`
	log := new(journal.Memory)
	s := setup{models: window(size), tools: []tool.Tool{coding.UpdatePlan()}, options: agent.Options{Journal: log,
		Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}},
		steps: answerSummaries(llmtest.Calls(llmtest.Call("update_plan",
			`{"plan":[{"step":"old","status":"pending"}]}`)), llmtest.Calls(llmtest.Call("update_plan", plan)),
			llmtest.Text("planned"), llmtest.Text("more"))}
	h := open(t, s)
	h.submit(t, "go", agent.ReasonCompleted)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	checkReplay(t, log, h.events)
	for name, records := range map[string][]journal.Record{"resumed": all(t, log), "forked": forkOf(t, "other",
		all(t, log)...)} {
		t.Run(name, func(t *testing.T) {
			s.options.Journal, s.steps = journal.NewMemory(records...), answerSummaries(llmtest.Text("more"),
				llmtest.Text("and more"))
			rest := open(t, s)
			if got := rest.FoldedState().Notes[tool.PlanNote]; string(got.Data) != plan {
				t.Errorf("the note is %s", got.Data)
			}
			compactAll(t, rest)
			rest.submit(t, "on", agent.ReasonCompleted)
			compactAll(t, rest)
			rest.submit(t, "on", agent.ReasonCompleted)
			if sent := rest.lastRequestText(); strings.Count(sent, plan) != 1 {
				t.Errorf("sent %s", sent)
			}
		})
	}
}

// Replaced turns need no store for outputs: without a journal, memory keeps them.
func TestI12_WithoutAStore(t *testing.T) {
	o := agent.Options{OutputDir: t.TempDir() + "/missing",
		Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}}
	h := openLong(t, o, answerSummaries(llmtest.Text("ok"), llmtest.Text("more")))
	h.submit(t, "go", agent.ReasonCompleted)
	compactAll(t, h)
	h.submit(t, "on", agent.ReasonCompleted)
	if sent := h.lastRequestText(); h.warned() != "" || !strings.Contains(sent, "read_output") ||
		!strings.Contains(sent, "\ngo\n") {
		t.Errorf("warned %q, sent %s", h.warned(), sent)
	}
}

// A note is kept by its kind, in the journal, and its text is a turn before the next model call.
func TestI12_Notes(t *testing.T) {
	log := new(journal.Memory)
	noting := newTool("noting", readOnly, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		return tool.Text("ok"), c.Session.Note(context.Background(), "weather", json.RawMessage(`{ "sky" : "<grey>" }`),
			"It rains.")
	})
	s := setup{tools: []tool.Tool{noting}, options: agent.Options{Journal: log},
		steps: []llmtest.Step{llmtest.Calls(call("noting")), llmtest.Text("done")}}
	h := open(t, s)
	if err := h.Note(context.Background(), "weather", json.RawMessage(`"sun"`), ""); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "go", agent.ReasonCompleted)
	if h.turns() != "user:user assistant:model tool_results:tools steering:note assistant:model" {
		t.Errorf("turns %s", h.turns())
	}
	if m := h.model.Requests()[1].Messages; m[len(m)-1].Parts.Text() != "It rains." {
		t.Errorf("sent %v", m)
	}
	for name, err := range map[string]error{
		"no kind": h.Note(context.Background(), " ", json.RawMessage(`1`), ""), "no JSON": h.Note(context.Background(),
			"x", json.RawMessage(`{`), ""), "nothing": h.Note(context.Background(), "x", nil, ""),
		"too long": h.Note(context.Background(), "x", json.RawMessage(`"`+strings.Repeat("x", 1<<20)+`"`), ""),
	} {
		if err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	checkReplay(t, log, h.events)
	if err := h.Note(context.Background(), "x", json.RawMessage(`1`), ""); !errors.Is(err, agent.ErrClosed) {
		t.Errorf("a closed session: %v", err)
	}
	state, err := agent.Load(context.Background(), log)
	if err != nil {
		t.Fatal(err)
	}
	if got := state.Notes["weather"]; string(got.Data) != `{"sky":"<grey>"}` || got.Text != "It rains." ||
		len(state.Notes) != 1 {
		t.Errorf("notes %v", state.Notes)
	}
}
