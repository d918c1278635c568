package permit

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// Question describes a call that a person decides about.
type Question struct {
	tool.Request
	// Rule is the rule that asks, with its file. It is empty if no rule is about the call. Reason
	// says why the call is asked about, and Reasons everything that does, the gravest first.
	// Touches are the files that it uses and that usually hold secrets, or that start or protect
	// something.
	Rule, Reason string
	Reasons      []string
	Touches      []rules.Touched
	// Allow lists the rules that would allow such calls from now on. It is nil if there are none,
	// or none that would be safe.
	Allow []string
	// Project names the project for which they can be kept beyond the session; empty means none.
	Project string
	// CommandDir is the directory in which a command would run, or that of an agent in surroundings
	// of its own, if it is not the session's.
	CommandDir string
	// Inner says that it is about a call of such an agent: rules of Allow that begin at ./ are
	// about its directory, and count for this agent alone.
	Inner bool
	// Links lists the paths of the call that lead elsewhere through symbolic links.
	Links []Link
	// Refused lists what the sandbox refused to the command of the call, which has run in it. The
	// question is whether the command runs once more, outside.
	Refused []string
	// Changes are what the call would do to files, with their whole diffs. It is nil if that is not
	// known, or if not all of it is text.
	Changes []tool.Change
	// Plan is the plan, in Markdown, after which the model wants to leave plan mode. It is empty
	// for other calls.
	Plan string
	// Problem says why the previous answer could not be used. It is empty the first time.
	Problem string
	// Text tells a person all of this. The gate leaves it empty; an Asker may set it.
	Text string

	work string // the directory where rules of Allow with ./ begin, without links
}

// Lasting returns the rules of Allow that have a meaning in later sessions in a project, or
// everywhere if that is empty. Those about the directory of an agent have none. In a project, rules
// about the directory of the session begin at the root, and have none if it does not lie in the
// project: they would be about the directories of all its sessions.
func (q *Question) Lasting(project string) (list []string) {
	at, below := strings.CutPrefix(filepath.ToSlash(q.work)+"/", strings.TrimSuffix(project, "/")+"/")
	for _, rule := range q.Allow {
		name, pattern, here := inDirectory(rule)
		switch {
		case !here:
		case q.Inner:
			continue
		case project != "" && !below:
			continue
		case project != "":
			rule = name + "(/" + at + pattern
		}
		list = append(list, rule)
	}
	return list
}

// inDirectory divides a rule about files that begins at the directory of the session, or of an
// agent. Other rules mean the same everywhere: a command may begin with ./, too.
func inDirectory(rule string) (name, pattern string, ok bool) {
	name, pattern, ok = strings.Cut(rule, "(./")
	return name, pattern, ok && (name == "Read" || name == "Edit")
}

// Link is a path that leads elsewhere.
type Link struct {
	Path   string `json:"path"`
	Target string `json:"target"`
}

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
	q := Question{Request: req, Rule: j.Rule, Reason: j.Reason, Reasons: j.Reasons, Touches: j.Touches,
		Allow: j.Suggest, Project: g.Project, Inner: g.inner, work: leadsTo(ctx, g.Env, "."),
		Links: links(ctx, g.Env, req.Access.Paths), Problem: problem, Changes: preview(ctx, req)}
	if req.Access.Command == "" && !g.inner {
		return q
	}
	if dir := leadsTo(ctx, g.envOf(req), commandDir(req)); g.inner || dir != leadsTo(ctx, g.Env, ".") {
		q.CommandDir = cmp.Or(dir, commandDir(req))
	}
	return q
}

// The limits of a preview of a call.
const (
	previewTime  = 5 * time.Second
	previewDiffs = 256 << 10 // bytes
)

// preview returns what a call would do to files, or nil unless all of it can be shown.
func preview(ctx context.Context, req tool.Request) []tool.Change {
	if req.Access.Effect != tool.Writes || req.Access.Command != "" || len(req.Access.Paths) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	changes, err := req.Preview(ctx, previewDiffs)
	if err != nil || slices.ContainsFunc(changes, func(c tool.Change) bool { return c.Diff == "" || c.DiffCut }) {
		return nil
	}
	return changes
}

// commandDir returns the directory that a call names for its command, or "." if it names none.
func commandDir(req tool.Request) string { return cmp.Or(req.Access.Dir, ".") }

// Asker asks a person about a call. Calls of one [Gate] come one at a time. An error denies the
// call with its text, which the model reads; the session goes on.
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
