package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/web"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// traceOf folds a whole journal.
func traceOf(t *testing.T, log agent.Records, m *secret.Masker) *web.Trace {
	t.Helper()
	trace := web.NewTrace(m, storyPrices)
	for line, err := range log.Records(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := trace.Add(line); err != nil {
			t.Fatal(err)
		}
	}
	return trace
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The overview tells the dearest parts of the prompt, the result of a call with its subject.
func TestV6_DearestParts(t *testing.T) {
	trace := traceOf(t, newWorkshop(t).story(), nil)
	parts := trace.Overview(1).Parts
	if len(parts) != 10 || parts[0].Cost < parts[1].Cost || parts[9].Cost == 0 {
		t.Errorf("%+v", parts)
	}
	if !slices.ContainsFunc(parts, func(p web.PromptPart) bool {
		return p.Name == "the result of read_file in turn 8" && p.Text == "greet.sh" && p.Requests == 7
	}) {
		t.Errorf("%+v", parts)
	}
}

// The rows and the overview of a session with everything that a timeline can have. Times and random
// ids are left out.
func TestN5_TraceOfAStory(t *testing.T) {
	w := newWorkshop(t)
	trace := traceOf(t, w.story(), nil)
	o, dir := trace.Overview(1), ""
	dir, o.Dir, o.Time, o.Created = o.Dir, "DIR", web.Times{}, time.Time{}
	o.Usage, o.Cost = llm.Usage{}, 0 // with an estimate for the attempt that broke off
	o.Steps.Time, o.Steps.Model, o.Steps.Tools, o.Steps.Waiting = nil, nil, nil, nil
	slices.SortFunc(o.Tools, func(a, b web.ToolSum) int { return strings.Compare(a.Name, b.Name) })
	for i := range o.Tools {
		o.Tools[i].MS = 0
	}
	for i := range o.Marks {
		o.Marks[i].Time = 0
	}
	o.Children[0].Session = "SESSION"
	lines := []string{asJSON(t, o)}
	for _, r := range trace.Rows(0, trace.Len()) {
		if r.Cost > 0 {
			r.Cost = 1
		}
		r.Seq, r.Time, r.MS, r.Text = 0, 0, 0, strings.ReplaceAll(r.Text, dir, "DIR")
		if r.Session != "" {
			r.Session = "SESSION"
		}
		raw, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(raw))
	}
	text := regexp.MustCompile(`summary: \d+ tokens, before \d+`).ReplaceAllString(strings.Join(lines, "\n"),
		"summary: N tokens, before M")
	golden := filepath.Join("testdata", "story.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text+"\n"); diff != "" {
		t.Error(diff)
	}
}

// A page that takes what Add names as changed has, after every record, what a new page gets. Rows
// never change.
func TestN5_TraceGrows(t *testing.T) {
	w := newWorkshop(t)
	trace := web.NewTrace(nil, nil)
	var rows []web.Row
	page := trace.Overview(1)
	for line, err := range w.story().Records(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		row, step, err := trace.Add(line)
		if err != nil {
			t.Fatal(err)
		}
		if row != len(rows) {
			t.Fatalf("record %d changes row %d of %d", line.N, row, len(rows))
		}
		rows = append(rows, trace.Rows(row, 1000)...)
		news, whole := trace.Overview(step), trace.Overview(1)
		news.Steps = joined(page.Steps, news.Steps)
		news.Marks, news.FirstMark = append(page.Marks[:news.FirstMark:news.FirstMark], news.Marks...), 0
		if diff := cmp.Diff(whole, news); diff != "" {
			t.Fatalf("record %d (%s): %s", line.N, line.Kind, diff)
		}
		if diff := cmp.Diff(trace.Rows(0, 1000), rows); diff != "" {
			t.Fatalf("record %d (%s): %s", line.N, line.Kind, diff)
		}
		if at := whole.Time; at.Total != at.Model+at.Tools+at.Waiting+at.Idle || min(at.Model, at.Tools, at.Waiting,
			at.Idle) < 0 {
			t.Fatalf("record %d: the parts of %+v do not add up", line.N, at)
		}
		page = news
	}
}

// joined puts the columns of an update in place of those that a page has.
func joined(have, news web.Steps) web.Steps {
	a, b := reflect.ValueOf(&have).Elem(), reflect.ValueOf(news)
	for i := range a.NumField() {
		if column := a.Field(i); column.Kind() == reflect.Slice {
			column.Set(reflect.AppendSlice(column.Slice3(0, news.First-1, news.First-1), b.Field(i)))
		}
	}
	return have
}

