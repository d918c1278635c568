package coding

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/tool"
)

// agentsSession is a session whose subagents only record what they are asked.
type agentsSession struct {
	tool.Plain
	came []any
	says tool.AgentResult
}

func (s *agentsSession) Agents() tool.Agents { return (*agentTable)(s) }

type agentTable agentsSession

func (a *agentTable) Spawn(_ context.Context, task tool.AgentTask) (tool.AgentStatus, error) {
	a.came = append(a.came, task)
	return tool.AgentStatus{ID: "agent-1", Status: "running"}, nil
}

func (a *agentTable) Send(_ context.Context, id, message string) (tool.AgentStatus, error) {
	a.came = append(a.came, id+": "+message)
	return tool.AgentStatus{ID: id, Status: "running"}, nil
}

func (a *agentTable) Wait(_ context.Context, id string) (tool.AgentResult, error) {
	a.came = append(a.came, "wait "+id)
	return a.says, nil
}

func (a *agentTable) Close(_ context.Context, id string) (tool.AgentStatus, error) {
	a.came = append(a.came, "close "+id)
	return tool.AgentStatus{ID: id, Status: "closed"}, nil
}

// The arguments of the model arrive unchanged, and it gets JSON back.
func TestF_AgentTools(t *testing.T) {
	b := newFixture(t)
	s := &agentsSession{says: tool.AgentResult{Output: "a <b> && c\n", Success: true, TurnsUsed: 3}}
	for i, step := range []struct {
		args object
		came any
		want string
	}{
		{object{"task": "look", "working_dir": "sub", "model": "m", "max_turns": 4}, tool.AgentTask{Task: "look",
			Dir: "sub", Model: "m", MaxTurns: 4},
			`{"agent_id":"agent-1","status":"running"}`},
		{object{"agent_id": "agent-1", "message": "hi"}, "agent-1: hi", `{"agent_id":"agent-1","status":"running"}`},
		{object{"agent_id": "agent-1"}, "wait agent-1", `{"output":"a <b> && c\n","success":true,"turns_used":3}`},
		{object{"agent_id": "agent-1"}, "close agent-1", `{"agent_id":"agent-1","status":"closed"}`},
	} {
		u := Agents()[i]
		o := b.runCall(context.Background(), u, step.args, tool.Call{Session: s})
		if got := o.Model.Text(); o.IsError || got != step.want || !reflect.DeepEqual(s.came[i], step.came) {
			t.Errorf("%s: %q, want %q; came %v", u.Name, got, step.want, s.came[i])
		}
		b.fails(u, step.args, "no subagents")
		if u.Needs != tool.NeedsAgents {
			t.Errorf("%s is offered to everybody", u.Name)
		}
	}
}

// A long output is truncated inside the JSON, which stays valid.
func TestF_LongOutputOfAnAgent(t *testing.T) {
	b := newFixture(t)
	s := &agentsSession{says: tool.AgentResult{Output: "begin" + strings.Repeat("line\n", 20_000) + "end",
		TurnsUsed: 3}}
	o := b.runCall(context.Background(), Agents()[2], object{"agent_id": "agent-1"}, tool.Call{Session: s})
	var got tool.AgentResult
	if err := json.Unmarshal([]byte(o.Model.Text()), &got); err != nil {
		t.Fatal(err)
	}
	if n := len(got.Output); n > 20_500 || !strings.HasPrefix(got.Output, "begin") || !strings.HasSuffix(got.Output,
		"end") ||
		!strings.Contains(got.Output, "truncated") || got.TurnsUsed != 3 {
		t.Errorf("%d characters, %d turns", n, got.TurnsUsed)
	}
}

// The structured result names the agent and its success, without the report.
func TestJ4_AgentToolsAreStructured(t *testing.T) {
	b := newFixture(t)
	s := &agentsSession{says: tool.AgentResult{Output: "the report", Success: true, TurnsUsed: 3}}
	for i, want := range []string{`{"agent_id":"agent-1","status":"running"}`,
		`{"agent_id":"agent-1","status":"running"}`,
		`{"agent_id":"agent-1","success":true,"turns_used":3}`, `{"agent_id":"agent-1","status":"closed"}`} {
		args := object{"agent_id": "agent-1"}
		switch i {
		case 0:
			args = object{"task": "look"}
		case 1:
			args["message"] = "hi"
		}
		if got := b.runCall(t.Context(), Agents()[i], args, tool.Call{Session: s}); string(got.Structured) != want {
			t.Errorf("%s: %s, %s; want %s", Agents()[i].Name, got.Structured, got.Model.Text(), want)
		}
	}
}
