package coding

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

type planArgs struct {
	Explanation string     `json:"explanation,omitempty" jsonschema:"What changed, and why, if that is not plain."`
	Plan        []planStep `json:"plan" jsonschema:"All the steps, in order."`
}

type planStep struct {
	Step   string `json:"step" jsonschema:"The step, in a few words."`
	Status string `json:"status" jsonschema:"pending, in_progress or completed. At most one step is in_progress."`
}

// maxPlan is the longest plan, in bytes: all of it is repeated after every compaction.
const maxPlan = 10_000

// UpdatePlan returns the tool update_plan(plan, explanation) of OpenAI's agent. The session keeps
// the plan as a note, which hosts see in PLAN events.
func UpdatePlan() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name:        "update_plan",
		Description: "Replaces the plan that the user sees. Give every step each time, with its status.",
		Parameters:  schema("update_plan"),
	}, updatePlan)
	t.Instead = replaces("update_plan")
	return tool.WithAccess(t, func(planArgs) tool.Access { return tool.Access{Effect: tool.ReadOnly} })
}

func updatePlan(ctx context.Context, call *tool.Call, args planArgs) (tool.Result, error) {
	if err := args.check(); err != nil {
		return tool.Result{}, err
	}
	if len(call.Args) > maxPlan {
		return tool.Result{}, fmt.Errorf("the plan has %d bytes and can have %d; say each step in a few words",
			len(call.Args), maxPlan)
	}
	if err := args.list().Keep(ctx, sessionOf(call)); err != nil {
		return tool.Result{}, err
	}
	return tool.Text("Plan updated"), nil
}

func (args planArgs) list() tool.Plan {
	plan := tool.Plan{Explanation: args.Explanation}
	for _, step := range args.Plan {
		plan.Items = append(plan.Items, tool.PlanItem{Text: step.Step, Status: tool.PlanStatus(step.Status)})
	}
	return plan
}

// check returns an error for an invalid plan.
func (args planArgs) check() error {
	if len(args.Plan) == 0 {
		return errors.New("plan is empty; give all the steps")
	}
	active := 0
	for i, step := range args.Plan {
		if strings.TrimSpace(step.Step) == "" {
			return fmt.Errorf("plan[%d].step is empty; say the step in a few words, or leave it out of the plan", i)
		}
		switch tool.PlanStatus(step.Status) {
		case tool.PlanPending, tool.PlanCompleted:
		case tool.PlanInProgress:
			active++
		default:
			return fmt.Errorf("plan[%d].status is %q; use pending, in_progress or completed", i, step.Status)
		}
	}
	if active > 1 {
		return fmt.Errorf("%d steps are in_progress; at most one can be: make the others pending", active)
	}
	return nil
}
