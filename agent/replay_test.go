package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// checkReplay replays a journal and compares the events with those of the host.
func checkReplay(t *testing.T, log *journal.Memory, saw []agent.Event) {
	t.Helper()
	checkOpening(t, log)
	var got []agent.Event
	err := agent.Replay(context.Background(), log,
		agent.ReplayOptions{OnEvent: func(ev agent.Event) { got = append(got, ev) }})
	if err != nil {
		t.Errorf("replay: %v", err)
		return
	}
	if diff := gocmp.Diff(comparableEvents(t, saw), comparableEvents(t, got)); diff != "" {
		t.Errorf("the replay has other events (-session +replay):\n%s", diff)
	}
	got = nil
	if err := agent.Project(context.Background(), log, func(ev agent.Event) { got = append(got, ev) }); err != nil {
		t.Errorf("projection: %v", err)
	}
	if diff := gocmp.Diff(comparableEvents(t, saw), comparableEvents(t, got)); diff != "" {
		t.Errorf("the projection has other events (-session +projection):\n%s", diff)
	}
	checkNumbers(t, saw, got)
}

// checkOpening checks that reading the beginning of a session gives what folding its records gives,
// after each of its first records.
func checkOpening(t *testing.T, log *journal.Memory) {
	t.Helper()
	for _, problem := range openingProblems(all(t, log)) {
		t.Error(problem)
	}
}

func openingProblems(records []journal.Record) (problems []string) {
	for n := range min(len(records), 8) {
		first := journal.NewMemory(records[:n+1]...).Records(context.Background(), 1)
		got, err := agent.ReadOpening(first)
		want, wrong := agent.FoldOpening(first)
		if !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wrong) {
			problems = append(problems, fmt.Sprintf("after %d records the opening is %+v, %v, want %+v, %v", n+1, got,
				err, want, wrong))
		}
	}
	return problems
}

// checkNumbers checks that each event of a projection has the number of a live event with the same
// kind and content. The end of a text or a thought may have the number of its last delta.
func checkNumbers(t *testing.T, saw, projected []agent.Event) {
	t.Helper()
	live := map[int64]agent.Event{}
	for _, ev := range saw {
		live[ev.Head().Seq] = ev
	}
	for _, ev := range projected {
		was := live[ev.Head().Seq]
		ok := was != nil && was.Head().Kind == ev.Head().Kind
		switch ev := ev.(type) {
		case *agent.AssistantTextDelta:
			ok = ok && strings.HasSuffix(ev.Text, was.(*agent.AssistantTextDelta).Text)
		case *agent.ThinkingDelta:
			ok = ok && strings.HasSuffix(ev.Text, was.(*agent.ThinkingDelta).Text)
		default:
			ok = ok && gocmp.Equal(comparableEvents(t, []agent.Event{was}), comparableEvents(t, []agent.Event{ev}))
		}
		if !ok {
			t.Errorf("the projection has %s %+v, the session had %+v of that number", ev.Head().Kind, ev, was)
		}
	}
}

// comparableEvents formats events as lines, without the parts that differ from run to run and
// without deltas. No record says when parallel calls begin, so their starts come last, sorted.
func comparableEvents(t *testing.T, events []agent.Event) []string {
	t.Helper()
	var lines, starts []string
	for i, ev := range events {
		switch ev := ev.(type) {
		case *agent.InputRequested:
			if answeredAtOnce(ev.CallID, events[i:]) { // the journal has it as an ordinary call
				continue
			}
		case *agent.AssistantTextDelta, *agent.ThinkingDelta, *agent.ToolCallOutputDelta, *agent.Warning,
			*agent.SubagentEvent:
			continue
		}
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		if err := json.Unmarshal(data, &members); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"seq", "time", "latency_ms", "duration_ms", "delay_ms", "output", "output_bytes",
			"output_complete",
			"output_ref", "cost_usd"} {
			delete(members, name)
		}
		if data, err = json.Marshal(members); err != nil {
			t.Fatal(err)
		}
		if _, start := ev.(*agent.ToolCallStart); start {
			starts = append(starts, string(data))
			continue
		}
		lines = append(lines, string(data))
	}
	slices.Sort(starts)
	return append(lines, starts...)
}

