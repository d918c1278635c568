package attractor

import (
	"context"
	"errors"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// keepPlanTool tells the gate whether the model has the tool that ends plan mode. A session that
// began without it goes on without it, because its requests must not change.
func (s *Setup) keepPlanTool() {
	has := slices.ContainsFunc(s.session.Tools(), func(t tool.Tool) bool { return t.Name == permit.ExitPlanMode })
	if s.Gate != nil && !has {
		s.Gate.LeavePlan = nil
	}
}

// planApproved notes that plan mode is over and tells the model.
func (s *Setup) planApproved(ctx context.Context, call *tool.Call, plan permit.Plan) (tool.Result, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	m := s.Gate.Mode()
	switch {
	case m == permit.ModePlan:
		return tool.Result{}, errors.New("the user has put the session into plan mode again; go on planning")
	case s.told != permit.ModePlan:
		return tool.Result{}, errors.New(
			"the session is not in plan mode, so there is nothing to leave; go on with the task")
	}
	if err := call.Session.Note(ctx, modeNote, noteOf(m), ""); err != nil {
		return tool.Result{}, err
	}
	s.told = m
	text := "The user approved the plan. Plan mode is over: carry the plan out now."
	switch m {
	case permit.ModeAcceptEdits:
		text += " File tools may change files in the session's directories without a question."
	case permit.ModeFull:
		text += " Calls run without a question."
	}
	if plan.Changed {
		text += " The user has changed it. It is now:\n\n" + plan.Text
	}
	return tool.Text(text), nil
}

// leavePlan changes the mode after a person's approval of a plan.
func (s *Setup) leavePlan(m permit.Mode) {
	if s.noFull != nil && s.noFull(m) != nil {
		m = permit.ModeAsk
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.Gate.Mode() != m {
		s.enter(m)
	}
}

// keepPlan returns what the summary of turns has to say about a plan, or "".
func keepPlan(about *agent.Compacting) string {
	for i := range about.Turns {
		for _, part := range about.Turns[i].Message.Parts {
			if call, ok := part.(llm.ToolCall); ok && call.Name == permit.ExitPlanMode {
				return "The agent has shown the user a plan, by " + permit.ExitPlanMode +
					". Say whether the user approved it, and repeat the newest plan word for word, as far as " +
					"it is not carried out."
			}
		}
	}
	return ""
}
