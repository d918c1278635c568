package agent_test

import (
	"context"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// byAnswerCount returns steps that answer by the number of answers in the conversation, like a
// model that is asked again after a crash.
func byAnswerCount(steps ...llmtest.Step) []llmtest.Step {
	step := llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
		n := 0
		for _, m := range req.Messages {
			if m.Role == llm.RoleAssistant {
				n++
			}
		}
		return steps[min(n, len(steps)-1)]
	})
	calls := make([]llmtest.Step, 20)
	for i := range calls {
		calls[i] = step
	}
	return calls
}

// A session resumes from any prefix of its records and comes to the same end: the same history and
// the same next request, except for results with an unknown outcome.
func TestA19_EveryPrefixResumesToTheSameEnd(t *testing.T) {
	look := newTool("look", readOnly, func(context.Context, *tool.Call) (tool.Result,
		error) {
		return tool.Text("a view"), nil
	})
	session := func(log journal.Log) setup {
		return setup{
			tools: []tool.Tool{look, echo("change")},
			steps: byAnswerCount(
				llmtest.Calls(call("look"), call("change")),
				llmtest.Answer(llm.Thinking{Text: "hm", Signature: "sig"}, llm.Text{Text: "and"},
					llm.ToolCall{ID: "x", Name: "look", Args: "{}"}),
				llmtest.Text("the first is done"),
				llmtest.Text("the second is done")),
			options: agent.Options{Journal: log, Retry: llm.RetryPolicy{Max: -1}},
		}
	}
	log := new(journal.Memory)
	whole := open(t, session(log))
	effort := "high"
	if err := whole.Set(context.Background(), agent.Settings{Effort: &effort}); err != nil {
		t.Fatal(err)
	}
	if err := whole.Steer(context.Background(), "look twice"); err != nil {
		t.Fatal(err)
	}
	if err := whole.FollowUp(context.Background(), "the second task"); err != nil {
		t.Fatal(err)
	}
	if result, err := whole.Submit(context.Background(), "the first task"); err != nil ||
		result.Text != "the second is done" {
		t.Fatalf("Submit = %+v, %v", result, err)
	}
	if err := whole.Close(); err != nil {
		t.Fatal(err)
	}
	records := all(t, log)
	if len(records) < 15 {
		t.Fatalf("only %d records", len(records))
	}
	unknown := 0
	for n := 1; n <= len(records); n++ {
		rest := open(t, session(journal.NewMemory(records[:n]...)))
		finish(t, rest, records[:n])
		want, got := whole.History(), rest.History()
		if hasUnknown(got) {
			unknown++
			want, got = withoutResults(want), withoutResults(got)
		}
		if diff := gocmp.Diff(want, got, cmpopts.IgnoreFields(agent.Turn{}, "Time")); diff != "" {
			t.Errorf("after the first %d records (last: %s) -uninterrupted +resumed:\n%s", n, records[n-1].Kind, diff)
		}
		if last := len(whole.model.Requests()) - 1; unknown == 0 && len(rest.model.Requests()) > 0 {
			checkSameRequest(t, whole.model.Requests()[last], rest.model.Requests()[len(rest.model.Requests())-1])
		}
		if start := rest.events[0].(*agent.SessionStart); !start.Resumed || start.SessionID != whole.ID() {
			t.Errorf("SESSION_START of a resumed session: %+v", start)
		}
	}
	if unknown == 0 || unknown > 2 {
		t.Errorf("%d prefixes have an unknown outcome, want those between the intent and the result of the one call "+
			"with effects", unknown)
	}
}

