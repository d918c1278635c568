package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// projectWithout returns the events of records, by record. Records whose index is in without are
// left out.
func projectWithout(records []journal.Record, without func(int) bool) (events [][]agent.Event, err error) {
	var p agent.Projection
	for i, r := range records {
		if without != nil && without(i) {
			events = append(events, nil)
			continue
		}
		of, err := p.Add(r)
		if err != nil {
			return events, err
		}
		if p.State().Records != r.N {
			return events, fmt.Errorf("the state has %d records after record %d", p.State().Records, r.N)
		}
		events = append(events, of)
	}
	return events, nil
}

// lateProblems begins a projection at every record of a journal. Each of its events has to be one
// of those that the whole journal has, but for what missing records decide.
func lateProblems(records []journal.Record, normal func([]agent.Event) []string) (problems []string) {
	whole, err := projectWithout(records, nil)
	if err != nil {
		return []string{err.Error()}
	}
	for begin := 2; begin < len(records); begin++ {
		if appendedWith(records, whole, begin) {
			continue
		}
		late, err := projectWithout(records, func(i int) bool { return i > 0 && i < begin })
		if err != nil {
			problems = append(problems, fmt.Sprintf("begun at record %d: %v", begin+1, err))
			continue
		}
		for i := begin; i < len(records); i++ {
			want := normal(whole[i])
			for _, ev := range normal(late[i]) {
				if !slices.ContainsFunc(want, func(w string) bool {
					return w == ev || strings.HasPrefix(w, textless(ev))
				}) {
					problems = append(problems,
						fmt.Sprintf("begun at record %d, record %d (%s) has\n%s\nand not one of\n%s", begin+1, i+1,
							records[i].Kind, ev, strings.Join(want, "\n")))
				}
			}
			if len(normal(late[i])) < len(want) && settled(records[begin:i]) {
				problems = append(problems, fmt.Sprintf("begun at record %d, record %d (%s) lacks some of\n%s", begin+1,
					i+1, records[i].Kind, strings.Join(want, "\n")))
			}
		}
	}
	return problems
}

// textless returns an input without its text if that is not known, because it goes on with one
// whose record is missing; else a text that nothing begins with.
func textless(ev string) string {
	if begin, ok := strings.CutSuffix(ev, `"text":""}`); ok && strings.Contains(ev, `"USER_INPUT"`) {
		return begin
	}
	return "\x00"
}

// appendedWith reports whether a record was appended together with one before it that has events.
func appendedWith(records []journal.Record, events [][]agent.Event, i int) bool {
	seq := seqOf(records[i])
	for i--; i > 0 && seqOf(records[i]) == seq; i-- {
		if len(events[i]) > 0 {
			return true
		}
	}
	return false
}

func seqOf(r journal.Record) int64 {
	var at struct{ Seq int64 }
	if json.Unmarshal(r.Data, &at) != nil {
		return -1
	}
	return at.Seq
}

// settled reports whether records say everything that later events need.
func settled(records []journal.Record) bool {
	input, answer := false, false
	for _, r := range records {
		input = input || r.Kind == "input" && !strings.Contains(string(r.Data), `"continue":true`) &&
			!strings.Contains(string(r.Data), `"answers":`)
		answer = answer || input && r.Kind == "answer"
	}
	return answer
}

