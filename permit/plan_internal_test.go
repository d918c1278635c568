package permit

import (
	"context"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// Only a person lets the session leave plan mode: a subagent, a rule or a hook does not, and a plan
// that nobody can read is not shown.
func TestN8_ModesWhoLeavesPlan(t *testing.T) {
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	load := func(rule string) *rules.Set {
		set, err := rules.Load(rules.Dirs{Work: local.WorkDir()},
			rules.Source{Name: "r", Data: []byte(`{"permissions": {` + rule + `}}`)})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	none := func(context.Context, Question) (Answer, error) { return Answer{Reason: "no"}, nil }
	for name, c := range map[string]struct {
		rule, args, agent string
		ask               Asker
		hook              Stance
		want              string
	}{
		"an agent": {`"allow": ["ExitPlanMode"]`, `{"plan": "p"}`, "agent-1", none, NoOpinion,
			"only the agent that has the task"},
		"a rule": {`"allow": ["ExitPlanMode"]`, `{"plan": "p"}`, "", none, NoOpinion,
			"does not approve the plan: no"},
		"a rule denies": {`"deny": ["ExitPlanMode"]`, `{"plan": "p"}`, "", none, NoOpinion, "a rule denies it"},
		"a hook":        {``, `{"plan": "p"}`, "", none, Allows, "does not approve the plan: no"},
		"a hook denies": {``, `{"plan": "p"}`, "", none, Denies, "the hook"},
		"nobody":        {``, `{"plan": "p"}`, "", nil, NoOpinion, "nobody is there"},
		"an empty plan": {``, `{"plan": " \n"}`, "", none, NoOpinion, "the plan is empty"},
		"a huge plan": {``, `{"plan": "` + strings.Repeat("x", maxPlan+1) + `"}`, "", none, NoOpinion,
			"it can have 50000"},
		"broken":         {``, `{"plan": 3}`, "", none, NoOpinion, "cannot be read"},
		"another broken": {``, `[`, "", none, NoOpinion, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGate(ModePlan, load(c.rule), local)
			g.Ask, g.LeavePlan = c.ask, func(m Mode) { t.Errorf("the mode is %s now", m) }
			hook := func(context.Context, tool.Request) (Opinion, error) {
				return Opinion{Says: c.hook, Reason: "the hook"}, nil
			}
			g.BeforeRules, g.BeforeQuestion = []Hook{hook}, []Hook{hook}
			req := tool.Request{SessionID: "s", AgentID: c.agent, Call: llm.ToolCall{ID: "c", Name: ExitPlanMode,
				Args: c.args}, Access: tool.Access{Effect: tool.Exclusive}}
			d, err := g.Authorize(t.Context(), req)
			if err == nil && d.Verdict == tool.Ask {
				d, err = g.Approve(t.Context(), req)
			}
			if err != nil || d.Verdict != tool.Deny || !strings.Contains(d.Reason, c.want) {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
}