// answeredAtOnce reports whether a question was answered before its input ended.
func answeredAtOnce(callID string, events []agent.Event) bool {
	for _, ev := range events {
		switch ev := ev.(type) {
		case *agent.ProcessingEnd:
			return false
		case *agent.ToolCallEnd:
			if ev.CallID == callID {
				return true
			}
		}
	}
	return false
}

// Replay reports the first record that differs.
func TestA19_ReplayShowsTheFirstDivergence(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *journal.Record)
		want   string
	}{
		"a limit that was not kept": {func(r *journal.Record) {
			if r.Kind == "header" {
				r.Data = []byte(strings.Replace(string(r.Data), `"policy":{`, `"policy":{"max_tool_rounds":1,`, 1))
			}
		}, "record 8"},
		"steering that nobody sent": {func(r *journal.Record) {
			if r.Kind == "turn" {
				r.Data = []byte(strings.Replace(string(r.Data), "left", "right", 1))
			}
		}, "record 4"},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(journal.Memory)
			h := open(t, setup{tools: []tool.Tool{echo("say")}, options: agent.Options{Journal: log,
				Policy: agent.Policy{MaxTurns: 9}},
				steps: []llmtest.Step{llmtest.Calls(call("say")), llmtest.Calls(call("say")), llmtest.Text("done")}})
			if err := h.Steer(context.Background(), "left"); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Submit(context.Background(), "go"); err != nil {
				t.Fatal(err)
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			checkReplay(t, log, h.events)
			var changed []journal.Record
			for r, err := range log.Records(context.Background(), 1) {
				if err != nil {
					t.Fatal(err)
				}
				c.change(&r)
				changed = append(changed, r)
			}
			err := agent.Replay(context.Background(), journal.NewMemory(changed...), agent.ReplayOptions{})
			var d *agent.Divergence
			if !errors.As(err, &d) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want a divergence at %s", err, c.want)
			}
		})
	}
}

// otherContainment is an environment with another containment level.
type otherContainment struct {
	env.Environment
	level string
}

func (e otherContainment) Confinement() env.Confinement {
	return env.Confinement{Containment: e.level, HidesHost: e.level == env.ContainCgroupPIDNS}
}

// The containment of a session, and of each resume, is in the journal, so that the projection has
// it on any machine.
func TestI17_ContainmentIsProjected(t *testing.T) {
	r := newReader(t)
	log := new(journal.Memory)
	client := &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test", repeated(llmtest.Text("done"), 3)...)}}
	var live []string
	started := func(list *[]string) func(agent.Event) {
		return func(ev agent.Event) {
			if e, ok := ev.(*agent.SessionStart); ok {
				*list = append(*list, fmt.Sprint(e.Containment, " ", e.HidesHost))
			}
		}
	}
	for i, level := range []string{env.ContainCgroupPIDNS, "group", "group"} {
		o := agent.Options{Client: client, Env: otherContainment{r.env, level}, Journal: log, OnEvent: started(&live),
			System: "x", Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1"}}
		start := agent.Resume
		if i == 0 {
			start = agent.New
		}
		s, err := start(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Steer(context.Background(), "first of all"); err != nil {
			t.Error(err)
		}
		if _, err := s.Submit(context.Background(), "go"); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	var projected, replayed []string
	if err := agent.Project(context.Background(), log, started(&projected)); err != nil {
		t.Error(err)
	}
	if err := agent.Replay(context.Background(), log, agent.ReplayOptions{OnEvent: started(&replayed)}); err != nil {
		t.Error(err)
	}
	if want := []string{"cgroup+pidns true", "group false", "group false"}; !slices.Equal(live, want) ||
		!slices.Equal(projected, want) || !slices.Equal(replayed, want) {
		t.Errorf("live %q, projected %q, replayed %q, want %q", live, projected, replayed, want)
	}
	settings := 0
	for line, err := range log.Records(context.Background(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if line.Kind == "setting" {
			settings++
		}
	}
	if settings != 1 {
		t.Errorf("%d settings, want the one of the second machine", settings)
	}
}