// finish brings a resumed session to the same end as the complete one.
func finish(t *testing.T, h *host, records []journal.Record) {
	t.Helper()
	ctx := context.Background()
	var err error
	switch inputs, ends := count(records, "input"), count(records, "end"); {
	case inputs == 0: // the task itself was never accepted
		effort := "high"
		if count(records, "setting") == 0 {
			err = h.Set(context.Background(), agent.Settings{Effort: &effort})
		}
		if err == nil && count(records, "queued") < 1 {
			err = h.Steer(context.Background(), "look twice")
		}
		if err == nil && count(records, "queued") < 2 {
			err = h.FollowUp(context.Background(), "the second task")
		}
		if err == nil {
			_, err = h.Submit(ctx, "the first task")
		}
	case inputs == ends+1:
		_, err = h.Continue(ctx)
	case inputs == 1: // between the end of the first input and the start of the follow-up
		_, err = h.Continue(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func count(records []journal.Record, kind string) int {
	n := 0
	for _, r := range records {
		if r.Kind == kind {
			n++
		}
	}
	return n
}

func all(t *testing.T, log agent.Records) []journal.Record {
	t.Helper()
	var records []journal.Record
	for r, err := range log.Records(context.Background(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

func hasUnknown(turns []agent.Turn) bool {
	for _, turn := range turns {
		for _, p := range turn.Message.Parts {
			if r, ok := p.(llm.ToolResult); ok && strings.Contains(r.Content.Text(), "outcome is unknown") {
				return true
			}
		}
	}
	return false
}

// withoutResults returns the turns without the results of calls with effects.
func withoutResults(turns []agent.Turn) []agent.Turn {
	var blank []agent.Turn
	for _, turn := range turns {
		parts := llm.Parts{}
		for _, p := range turn.Message.Parts {
			if r, ok := p.(llm.ToolResult); ok && r.Name == "change" {
				r.Content, r.IsError = nil, false
				p = r
			}
			parts = append(parts, p)
		}
		turn.Message.Parts = parts
		turn.Usage = llm.Usage{} // estimated from the lengths
		blank = append(blank, turn)
	}
	return blank
}

// unreadable is a journal whose records cannot be read again.
type unreadable struct{ *journal.Memory }

func (unreadable) Records(context.Context, int64) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) { yield(journal.Record{}, errDisk) }
}

// A session that gets its loaded state does not read the journal, and goes on from any prefix as
// one that reads it.
func TestK5_ResumeOfALoadedState(t *testing.T) {
	session := func(log journal.Log, loaded *agent.State) setup {
		return setup{tools: []tool.Tool{echo("change")},
			steps: byAnswerCount(llmtest.Calls(call("change"), call("change")), llmtest.Text("done"),
				llmtest.Text("again")),
			options: agent.Options{Journal: log, State: loaded}}
	}
	var log journal.Memory
	whole := open(t, session(&log, nil))
	if _, err := whole.Submit(t.Context(), "the task"); err != nil {
		t.Fatal(err)
	}
	records := all(t, &log)
	for n := 1; n <= len(records); n++ {
		var ends []*host
		var logs [2]*journal.Memory
		for i := range logs {
			logs[i] = journal.NewMemory(records[:n]...)
			state, err := agent.Load(t.Context(), logs[i])
			if err != nil {
				t.Fatal(err)
			}
			resumed := session(logs[i], nil)
			if i == 1 {
				resumed = session(unreadable{logs[i]}, state)
			}
			resumed.options.Dir = state.Dir() // so that open does not read the journal
			h := open(t, resumed)
			if i == 1 && state.Records != 0 {
				t.Error("the host still has the state")
			}
			if h.Status() == agent.StatusProcessing {
				_, err = h.Continue(t.Context())
			} else {
				_, err = h.Submit(t.Context(), "more")
			}
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, h)
		}
		if diff := gocmp.Diff(ends[0].History(), ends[1].History(), cmpopts.IgnoreFields(agent.Turn{},
			"Time")); diff != "" {
			t.Errorf("after %d records -read +loaded:\n%s", n, diff)
		}
		if diff := gocmp.Diff(all(t, logs[0]), all(t, logs[1]), cmpopts.IgnoreFields(journal.Record{}, "Time",
			"Data")); diff != "" {
			t.Errorf("after %d records -read +loaded:\n%s", n, diff)
		}
		if len(ends[0].model.Requests()) > 0 {
			checkSameRequest(t, ends[0].model.Requests()[0], ends[1].model.Requests()[0])
		}
	}
}

// Resume refuses a state that is not the journal's, and New any.
func TestK5_ResumeRefusesAnotherState(t *testing.T) {
	var log journal.Memory
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("done")}, options: agent.Options{Journal: &log}})
	early, err := agent.Load(t.Context(), &log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Submit(t.Context(), "the task"); err != nil {
		t.Fatal(err)
	}
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	o := agent.Options{Client: &llm.Client{Providers: []llm.Provider{h.model}}, Env: local, Journal: &log, State: early}
	if _, err := agent.Resume(t.Context(), o); err == nil || !strings.Contains(err.Error(), "load the state again") {
		t.Errorf("Resume = %v", err)
	}
	o.Journal, o.Profile.Provider, o.Model = nil, "test", "model-1"
	if _, err := agent.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "Options.State") {
		t.Errorf("New = %v", err)
	}
}

// Submit on a session that was killed during an input ends that input first: its open calls get
// error results.
func TestA19_SubmitAfterACrashEndsTheOpenInput(t *testing.T) {
	log := new(journal.Memory)
	var ran atomic.Int32
	work := newTool("work", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		ran.Add(1)
		return tool.Text("ok"), nil
	})
	steps := byAnswerCount(llmtest.Calls(call("work"), call("work")), llmtest.Text("done"))
	first := open(t, setup{tools: []tool.Tool{work}, steps: steps, options: agent.Options{Journal: log}})
	if _, err := first.Submit(context.Background(), "one"); err != nil {
		t.Fatal(err)
	}
	records := all(t, log)
	upToAnswer := 0
	for i, r := range records {
		if r.Kind == "answer" {
			upToAnswer = i + 1
			break
		}
	}
	ran.Store(0)
	resumed := open(t, setup{tools: []tool.Tool{work}, steps: steps,
		options: agent.Options{Journal: journal.NewMemory(records[:upToAnswer]...)}})
	if result, err := resumed.Submit(context.Background(), "two"); err != nil || result.Text != "done" {
		t.Fatalf("Submit = %+v, %v", result, err)
	}
	if n := ran.Load(); n != 0 {
		t.Errorf("%d calls of the old input ran", n)
	}
	var kinds []string
	for _, turn := range resumed.History() {
		kinds = append(kinds, string(turn.Kind))
	}
	if got := strings.Join(kinds, " "); got != "user assistant tool_results user assistant" {
		t.Errorf("history %s", got)
	}
}

