package attractor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/sessions"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/worktree"
)

// inWorktree is the isolation of agents that work in a git worktree, by Claude Code's name for it.
const inWorktree = "worktree"

// worktreeNote is the prefix of the kinds of notes that told the model of a worktree which an agent
// has left, outside of a report. The name of the worktree follows it.
const worktreeNote = "attractor.worktree:"

// agentWorktrees holds the setups of the subagents that work in worktrees of their own.
type agentWorktrees struct {
	in    worktree.Options      // where they are; without a Home there are none
	notes map[string]agent.Note // of a session that is resumed

	mu   sync.Mutex
	list []*Setup
}

// at returns the setup for calls in a directory: that of an agent in a worktree, or s.
func (s *Setup) at(dir string) *Setup {
	a := &s.agents
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, in := range a.list {
		if work := in.Local.WorkDir(); dir == work || isBelow([]string{work}, dir) {
			return in
		}
	}
	return s
}

// where returns a middleware that applies to each call the one that of returns for the setup of the
// call, or none if that is nil.
func (s *Setup) where(of func(at *Setup) tool.Middleware) tool.Middleware {
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			at := s
			if call.Env != nil {
				at = s.at(call.Env.WorkDir())
			}
			m := of(at)
			if m == nil {
				return next(ctx, call)
			}
			return m(next)(ctx, call)
		}
	}
}

// inDir returns a middleware that leaves out calls of agents in worktrees.
func (s *Setup) inDir(m tool.Middleware) tool.Middleware {
	return s.where(func(at *Setup) tool.Middleware {
		if at != s {
			return nil
		}
		return m
	})
}

// killNow sends KILL to the commands of the agents and does not wait.
func (a *agentWorktrees) killNow() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var errs []error
	for _, in := range a.list {
		errs = append(errs, in.Local.KillNow())
	}
	return errors.Join(errs...)
}

// offerWorktrees lets agents have worktrees. A program that replaces the environment or the
// session's Subagents after that has none for its agents.
func (s *Setup) offerWorktrees(c *config) {
	if s.far == nil {
		s.agents.in, _ = c.worktrees(s.Local.WorkDir()) // an agent that wants one gets the error
	}
	if c.was != nil {
		s.agents.notes = c.was.Notes
	}
	made := s.Options.Env
	s.Options.Subagents.Isolate = func(ctx context.Context, id string, e env.Environment,
		task tool.AgentTask) (*agent.Surroundings, error) {
		var why string
		switch {
		case task.Isolation != inWorktree:
			why = fmt.Sprintf("there is no isolation %q but only %s", task.Isolation, inWorktree)
		case s.far != nil:
			why = "the session works on another machine, and worktrees are made on the host's"
		case s.Options.Env != made:
			why = "the program of this session watches over its files, and would not see those of a worktree"
		case s.Gate.Mode() == permit.ModePlan:
			why = "a worktree changes the repository, and the session is in plan mode"
		}
		if why != "" {
			return nil, fmt.Errorf("the agent was not started: %s. Leave the isolation out, choose another kind of "+
				"agent if this kind has it, or do that part yourself", why)
		}
		in, err := s.isolate(ctx, c, id, e.WorkDir())
		if err != nil {
			return nil, fmt.Errorf("the agent was not started, because it cannot have a worktree: %w", err)
		}
		around := &agent.Surroundings{Env: in.Options.Env, Documents: in.Options.Documents,
			Instructions: instructionsFor(in.worktree), Close: func(cut bool) string { return s.leave(in, cut) }}
		if in.reader != nil {
			around.Prompt = reader{env.Base{Environment: in.reader}, env.ConfinementOf(in.Options.Env)}
		}
		return around, nil
	}
}

// isolate opens the setup of an agent in a worktree made from what is checked out in a directory.
// It shares with the session everything that does not depend on the directory.
func (s *Setup) isolate(ctx context.Context, c *config, id, dir string) (*Setup, error) {
	own := *c
	own.Dir, own.Worktree, own.Here = dir, s.worktreePrefix()+mark(id), Here{}
	if s.boxed() {
		own.Sandbox.Cache = cmp.Or(c.Sandbox.Cache, sandboxCache(s.Local.WorkDir()))
	}
	in := &Setup{Options: agent.Options{Profile: s.Options.Profile}, Project: s.Project, Secrets: s.Secrets,
		hooks: s.hooks, dirs: s.dirs, copies: s.at(dir).copies,
		warnings: ownEvents{log: s.warnings.log, to: &s.warnings}}
	opened := []func(*Setup, context.Context, *config) error{(*Setup).enterWorktree,
		withoutContext(func(in *Setup, own *config) error {
			in.readable = s.Skills.Outside(own.Dir)
			if !in.worktree.New {
				return fmt.Errorf("there is one of the name %s from before; try again", own.Worktree)
			}
			return nil
		}), (*Setup).openDir, withoutContext((*Setup).openRules), (*Setup).openDocuments}
	for _, open := range opened {
		if err := open(in, ctx, &own); err != nil {
			return nil, errors.Join(err, in.closeIsolated())
		}
	}
	in.above = s.Rules
	in.conditions = &ruleCache{dirs: in.ruleDirs(&own), env: in.Options.Env}
	in.Gate = s.Gate.Within(stricter{in.Rules, s.Rules}, in.Options.Env)
	if s.Gate.Unasked != nil {
		in.Gate.Unasked = func() bool { return in.observing.sandbox() != nil }
	}
	in.lookForRepositories()
	s.agents.mu.Lock()
	defer s.agents.mu.Unlock()
	s.agents.list = append(s.agents.list, in)
	return in, nil
}

