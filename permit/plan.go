package permit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// ExitPlanMode is the name of the tool by which the model leaves plan mode.
const ExitPlanMode = "exit_plan_mode"

// maxPlan is the most bytes of a plan: a person is to read it.
const maxPlan = 50_000

type exitPlanArgs struct {
	Plan string `json:"plan" jsonschema:"The whole plan, in Markdown: what you will change and how, file by file, and how you will check it."`
}

// Plan is a plan that a person has approved.
type Plan struct {
	Text    string // in Markdown
	Changed bool   // the person has changed what the model wrote
}

// ExitPlan returns the tool exit_plan_mode(plan), which ends plan mode. If a gate whose LeavePlan
// is set has asked a person, who approved the plan, the tool returns the result of approved.
// Otherwise it returns an error: there is nothing to leave.
func ExitPlan(approved func(ctx context.Context, call *tool.Call, plan Plan) (tool.Result, error)) tool.Tool {
	t := tool.New(llm.ToolDefinition{Name: ExitPlanMode,
		Description: "Ends plan mode: shows your plan to the user, who approves it or says what to change. Use it in " +
			"plan mode only, when the plan is complete, and only for a task that changes something; a question needs " +
			"an answer and no plan. The user sees nothing but the plan that you pass."},
		func(ctx context.Context, call *tool.Call, args exitPlanArgs) (tool.Result, error) {
			p, ok := call.Value.(*passage)
			if !ok || !p.planned {
				return tool.Result{}, errors.New(
					"the session is not in plan mode, so there is nothing to leave; go on with the task")
			}
			return approved(ctx, call, Plan{Text: args.Plan, Changed: p.changed})
		})
	t.Needs = tool.NeedsAnswers
	t.Instead = []tool.Instead{{Of: []string{"ExitPlanMode"}}}
	// later calls are judged in the mode that follows
	return tool.WithAccess(t, func(exitPlanArgs) tool.Access { return tool.Access{Effect: tool.Exclusive} })
}

// PlanText returns what a model is told about plan mode: what it can do, and how it ends its
// planning.
func (g *Gate) PlanText() string {
	rules := "You can read and search files and run commands that only read. Calls that change or run anything else " +
		"are refused."
	if g.Ask == nil || g.LeavePlan == nil {
		return rules + " Work out a plan and give it as your answer."
	}
	return rules + " Work out a plan. When it is ready, call " + ExitPlanMode +
		" with it, and a person decides whether you carry it out."
}

// planOf returns the plan in a call of exit_plan_mode, for a person to decide about. If refusal is
// not empty, it says why nobody is asked.
func (g *Gate) planOf(req tool.Request, ruled rules.Decision) (plan, refusal string) {
	var args exitPlanArgs
	if err := json.Unmarshal([]byte(req.Call.Args), &args); err != nil {
		return "", "its arguments cannot be read: " + err.Error()
	}
	switch {
	case ruled.Verdict == tool.Deny:
		return "", ruled.Reason
	case req.AgentID != "":
		return "", "only the agent that has the task can end plan mode; put the plan into your report"
	case g.Ask == nil:
		return "", "nobody is there to approve the plan; give it as your answer"
	case strings.TrimSpace(args.Plan) == "":
		return "", "the plan is empty; give the whole plan"
	case len(args.Plan) > maxPlan:
		return "", fmt.Sprintf("the plan has %d bytes; a person is to read it, so it can have %d", len(args.Plan),
			maxPlan)
	}
	return args.Plan, ""
}

// isPlan reports whether a call wants to leave plan mode.
func (g *Gate) isPlan(req tool.Request) bool {
	return req.Call.Name == ExitPlanMode && g.Mode() == ModePlan && g.LeavePlan != nil
}

// authorizePlan leaves it to Approve whether the model may leave plan mode.
func (g *Gate) authorizePlan(ctx context.Context, req tool.Request, sent string, p *passage) tool.Decision {
	if p.wish.Says == Denies {
		return tool.Decision{Reason: p.wish.Reason}
	}
	g.decide(ctx, req, p)
	if _, refusal := g.planOf(req, p.ruled); refusal != "" {
		return tool.Decision{Reason: refusal}
	}
	return decision(req, sent, tool.Ask, p)
}

// approvePlan asks a person about a plan. Hooks cannot answer. The mode changes before the next
// call is judged.
func (g *Gate) approvePlan(ctx context.Context, req tool.Request, p *passage) (tool.Decision, error) {
	sent, problem := req.Call.Args, ""
	for range maxEdits {
		g.decide(ctx, req, p)
		plan, refusal := g.planOf(req, p.ruled)
		if refusal != "" {
			return tool.Decision{Reason: refusal}, nil
		}
		answer, err := g.Ask(ctx, Question{Request: req, Plan: plan, Problem: problem,
			Reason: "the agent wants to leave plan mode"})
		if err != nil {
			return tool.Decision{}, err
		}
		if answer.Verdict != tool.Allow {
			return tool.Decision{Reason: g.disapproval(answer)}, nil
		}
		if answer.Args != "" && answer.Args != req.Call.Args {
			edited, err := req.WithArgs(ctx, answer.Args)
			if err != nil {
				problem = err.Error()
				continue
			}
			if _, problem = g.planOf(edited, g.Rules.Decide(ctx, g.Env, edited)); problem != "" {
				continue
			}
			req, p.changed = edited, true
		}
		if g.Mode() == ModePlan { // else a person has left it otherwise, while the question was open
			g.LeavePlan(answer.mode())
		}
		p.planned = true
		return decision(req, sent, tool.Allow, p), nil
	}
	return tool.Decision{Reason: fmt.Sprintf("the plan was changed %d times without a decision", maxEdits)}, nil
}

// disapproval returns what the model is told of a plan that a person does not approve.
func (g *Gate) disapproval(answer Answer) string {
	reason := "the user does not approve the plan"
	if answer.Reason != "" {
		reason += ": " + answer.Reason
	}
	if g.Mode() == ModePlan {
		reason += ". The session is still in plan mode"
	}
	return reason
}

// mode returns the mode that follows the approval of a plan.
func (a *Answer) mode() Mode {
	if a.Mode == ModeAcceptEdits || a.Mode == ModeFull {
		return a.Mode
	}
	return ModeAsk
}
