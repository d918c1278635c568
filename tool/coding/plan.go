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

// UpdatePlan is the tool update_plan(plan, explanation) of OpenAI's agent. The plan is the call's arguments: a host that shows plans
// finds it in the events, and nothing else is done with it.
func UpdatePlan() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name:        "update_plan",
		Description: "Replaces the plan that the user sees. Give every step each time, with its status.",
	}, updatePlan)
	return tool.WithAccess(t, func(planArgs) tool.Access { return tool.Access{Effect: tool.ReadOnly} })
}

func updatePlan(_ context.Context, _ *tool.Call, args planArgs) (tool.Result, error) {
	if len(args.Plan) == 0 {
		return tool.Result{}, errors.New("plan is empty; give all the steps")
	}
	active := 0
	for i, step := range args.Plan {
		if strings.TrimSpace(step.Step) == "" {
			return tool.Result{}, fmt.Errorf("plan[%d].step is empty", i)
		}
		switch step.Status {
		case "pending", "completed":
		case "in_progress":
			active++
		default:
			return tool.Result{}, fmt.Errorf("plan[%d].status is %q; use pending, in_progress or completed", i, step.Status)
		}
	}
	if active > 1 {
		return tool.Result{}, fmt.Errorf("%d steps are in_progress; at most one can be", active)
	}
	return tool.Text("Plan updated"), nil
}