// known returns events as JSON without what missing records decide. A warning about the window is
// left out.
func known(events []agent.Event) (texts []string) {
	for _, ev := range events {
		switch e := ev.(type) {
		case *agent.ContextWarning:
			continue
		case *agent.SessionStart:
			ev = &agent.SessionStart{EventHeader: e.EventHeader, Profile: e.Profile, Resumed: e.Resumed,
				ParentID: e.ParentID}
		case *agent.StepStart:
			ev = &agent.StepStart{EventHeader: e.EventHeader}
		case *agent.StepEnd:
			c := *e
			c.Step, c.Attempts = 0, 0
			ev = &c
		case *agent.LLMRetry:
			c := *e
			c.Attempt = 0
			ev = &c
		case *agent.ProcessingEnd:
			ev = &agent.ProcessingEnd{EventHeader: e.EventHeader, Reason: e.Reason}
		case *agent.Compaction:
			ev = &agent.Compaction{EventHeader: e.EventHeader, TurnsReplaced: e.TurnsReplaced,
				TokensBefore: e.TokensBefore}
		case *agent.ModelChanged:
			ev = &agent.ModelChanged{EventHeader: e.EventHeader, To: e.To}
		case *agent.Error:
			c := *e
			c.Text = ""
			ev = &c
		}
		text, err := json.Marshal(ev)
		if err != nil {
			panic(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// unnumbered returns what known returns for events of older versions, whose numbers are not all in
// the journal.
func unnumbered(events []agent.Event) (texts []string) {
	for _, text := range known(events) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			panic(err)
		}
		delete(fields, "seq")
		numberless, err := json.Marshal(fields)
		if err != nil {
			panic(err)
		}
		texts = append(texts, string(numberless))
	}
	return texts
}

// A projection that begins in the middle of a journal has the events that the whole one has.
func TestN5_LateProjection(t *testing.T) {
	log := new(journal.Memory)
	everyKind(t, log)
	for _, problem := range lateProblems(all(t, log), known) {
		t.Error(problem)
	}
	content, err := os.ReadFile(filepath.Join("testdata", "journals", "version2.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for name, records := range map[string][]journal.Record{"version 1": recordsOf(version1(t)),
		"version 2": recordsOf(string(content))} {
		for _, problem := range lateProblems(records, unnumbered) {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// The records of an answer and of a result are enough for both events of the call.
func TestN5_ProjectionOfOneCall(t *testing.T) {
	log := new(journal.Memory)
	everyKind(t, log)
	records := all(t, log)
	whole, err := projectWithout(records, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, calls := 0, 0
	for i, r := range records {
		switch r.Kind {
		case "answer":
			answer = i
		case "result":
			got, err := projectWithout(records, func(j int) bool {
				return j != 0 && j != answer && j != i && records[j].Kind != "await" && records[j].Kind != "input"
			})
			if err != nil {
				t.Fatal(err)
			}
			if calls++; !slices.Equal(known(got[i]), known(whole[i])) {
				t.Errorf("record %d has\n%s\nwant\n%s", i+1, known(got[i]), known(whole[i]))
			}
		}
	}
	if calls < 3 {
		t.Errorf("%d calls", calls)
	}
}

// The ends of model calls have the costs of their answers, live and in the projection.
func TestN5_CostOfSteps(t *testing.T) {
	log := new(journal.Memory)
	h := open(t, setup{models: model(llm.Model{Prices: []llm.Price{{Input: 1, Output: 10}}}),
		tools: []tool.Tool{echo("change")}, options: agent.Options{Journal: log},
		steps: []llmtest.Step{llmtest.Calls(call("change", `"path":"a"`)), llmtest.Text("done")}})
	result := h.submit(t, "go", agent.ReasonCompleted)
	costs := func(events []agent.Event) (costs []float64) {
		for _, ev := range events {
			if end, ok := ev.(*agent.StepEnd); ok {
				costs = append(costs, end.CostUSD)
			}
		}
		return costs
	}
	live := costs(h.events)
	if len(live) != 2 || live[0] <= 0 || live[0]+live[1] != result.CostUSD {
		t.Errorf("the steps cost %v, the input %v", live, result.CostUSD)
	}
	if got := costs(projected(t, log)); !slices.Equal(got, live) {
		t.Errorf("the projection has %v, want %v", got, live)
	}
}

// A record that a projection refuses changes nothing in it, also behind missing ones.
func TestN5_RefusedRecordChangesNoProjection(t *testing.T) {
	records := recordsOf(version1(t))
	whole, err := projectWithout(records, nil)
	if err != nil {
		t.Fatal(err)
	}
	second := records[0]
	second.N = int64(len(records)) + 9
	var p agent.Projection
	for i, r := range records {
		events, err := p.Add(r)
		got, _ := json.Marshal(events)
		want, _ := json.Marshal(whole[i])
		if err != nil || string(got) != string(want) {
			t.Fatalf("record %d (%s): %s, %v, want %s", i+1, r.Kind, got, err, want)
		}
		if _, err := p.Add(second); err == nil {
			t.Fatal("a second header fits")
		}
	}
}

// FuzzProjection checks that a projection takes any records, with any of them left out, and never
// panics.
func FuzzProjection(f *testing.F) {
	lines := strings.SplitAfter(version1(f), "\n")
	lines[0] = `{"n":1,"k":"header","d":{"version":3,"id":"every","provider":"test","model":"m","tools":[]}}` + "\n"
	f.Add(lines[0]+strings.Join(lines[9:15], ""), uint64(0))
	f.Add(strings.Join(lines[:20], ""), uint64(1)<<20-4)
	f.Add(strings.Join(lines, ""), uint64(0x5555_5555_5555_5554))
	f.Fuzz(func(t *testing.T, content string, without uint64) {
		var p agent.Projection
		for i, r := range recordsOf(content) {
			if without>>(i%64)&1 != 0 {
				continue
			}
			r.N = int64(i + 1)
			events, err := p.Add(r)
			if err != nil {
				continue
			}
			for _, ev := range events {
				if ev.Head().Kind == "" {
					t.Errorf("an event without a kind: %+v", ev)
				}
			}
		}
	})
}
