package permit

import (
	"cmp"
	"context"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// Question describes a call that a person decides about.
type Question struct {
	tool.Request
	// Rule is the rule that asks, with its file. It is empty if no rule is about the call. Reason
	// says why the call is asked about.
	Rule, Reason string
	// Allow lists the rules that would allow such calls from now on. It is nil if there are none,
	// or none that would be safe.
	Allow []string
	// CommandDir is the directory in which a command would run, or that of an agent in surroundings
	// of its own, if it is not the session's.
	CommandDir string
	// Inner says that it is about a call of such an agent: rules of Allow that begin at ./ are about
	// its directory, and count for this agent alone.
	Inner bool
	// Links lists the paths of the call that lead elsewhere through symbolic links.
	Links []Link
	// Refused lists what the sandbox refused to the command of the call, which has run in it. The
	// question is whether the command runs once more, outside.
	Refused []string
	// Plan is the plan, in Markdown, after which the model wants to leave plan mode. It is empty
	// for other calls.
	Plan string
	// Problem says why the previous answer could not be used. It is empty the first time.
	Problem string
	// Text tells a person all of this. The gate leaves it empty, for those who put the question.
	Text string
}

// Link is a path that leads elsewhere.
type Link struct{ Path, Target string }

// Answer is a person's decision about a call.
type Answer struct {
	Verdict tool.Verdict // Allow or Deny
	Reason  string       // for the model, when denied
	// Remember adds [Question].Allow to the rules, for as long as the process runs.
	Remember bool
	// Mode is the mode that follows an approved plan: ModeAcceptEdits or ModeFull. Anything else
	// means ModeAsk.
	Mode Mode
	// Args, when not empty, replaces the arguments. They are validated and judged again.
	Args string
}

// questionFor returns the question about a call.
func (g *Gate) questionFor(ctx context.Context, req tool.Request, j judgement, problem string) Question {
	q := Question{Request: req, Rule: j.Rule, Reason: j.Reason, Allow: j.Suggest, Inner: g.inner,
		Links: links(ctx, g.Env, req.Access.Paths), Problem: problem}
	if req.Access.Command == "" && !g.inner {
		return q
	}
	if dir := leadsTo(ctx, g.envOf(req), commandDir(req)); g.inner || dir != leadsTo(ctx, g.Env, ".") {
		q.CommandDir = cmp.Or(dir, commandDir(req))
	}
	return q
}

// commandDir returns the directory that a call names for its command, or "." if it names none.
func commandDir(req tool.Request) string { return cmp.Or(req.Access.Dir, ".") }

// Asker asks a person about a call. Calls of one [Gate] come one at a time.
type Asker func(ctx context.Context, q Question) (Answer, error)

// links returns the paths of a call that lead elsewhere.
func links(ctx context.Context, e env.Environment, paths []string) (list []Link) {
	for _, name := range paths {
		if target, err := env.Resolve(ctx, e, name); err == nil && target != name {
			list = append(list, Link{name, target})
		}
	}
	return list
}
