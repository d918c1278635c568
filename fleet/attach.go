package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Attach adds the fleet's parts to the options of the session, right before that starts:
//
//   - the gate of the lease, before each call and each effect,
//   - the record of the workspace after each call that may have changed it,
//   - slots, token rates and outages of providers around model calls, and the ledger of the tenant
//     in place of another one, if the tenant has a budget,
//   - [Job.Approve], unless the options have an Approve, and asks for the answers to questions, if
//     the options have Questions without an Answer,
//   - live events, and
//   - the task's budget and schema, where the options have none, and its limit of turns, where that
//     is lower.
//
// A failed model call leaves the session open, so that the task can be paused.
func (j *Job) Attach(o *agent.Options) {
	o.Env = j.gate.environment(o.Env)
	o.Tools, o.Profile.Tools = j.gate.tools(o.Tools), j.gate.tools(o.Profile.Tools)
	o.Middleware = slices.Concat([]tool.Middleware{j.gate.middleware, j.record}, o.Middleware)
	if o.Client != nil {
		client := *o.Client
		client.Middleware = slices.Concat([]llm.Middleware{j.limit}, client.Middleware)
		o.Client = &client
	}
	if j.ledger != nil {
		o.Ledger = j.ledger
	}
	if o.Approve == nil {
		o.Approve = j.Approve
	}
	j.attached.Store(true)
	o.OnEvent = j.live.around(o.OnEvent)
	j.limits(&o.Policy)
	if j.Resumes {
		o.Dir = o.Env.WorkDir()
		if o.State == nil && j.state != nil && o.Journal != nil && o.Journal.Len() == j.state.Records {
			o.State, j.state = j.state, nil
		}
	}
}

// limits applies the limits of the task to the session's policy.
func (j *Job) limits(p *agent.Policy) {
	p.OnFailure = agent.StayOnFailure
	if p.Budget == (agent.Budget{}) {
		p.Budget = j.Task.Budget.Agent()
	}
	if turns := j.Task.Agent.MaxTurns; turns > 0 && (p.MaxTurns == 0 || turns < p.MaxTurns) {
		p.MaxTurns = turns
	}
	if p.Result == nil && j.Task.Agent.Schema != nil {
		p.Result = &agent.ResultPolicy{Schema: j.Task.Agent.Schema}
	}
}

// Sessions returns a host that opens sessions with options, for programs that make these
// themselves. The options need no ID, Journal, Env or Dir: they get those of the job. They get the
// task's provider, model and effort where they have none, and its instructions. Checks are up to
// the options' BeforeStop: a task that has some is refused without it.
func Sessions(options func(ctx context.Context, j *Job) (agent.Options, error)) Host {
	return func(ctx context.Context, j *Job) (Hosted, error) {
		o, err := options(ctx, j)
		if err != nil {
			return Hosted{}, err
		}
		if len(j.Task.Agent.Checks) > 0 && o.BeforeStop == nil {
			return Hosted{}, &PermanentError{errors.New(
				"the task has checks, and this worker runs none: submit it without agent.checks")}
		}
		o.Journal = j.Journal
		if o.Env == nil {
			o.Env = j.Workspace.Env()
		}
		j.describe(&o)
		j.Attach(&o)
		open := agent.New
		if j.Resumes {
			open = agent.Resume
		} else {
			o.ID = j.Task.ID
		}
		s, err := open(ctx, o)
		return Hosted{Session: s}, err
	}
}

// describe applies the task's description of its agent.
func (j *Job) describe(o *agent.Options) {
	spec := j.Task.Agent
	o.Provider = cmp.Or(o.Provider, spec.Provider)
	o.Model = cmp.Or(o.Model, spec.Model)
	o.Effort = cmp.Or(o.Effort, spec.Effort)
	if spec.Instructions != "" && o.Instructions != "" {
		o.Instructions += "\n\n"
	}
	o.Instructions += spec.Instructions
}

// record records the workspace after each call that may have changed it, before the call's result
// is recorded. So the next owner finds the workspace that the journal describes.
func (j *Job) record(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		result, err := next(ctx, call)
		if call.Access.Effect == tool.ReadOnly || errors.Is(err, tool.ErrNotBegun) {
			return result, err
		}
		if failed := j.notePoint(); failed != nil {
			return tool.Result{}, failed
		}
		return result, err
	}
}

// mostPoints bounds the attempts to record a workspace. The task fails after the last one.
const mostPoints = 5

// notePoint records the workspace and notes it in the session, if it has changed. An error has
// ended the job.
func (j *Job) notePoint() error {
	select {
	case j.pointing <- struct{}{}:
		defer func() { <-j.pointing }()
	case <-j.hold.Done():
		return context.Cause(j.hold)
	}
	point, err := j.newPoint()
	if err == nil && point != nil && !reflect.DeepEqual(point, j.point) {
		var data []byte
		if data, err = json.Marshal(point); err == nil {
			err = j.session.Load().Note(j.hold, WorkspaceNote, data, "")
		}
	}
	if err != nil {
		j.endHold(err)
		return err
	}
	j.point = point
	return nil
}

// newPoint records the workspace. It retries after errors that may pass, for as long as the task is
// this worker's.
func (j *Job) newPoint() (*WorkspacePoint, error) {
	for try := 1; ; try++ {
		if !j.gate.open() {
			j.lose()
			return nil, ErrLost
		}
		point, err := j.Workspace.Point(j.hold)
		_, permanent := errors.AsType[*PermanentError](err)
		switch {
		case err == nil:
			return point, nil
		case j.hold.Err() != nil:
			return nil, context.Cause(j.hold)
		case permanent, try == mostPoints:
			return nil, &PermanentError{fmt.Errorf("the workspace cannot be recorded: %w", err)}
		}
		j.log.Warn("workspace not recorded", "error", err)
		pause(j.hold, j.worker.TTL/20)
	}
}