// checkSameRequest compares the last request of an uninterrupted session with that of a resumed
// one.
func checkSameRequest(t *testing.T, want, got *llm.Request) {
	t.Helper()
	if diff := gocmp.Diff(want, got, cmpopts.IgnoreFields(llm.Request{}, "Memo", "Caller")); diff != "" {
		t.Errorf("the last request differs after a resume:\n%s", diff)
	}
}

// The state of a running session equals the state read from its journal.
func TestA19_TheJournalHoldsTheState(t *testing.T) {
	odd := tool.Tool{ToolDefinition: llm.ToolDefinition{Name: "odd", Description: "<b> & more",
		Parameters: []byte(`{ "type": "object",  "description": "<file> & more" }`)},
		Run: func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{Content: llm.TextParts("bad\xff <x>"), Done: true, Final: "bad\xff"}, nil
		}}
	synctest.Test(t, func(t *testing.T) {
		log := new(journal.Memory)
		h := open(t, setup{
			tools: []tool.Tool{odd},
			steps: []llmtest.Step{llmtest.Torn("half", llm.Errorf(llm.ErrServer, "bad\xff")),
				llmtest.Answer(llm.Text{Text: "<i>"}, llm.ToolCall{Name: "odd", Args: `{"a": "<&>"}`},
					llm.ToolCall{Name: "odd"})},
			options: agent.Options{Journal: log,
				Request: agent.RequestOptions{ProviderOptions: []byte(`{ "x" : "<&>" }`)}},
		})
		if _, err := h.Submit(context.Background(), "go \xff", agent.Attach(llm.Text{Text: "and \xff"},
			llm.Media{MIME: "image/png", Data: []byte(llmtest.PNG)})); err != nil {
			t.Fatal(err)
		}
		read := new(agent.State)
		for _, line := range all(t, log) {
			if err := read.Fold(line); err != nil {
				t.Fatal(err)
			}
		}
		live := h.FoldedState()
		if diff := gocmp.Diff(&live, read, gocmp.Exporter(func(reflect.Type) bool { return true }),
			cmpopts.IgnoreFields(agent.State{}, "seq")); diff != "" {
			t.Errorf("-live +read:\n%s", diff)
		}
	})
}

// A session that is killed between two attempts continues with the next one, and its events still
// pair up.
func TestA19_ResumesBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(journal.Memory)
		down := llmtest.Error(llm.Errorf(llm.ErrServer, "down"))
		first := open(t, setup{steps: []llmtest.Step{down, llmtest.Text("up")}, options: agent.Options{Journal: log}})
		if _, err := first.Submit(context.Background(), "go"); err != nil {
			t.Fatal(err)
		}
		records := all(t, log)
		upToFault := slices.IndexFunc(records, func(r journal.Record) bool { return r.Kind == "fault" }) + 1
		rest := open(t, setup{steps: []llmtest.Step{llmtest.Text("up")},
			options: agent.Options{Journal: journal.NewMemory(records[:upToFault]...)}})
		if result, err := rest.Continue(context.Background()); err != nil || result.Text != "up" {
			t.Fatalf("Continue = %+v, %v", result, err)
		}
		if !strings.Contains(rest.kinds(), "SESSION_START STEP_START ASSISTANT_TEXT_START") {
			t.Errorf("events %s", rest.kinds())
		}
		if seq := rest.events[0].Head().Seq; seq <= first.events[len(first.events)-1].Head().Seq {
			t.Errorf("the resumed session's events begin with the number %d", seq)
		}
	})
}

// New refuses a journal with a session, and Resume refuses an empty one.
func TestA19_AJournalThatHoldsASessionIsNotANewOne(t *testing.T) {
	log := new(journal.Memory)
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("hi")}, options: agent.Options{Journal: log}})
	if _, err := h.Submit(context.Background(), "go"); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.New(context.Background(), agent.Options{Client: &llm.Client{}, Env: env.ReadOnly(nil),
		Journal: log}); err == nil || !strings.Contains(err.Error(), "Resume") {
		t.Errorf("New on a journal that is in use: %v", err)
	}
	if _, err := agent.Resume(context.Background(), agent.Options{Client: &llm.Client{}, Env: env.ReadOnly(nil),
		Journal: new(journal.Memory)}); err == nil {
		t.Error("an empty journal was resumed")
	}
}
