package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// ExitPlanMode is the name of the tool by which the model leaves plan mode.
const ExitPlanMode = "exit_plan_mode"

// maxPlan is the most bytes of a plan: a person is to read it.
const maxPlan = 50_000

// planRules says what the model can do while it plans.
const planRules = "You can read and search files and run commands that only read. Calls that change or run anything else are refused."

// howToLeave says how the model ends its planning.
func (g *Gate) howToLeave() string {
	if g.Ask == nil || g.leave == nil {
		return "Work out a plan and give it as your answer."
	}
	return "Work out a plan. When it is ready, call " + ExitPlanMode + " with it, and a person decides whether you carry it out."
}

// planRefusal returns why a call does not run in plan mode.
func (g *Gate) planRefusal() string {
	return "the session is in plan mode. " + planRules + " " + g.howToLeave()
}

type exitPlanArgs struct {
	Plan string `json:"plan" jsonschema:"The whole plan, in Markdown: what you will change and how, file by file, and how you will check it."`
}

// exitPlanMode returns the tool that ends plan mode. The gate has asked a person when it runs.
func (s *Setup) exitPlanMode() tool.Tool {
	t := tool.New(llm.ToolDefinition{Name: ExitPlanMode,
		Description: "Ends plan mode: shows your plan to the user, who approves it or says what to change. Use it in plan mode only, when the plan is " +
			"complete, and only for a task that changes something; a question needs an answer and no plan. The user sees nothing but the plan that you pass."},
		func(ctx context.Context, call *tool.Call, args exitPlanArgs) (tool.Result, error) {
			return s.planApproved(ctx, call, args)
		})
	t.Needs = tool.NeedsAnswers
	t.Instead = []tool.Instead{{Of: []string{"ExitPlanMode"}}}
	return tool.WithAccess(t, func(exitPlanArgs) tool.Access { return tool.Access{Effect: tool.Exclusive} }) // later calls are judged in the mode that follows
}

// canLeavePlan reports whether the model has the tool that ends plan mode. A session that began without it goes on without it, because its
// requests must not change.
func (s *Setup) canLeavePlan(session *agent.Session) bool {
	return slices.ContainsFunc(session.Tools(), func(t tool.Tool) bool { return t.Name == ExitPlanMode })
}

// planApproved notes that plan mode is over and tells the model.
func (s *Setup) planApproved(ctx context.Context, call *tool.Call, args exitPlanArgs) (tool.Result, error) {
	s.changing.Lock()
	defer s.changing.Unlock()
	m := s.Gate.Mode()
	switch {
	case m == ModePlan:
		return tool.Result{}, errors.New("the user has put the session into plan mode again; go on planning")
	case s.told != ModePlan:
		return tool.Result{}, errors.New("the session is not in plan mode, so there is nothing to leave; go on with the task")
	}
	if err := call.Session.Note(ctx, modeNote, m.data(), ""); err != nil {
		return tool.Result{}, err
	}
	s.told = m
	text := "The user approved the plan. Plan mode is over: carry the plan out now."
	switch m {
	case ModeAcceptEdits:
		text += " File tools may change files in the session's directories without a question."
	case ModeFull:
		text += " Calls run without a question."
	}
	if s.Gate.planChanged(callKey{call.SessionID, call.ID}) {
		text += " The user has changed it. It is now:\n\n" + args.Plan
	}
	return tool.Text(text), nil
}

// leavePlan changes the mode after a person's approval of a plan.
func (s *Setup) leavePlan(m Mode) {
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
			if call, ok := part.(llm.ToolCall); ok && call.Name == ExitPlanMode {
				return "The agent has shown the user a plan, by " + ExitPlanMode + ". Say whether the user approved it, and repeat the newest plan word for word, as far as " +
					"it is not carried out."
			}
		}
	}
	return ""
}

// planRequest returns the plan of a call of exit_plan_mode that a person has to decide about. refusal says why nobody is asked.
func (g *Gate) planRequest(ctx context.Context, req tool.Request) (plan, refusal string) {
	var args exitPlanArgs
	if err := json.Unmarshal([]byte(req.Call.Args), &args); err != nil {
		return "", "its arguments cannot be read: " + err.Error()
	}
	switch d := g.Rules.Decide(ctx, g.Env, req); {
	case d.Verdict == tool.Deny:
		return "", d.Reason
	case req.AgentID != "":
		return "", "only the agent that has the task can end plan mode; put the plan into your report"
	case g.Ask == nil:
		return "", "nobody is there to approve the plan; give it as your answer"
	case strings.TrimSpace(args.Plan) == "":
		return "", "the plan is empty; give the whole plan"
	case len(args.Plan) > maxPlan:
		return "", fmt.Sprintf("the plan has %d bytes; a person is to read it, so it can have %d", len(args.Plan), maxPlan)
	}
	return args.Plan, ""
}

// isPlan reports whether a call wants to leave plan mode.
func (g *Gate) isPlan(req tool.Request) bool {
	return req.Call.Name == ExitPlanMode && g.Mode() == ModePlan && g.leave != nil
}

// authorizePlan leaves to Approve whether the model may leave plan mode.
func (g *Gate) authorizePlan(ctx context.Context, req tool.Request, sent string, wish Opinion) tool.Decision {
	if wish.Says == Denies {
		return tool.Decision{Reason: wish.Reason}
	}
	if _, refusal := g.planRequest(ctx, req); refusal != "" {
		return tool.Decision{Reason: refusal}
	}
	return decision(req, sent, tool.Ask)
}

// approvePlan asks a person about a plan. Hooks cannot answer. The mode changes before the next call is judged.
func (g *Gate) approvePlan(ctx context.Context, req tool.Request) (tool.Decision, error) {
	sent, problem := req.Call.Args, ""
	for range maxEdits {
		plan, refusal := g.planRequest(ctx, req)
		if refusal != "" {
			return tool.Decision{Reason: refusal}, nil
		}
		answer, err := g.Ask(ctx, Question{Request: req, Plan: plan, Problem: problem, Reason: "the agent wants to leave plan mode"})
		if err != nil {
			return tool.Decision{}, err
		}
		if answer.Verdict != tool.Allow {
			reason := "the user does not approve the plan"
			if answer.Reason != "" {
				reason += ": " + answer.Reason
			}
			if g.Mode() == ModePlan {
				reason += ". The session is still in plan mode"
			}
			return tool.Decision{Reason: reason}, nil
		}
		if answer.Args != "" && answer.Args != req.Call.Args {
			edited, err := req.WithArgs(ctx, answer.Args)
			if err != nil {
				problem = err.Error()
				continue
			}
			if _, problem = g.planRequest(ctx, edited); problem != "" {
				continue
			}
			req = edited
			g.mu.Lock()
			g.changedPlans.put(keyOf(req), true)
			g.mu.Unlock()
		}
		if g.Mode() == ModePlan { // else a person has left it otherwise, while the question was open
			g.leave(answer.mode())
		}
		return decision(req, sent, tool.Allow), nil
	}
	return tool.Decision{Reason: fmt.Sprintf("the plan was changed %d times without a decision", maxEdits)}, nil
}

// planChanged reports whether a person has changed the plan of a call.
func (g *Gate) planChanged(key callKey) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	changed, _ := g.changedPlans.take(key)
	return changed
}

// mode returns the mode that follows the approval of a plan.
func (a *Answer) mode() Mode {
	if a.Mode == ModeAcceptEdits || a.Mode == ModeFull {
		return a.Mode
	}
	return ModeAsk
}