// The events of all rows together are those of the journal, each once, but for the ones that have
// no row.
func TestN5_ItemsHaveTheEvents(t *testing.T) {
	w := newWorkshop(t)
	log := w.story()
	trace := traceOf(t, log, nil)
	left := map[string]int{}
	err := agent.Project(t.Context(), log, func(ev agent.Event) {
		switch ev.(type) {
		case *agent.StepStart, *agent.StepEnd, *agent.AssistantTextStart, *agent.AssistantTextDelta:
		default:
			left[asJSON(t, ev)]++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range trace.Rows(0, 1000) {
		item, err := trace.Item(i)
		if err != nil || len(item.Events) == 0 || !reflect.DeepEqual(item.Row, row) {
			t.Fatalf("row %d (%s): %+v, %v", i, row.Kind, item, err)
		}
		for _, raw := range item.Events {
			ev, err := agent.UnmarshalEvent(raw)
			if err != nil {
				t.Fatal(err)
			}
			if _, end := ev.(*agent.StepEnd); end {
				continue
			}
			text := asJSON(t, ev)
			if left[text]--; left[text] < 0 {
				t.Errorf("row %d (%s) has an event that the journal does not have: %s", i, row.Kind, text)
			}
		}
	}
	for text, n := range left {
		if n > 0 {
			t.Errorf("no row has %s", text)
		}
	}
	if _, err := trace.Item(trace.Len()); err == nil {
		t.Error("there is an item behind the last row")
	}
}

// A search finds each row by texts behind it, in any case, and does not find others.
func TestN5_Search(t *testing.T) {
	w := newWorkshop(t)
	log := w.story()
	trace := traceOf(t, log, nil)
	rows := trace.Rows(0, 1000)
	for name, c := range map[string]struct {
		text string
		want func(web.Row) bool
	}{
		"a second line of a thought": {"THEN the file", func(r web.Row) bool { return r.Kind == web.RowThinking }},
		"an argument": {"sh greet.sh",
			func(r web.Row) bool { return r.Name == "shell" && r.Text == "sh greet.sh" }},
		"a diff":   {"+echo hello world", func(r web.Row) bool { return r.Name == "edit_file" }},
		"an error": {"the key is not valid", func(r web.Row) bool { return r.Kind == web.RowError }},
		"nothing":  {"no such text anywhere", func(web.Row) bool { return false }},
	} {
		got, err := trace.Search(t.Context(), c.text)
		var want []int
		for _, r := range rows {
			if c.want(r) {
				want = append(want, r.Index)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: rows %v, %v, want %v", name, got, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := trace.Search(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("a search that was given up returns %v", err)
	}
}

// A search finds all rows of a long session, of which the page shows those that fit its filter.
func TestN5_SearchFindsAllRows(t *testing.T) {
	store := journal.NewMemoryStore(false)
	if err := longsession.Write(t.Context(), store, "long", 1500); err != nil {
		t.Fatal(err)
	}
	log, err := store.Read(t.Context(), "long")
	if err != nil {
		t.Fatal(err)
	}
	found, err := traceOf(t, log, nil).Search(t.Context(), "sed -i")
	if err != nil || len(found) != 1500 {
		t.Errorf("%d rows, %v; 1500 calls have the text", len(found), err)
	}
}

// No row, overview, item or search tells a secret.
func TestN5_TraceHasNoSecrets(t *testing.T) {
	const word = "open-sesame-4711-treasure"
	m := new(secret.Masker)
	if err := m.Register("CAVE", word); err != nil {
		t.Fatal(err)
	}
	w := newWorkshop(t)
	s := w.start("cave", llmtest.Answer(llm.Thinking{Text: "It is " + word}, llm.Text{Text: "I try " + word},
		shell("echo "+word)), llmtest.Text("It was "+word))
	if err := s.Steer(t.Context(), "Say "+word); err != nil {
		t.Fatal(err)
	}
	w.submit(s, "Open the cave with "+word)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := w.store.Read(t.Context(), "cave")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	trace := traceOf(t, log, m)
	all := asJSON(t, trace.Overview(1)) + asJSON(t, trace.Rows(0, 1000))
	for i := range trace.Len() {
		item, err := trace.Item(i)
		if err != nil {
			t.Fatal(err)
		}
		all += asJSON(t, item)
	}
	if strings.Contains(all, "sesame") || strings.Count(all, "[secret CAVE]") < 10 {
		t.Errorf("the trace tells: %s", all)
	}
	if found, err := trace.Search(t.Context(), "sesame"); err != nil || len(found) > 0 {
		t.Errorf("a search finds the secret in %v, %v", found, err)
	}
}

// Journals of older versions have rows with their events.
func TestN5_OlderJournals(t *testing.T) {
	for _, name := range []string{"version1.jsonl", "version2.jsonl"} {
		content, err := os.ReadFile(filepath.Join("..", "agent", "testdata", "journals", name))
		if err != nil {
			t.Fatal(err)
		}
		var records []journal.Record
		for line := range bytes.Lines(content) {
			var r journal.Record
			if json.Unmarshal(line, &r) == nil {
				records = append(records, r)
			}
		}
		log := journal.NewMemory(records...)
		trace := traceOf(t, log, nil)
		if trace.Len() < 8 {
			t.Errorf("%s has %d rows", name, trace.Len())
		}
		for i := range trace.Len() {
			if _, err := trace.Item(i); err != nil {
				t.Errorf("%s, row %d: %v", name, i, err)
			}
		}
	}
}

// Whatever texts are, a row is one short line of valid text. What cannot be folded leaves the rest
// as it is.
func TestN5_HostileTexts(t *testing.T) {
	long := strings.Repeat("é\u202e<script>", 1<<20)
	w := newWorkshop(t)
	w.session("hostile", llmtest.Answer(llm.Thinking{Text: "\n\n \x1b[31m" + long},
		llm.Text{Text: "</script>\x00\n" + long}, shell("printf '\\377\\000\\033[2J' # "+long[:200_000])),
		llmtest.Text("done\n\n"))
	log, err := w.store.Read(t.Context(), "hostile")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	trace := traceOf(t, log, nil)
	for _, r := range trace.Rows(0, 1000) {
		if len(r.Text) > 240 || strings.Contains(r.Text, "\n") || !utf8.ValidString(r.Text) {
			t.Errorf("row %d has %q", r.Index, r.Text)
		}
		item, err := trace.Item(r.Index)
		if err != nil || r.Kind == web.RowThinking && len(item.Events[0]) < len(long) {
			t.Errorf("row %d has %d events, %v", r.Index, len(item.Events), err)
		}
	}
	before := asJSON(t, trace.Overview(1))
	for _, line := range []journal.Record{{N: log.Len() + 1, Kind: "nonsense"}, {N: log.Len() + 1, Kind: "answer",
		Data: []byte("{")}, {N: 1, Kind: "header", Data: []byte("{}")}} {
		if _, _, err := trace.Add(line); err == nil {
			t.Errorf("a record %s was accepted", line.Kind)
		}
	}
	if after := asJSON(t, trace.Overview(1)); after != before {
		t.Errorf("a bad record has changed the overview: %s", cmp.Diff(before, after))
	}
}

// What the page gets without asking for it is small, however long the texts of people and models
// are.
func TestN5_LongTextsInOverviews(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	w := newWorkshop(t)
	s := w.start("long", llmtest.Text("done"))
	w.submit(s, long)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := w.store.Read(t.Context(), "long")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	o := traceOf(t, log, nil).Overview(1)
	if size := len(asJSON(t, o)); size > 10<<10 || !strings.HasSuffix(o.Task, "é…") || !utf8.ValidString(o.Task) {
		t.Errorf("the overview has %d bytes, %d of its task", size, len(o.Task))
	}
}

// Calls that start agents with the same task at the same time lead each to the agent whose id it
// has returned.
func TestN5_AgentsWithTheSameTask(t *testing.T) {
	records := func(order ...string) *journal.Memory {
		lines := []string{
			`{"n":1,"k":"header","d":{"version":3,"id":"twins","provider":"test","model":"m","tools":[]}}`,
			`{"n":2,"k":"input","d":{"seq":1,"text":"go"}}`,
			`{"n":3,"k":"answer","d":{"seq":3,"message":{"role":"assistant","parts":[{"tool_call":{"id":"1","name":"spawn_agent","args":"{\"task\":\"Look.\"}"}},{"tool_call":{"id":"2","name":"spawn_agent","args":"{\"task\":\"Look.\"}"}}]},"finish":{"reason":"tool_calls"}}}`,
			`{"n":4,"k":"intent","d":{"seq":4,"calls":[{"id":"1","name":"spawn_agent","args":"{\"task\":\"Look.\"}"},{"id":"2","name":"spawn_agent","args":"{\"task\":\"Look.\"}"}]}}`,
			`{"n":5,"k":"child","d":{"seq":5,"id":"agent-1","event":"spawned","task":"Look.","journal":"first"}}`,
			`{"n":6,"k":"child","d":{"seq":6,"id":"agent-2","event":"spawned","task":"Look.","journal":"second"}}`,
		}
		for i, id := range order {
			lines = append(lines, fmt.Sprintf(
				`{"n":%d,"k":"result","d":{"seq":%d,"call_id":"%s","name":"spawn_agent","content":[{"text":{"text":"{\"agent_id\":\"agent-%s\"}"}}],"bytes":10,"duration":1}}`, 7+i, 7+i, id, id))
		}
		var all []journal.Record
		for _, line := range lines {
			var r journal.Record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		return journal.NewMemory(all...)
	}
	for _, order := range [][]string{{"1", "2"}, {"2", "1"}} {
		trace := traceOf(t, records(order...), nil)
		var got []string
		for _, r := range trace.Rows(0, 100) {
			if r.Kind == web.RowCall {
				got = append(got, r.Session)
			}
		}
		want := []string{"first", "second"}
		if order[0] == "2" {
			slices.Reverse(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the calls %v lead to %v, want %v", order, got, want)
		}
	}
}

// Time counts as that of a model call, of tools that run side by side, of waiting, or of nobody.
func TestN5_WhereTheTimeGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer local.Close()
		sleep := func(seconds time.Duration, then llmtest.Step) llmtest.Step {
			return llmtest.Func(func(context.Context,
				*llm.Request) llmtest.Step {
				time.Sleep(seconds * time.Second)
				return then
			})
		}
		nap := tool.New(llm.ToolDefinition{Name: "nap", Description: "Sleeps."}, func(_ context.Context, _ *tool.Call,
			a struct {
				Seconds int `json:"seconds"`
			}) (tool.Result, error) {
			time.Sleep(time.Duration(a.Seconds) * time.Second)
			return tool.Text("slept"), nil
		})
		quick := tool.WithAccess(nap, func(struct {
			Seconds int `json:"seconds"`
		}) tool.Access {
			return tool.Access{Effect: tool.ReadOnly}
		})
		naps := llmtest.Calls(llmtest.Call("nap", map[string]any{"seconds": 3}),
			llmtest.Call("nap", map[string]any{"seconds": 7}))
		log := new(journal.Memory)
		model := llmtest.NewProvider("test", sleep(2, llmtest.Error(llm.Errorf(llm.ErrServer, "overloaded"))),
			sleep(5, naps), sleep(11, llmtest.Text("done")), llmtest.Text("again"))
		s, err := agent.New(t.Context(), agent.Options{Journal: log, Env: local, OutputDir: t.TempDir(),
			Client: &llm.Client{Providers: []llm.Provider{model}},
			Retry: llm.RetryPolicy{Base: 13 * time.Second, Cap: 13 * time.Second,
				Jitter: func() float64 { return 0 }},
			Profile: profile.Profile{Name: "test", Provider: "test", Model: "m", Tools: []tool.Tool{quick}}})
		if err != nil {
			t.Fatal(err)
		}
		submit := func(text string) {
			if _, err := s.Submit(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		submit("go")
		time.Sleep(17 * time.Second)
		submit("on")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		o := traceOf(t, log, nil).Overview(1)
		if want := (web.Times{Total: 55_000, Model: 18_000, Tools: 7_000, Waiting: 13_000,
			Idle: 17_000}); o.Time != want {
			t.Errorf("the times are %+v, want %+v", o.Time, want)
		}
		if s := o.Steps; !slices.Equal(s.Model, []int64{7000, 11000, 0}) ||
			!slices.Equal(s.Tools, []int64{7000, 0, 0}) || !slices.Equal(s.Waiting, []int64{13000, 0, 0}) {
			t.Errorf("the steps have %v, %v, %v", s.Model, s.Tools, s.Waiting)
		}
	})
}
