package attractor

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// refusals tells the model what the sandbox refused to a command, and runs the command outside if a
// person allows that.
type refusals struct {
	boxOf   func(*tool.Call) *sandbox.Sandbox // the sandbox in which a call's command ran; nil for none
	denied  func(file string) bool            // a rule denies reading it
	gate    *permit.Gate
	outside func() (*env.Local, error) // an environment whose commands are not in the sandbox
}

// middleware implements [tool.Middleware].
func (r *refusals) middleware(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		result, err := next(ctx, call)
		if err != nil || result.Ran == nil || result.Ran.Exit == nil {
			return result, err
		}
		box := r.boxOf(call)
		if box == nil {
			return result, nil
		}
		why, ask := r.refused(box, call.Env.WorkDir(), &result)
		if len(why) == 0 {
			return result, nil
		}
		result = coding.AppendText(result, "["+strings.Join(why, " ")+" "+r.way(box)+"]")
		if !ask || !result.IsError || call.Access.Command == "" || ctx.Err() != nil {
			return result, nil
		}
		free, err := r.gate.Outside(ctx, call, why)
		if err != nil || !free {
			return result, nil // the person is gone or says no: the command has failed as the result says
		}
		return r.again(ctx, call, result)
	}
}

// way returns what the model is told to do about a refusal.
func (r *refusals) way(box *sandbox.Sandbox) string {
	const none = "This is no fault of the machine, and there is no way around it: work without it, or say what " +
		"you need."
	if box.Level() == sandbox.Observe && r.gate.Ask == nil {
		return none + " " + cmp.Or(r.gate.HowToAllow,
			"A rule of the user's that allows the command lets it run outside these limits") + "."
	}
	return none
}

// refused returns sentences about what the sandbox refused to a command, and whether a person
// should be asked: not if all of it are files that a rule denies to read.
func (r *refusals) refused(box *sandbox.Sandbox, dir string, result *tool.Result) (why []string, ask bool) {
	for _, refusal := range box.Refusals(dir, []byte(result.Content.Text()), result.Ran.Failed()) {
		why = append(why, refusal.Why)
		ask = ask || refusal.Path == "" || !r.denied(refusal.Path)
	}
	hosts, more := box.RefusedHosts()
	for _, h := range hosts {
		why, ask = append(why, h.Why), true
	}
	if more > 0 {
		why, ask = append(why, "The proxy refused "+strconv.Itoa(more)+" more connections."), true
	}
	return why, ask
}

// again runs a command outside the sandbox and appends its result to that of the first run.
func (r *refusals) again(ctx context.Context, call *tool.Call, first tool.Result) (tool.Result, error) {
	local, err := r.outside()
	if err != nil {
		return coding.AppendText(first,
			"[A person allowed the command to run outside the sandbox, but it could not start: "+err.Error()+"]"), nil
	}
	within := *call
	within.Env, within.Session = local, nil // without a session, what it leaves running is not kept
	second := coding.RunCommand(ctx, &within, env.Command{Script: call.Access.Command, Dir: call.Env.WorkDir()},
		env.MaxTimeout)
	if err := local.Close(); err != nil {
		first = coding.AppendText(first, "[What the command left running outside could not be ended: "+err.Error()+"]")
	}
	first = coding.AppendText(first,
		"[A person allowed this command, once, to run outside the sandbox. This is what it printed there:]\n"+
			second.Content.Text())
	if code := coding.ExitCode(second.Ran); code != "" {
		first = coding.AppendText(first, "Exit code: "+code)
	} else if second.Ran.Failed() {
		first = coding.AppendText(first, "[It did not come to its end: "+second.Ran.Err+"]")
	}
	first.IsError, first.Ran = second.IsError, second.Ran
	return first, nil
}
