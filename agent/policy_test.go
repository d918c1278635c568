package agent_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// If a host resumes a session with another policy, it applies at once, also to a compaction between
// two inputs, and a replay of the journal is the same.
func TestJ1_NewPolicyAppliesAtOnce(t *testing.T) {
	log := shortJournal(t)
	before := log.Len()
	keeping := func(turns int) agent.Options {
		return agent.Options{Journal: log, Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: turns}}}
	}
	h := open(t, setup{options: keeping(1), steps: []llmtest.Step{llmtest.Text("a summary")}})
	if log.Len() != before+1 {
		t.Errorf("%d records after the resume, %d before it", log.Len(), before)
	}
	if err := h.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	if kept := len(h.History()); kept != 2 {
		t.Errorf("the history has %d turns, want the summary and one", kept)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := agent.Replay(context.Background(), log, agent.ReplayOptions{}); err != nil {
		t.Errorf("replay: %v", err)
	}
	after := log.Len()
	h = open(t, setup{options: keeping(1)})
	if log.Len() != after {
		t.Error("a resume with the same policy writes something")
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}

// A session has its header from the beginning, in its state and in its journal.
func TestJ1_HeaderFromTheBeginning(t *testing.T) {
	log := new(journal.Memory)
	h := open(t, setup{options: agent.Options{Journal: log, Policy: agent.Policy{MaxTurns: 7, Continues: -5}}})
	state, err := agent.Load(context.Background(), log)
	if err != nil {
		t.Fatal(err)
	}
	if state.Header.ID != h.ID() || state.Policy.MaxTurns != 7 || state.Policy.Continues != -1 {
		t.Errorf("header %+v, policy %+v", state.Header, state.Policy)
	}
}

// A policy survives JSON unchanged.
func TestJ1_PolicyIsData(t *testing.T) {
	p := agent.Policy{MaxToolRounds: 1, MaxTurns: 2, OnLimit: agent.SummarizeOnLimit, Budget: agent.Budget{Tokens: 3,
		USD: 4, Time: 5}, RequireDone: true,
		Continues: -1, MaxConfirms: 6, Loops: agent.LoopPolicy{Off: true},
		Compaction: agent.CompactionPolicy{Threshold: 0.5, KeepTurns: 7},
		OnFailure:  agent.StayOnFailure, CacheLifetime: agent.CacheForPerson, KeepCache: true,
		Result: &agent.ResultPolicy{Schema: json.RawMessage(`{"type":"object"}`),
			Tool: "x"}, Window: 8,
		Fallbacks: agent.FallbackPolicy{Models: []agent.FallbackModel{{Provider: "p", Model: "m", Window: 9}},
			ReturnAfter: 10}}
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("the test does not set %s", v.Type().Field(i).Name)
		}
	}
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var same agent.Policy
	if err := json.Unmarshal(data, &same); err != nil || !reflect.DeepEqual(p, same) {
		t.Errorf("%+v became %+v, %v", p, same, err)
	}
}