// stricter are the rules for an agent in a worktree: those about the worktree, and those of the
// session about its own directory where these deny a call or ask about it.
type stricter struct {
	*rules.Set
	session *rules.Set
}

// Decide implements [permit.Rules].
func (r stricter) Decide(ctx context.Context, e env.Environment, req tool.Request) rules.Decision {
	d := r.Set.Decide(ctx, e, req)
	above := r.session.Decide(ctx, e, req)
	if above.Rule != "" && (above.Verdict == tool.Deny && d.Verdict != tool.Deny ||
		above.Verdict == tool.Ask && (d.Verdict == tool.Allow || d.Verdict == tool.Ask && d.Default)) {
		return above
	}
	return d
}

// closeIsolated closes what isolate has opened.
func (s *Setup) closeIsolated() error {
	return errors.Join(s.closeDocuments(), s.closeDir(), s.closeLeftBehind(), s.closeWorktree())
}

// leave closes the setup of an agent that has ended, and returns what the model is told about its
// worktree. cut says that the agent has no report, so that a note tells it.
func (s *Setup) leave(in *Setup, cut bool) string {
	if err := in.closeIsolated(); err != nil {
		s.warnings.add("worktree", err.Error())
	}
	a := &s.agents
	a.mu.Lock()
	a.list = slices.DeleteFunc(a.list, func(other *Setup) bool { return other == in })
	a.mu.Unlock()
	w := in.worktree
	if w.Kept == "" {
		return "[The agent worked in a git worktree of its own, which is gone, because nothing would be lost with it.]"
	}
	s.warnings.add("worktree", w.Outcome())
	told := "[The agent" + leftIn(w) + "]"
	if cut { // if the session is closed already, its model is told on resume
		_ = s.tellLeft(context.Background(), w, told)
	}
	return told
}

// worktreePrefix returns the prefix of the names of the worktrees of the session's agents.
func (s *Setup) worktreePrefix() string { return mark(s.session.ID()) + "-" }

// mark returns eight characters that stand for a session in the name of a worktree.
func mark(id string) string {
	if short := sessions.ShortID(id); len(short) == 8 {
		return short
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:4])
}

// instructionsFor returns what an agent in a worktree is told about it.
func instructionsFor(w *worktree.Worktree) string {
	without := ""
	if w.Uncommitted > 0 {
		without = fmt.Sprintf(", without the changes there that are not committed (paths: %d)", w.Uncommitted)
	}
	return fmt.Sprintf("You work in a git worktree of your own, %s, on the branch %s. It was made from the last "+
		"commit of %s%s. Change files only in your worktree, and commit there what you want to hand over: the agent "+
		"that started you merges the branch.",
		texts.Shown(w.Top), w.Branch, texts.Shown(w.From), without)
}

// leftIn returns the rest of a sentence about an agent that has left work in a worktree.
func leftIn(w *worktree.Worktree) string {
	without := ""
	if w.Uncommitted > 0 {
		without = fmt.Sprintf(" It was made from the last commit, without your changes (paths: %d).", w.Uncommitted)
	}
	return fmt.Sprintf(" has left its work in the git worktree %s, on the branch %s: %s.%s To bring its commits "+
		"home, run: git merge %s. What it has not committed is only in the worktree, which goes with the session "+
		"once nothing would be lost.",
		texts.Shown(w.Top), w.Branch, w.Kept, without, w.Branch)
}

// tellLeft tells the model of a worktree by a note, which also records that it was told.
func (s *Setup) tellLeft(ctx context.Context, w *worktree.Worktree, text string) error {
	return s.session.Note(ctx, worktreeNote+strings.TrimPrefix(w.Branch, worktree.BranchPrefix), []byte("true"), text)
}

// tellWorktrees removes the worktrees that agents of an earlier run have left without anything in
// them, such as one that was killed, and tells of the others.
func (s *Setup) tellWorktrees(ctx context.Context) error {
	if !s.Resumed {
		return nil
	}
	for _, w := range s.leftWorktrees(ctx) {
		if note, told := s.agents.notes[worktreeNote+filepath.Base(w.Top)]; told && !note.Replaced {
			continue
		}
		s.warnings.add("worktree", w.Outcome())
		if err := s.tellLeft(ctx, w, "An agent of an earlier run of this session"+leftIn(w)); err != nil {
			return err
		}
	}
	return nil
}

// leftWorktrees removes those worktrees of the session's agents whose removal loses nothing, and
// returns the others.
func (s *Setup) leftWorktrees(ctx context.Context) (kept []*worktree.Worktree) {
	o := s.agents.in
	if o.Home == "" {
		return nil
	}
	o.Name = s.worktreePrefix()
	for _, name := range worktree.Names(o) {
		o.Name = name
		w, err := worktree.Open(ctx, o)
		if err != nil {
			s.warnings.add("worktree", err.Error())
			continue
		}
		if w.Close(ctx); w.Kept != "" {
			kept = append(kept, w)
		}
	}
	return kept
}

// closeAgentWorktrees removes the worktrees of agents whose work has been merged.
func (s *Setup) closeAgentWorktrees() error {
	if s.session != nil {
		s.leftWorktrees(context.Background())
	}
	return nil
}
