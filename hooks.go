package attractor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/ext/hooks"
	"github.com/attractor-go/attractor/internal/lookpath"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/trust"
)

// sessionHooks holds the hooks of a session and what they need.
type sessionHooks struct {
	*hooks.Hooks
	list []hooks.Hook
	own  lazyLocal // where the user's hooks run
}

// lazyLocal is a directory of this machine, in which commands are contained and not confined. It is
// opened when it is first needed.
type lazyLocal struct {
	dir    string
	drop   []string // variables that commands do not get
	vars   []string // variables that commands get besides
	mu     sync.Mutex
	local  *env.Local
	closed bool
}

// open returns the environment.
func (l *lazyLocal) open() (env.Environment, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, fs.ErrClosed
	}
	if l.local == nil {
		local, err := env.NewLocal(l.dir, env.LocalOptions{DropVars: l.drop, Env: l.vars})
		if err != nil {
			return nil, err
		}
		l.local = local
	}
	return l.local, nil
}

// close ends what is left of the commands.
func (l *lazyLocal) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.local == nil {
		return nil
	}
	return l.local.Close()
}

// killNow sends KILL to the commands and does not wait.
func (l *lazyLocal) killNow() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.local == nil {
		return nil
	}
	return l.local.KillNow()
}

// readHooks reads the hooks that are configured.
func (s *Setup) readHooks(c *config) error {
	if c.NoHooks {
		return nil
	}
	configured := load.ReadHooks(s.Project, c.usersEnv)
	for _, m := range configured.Mistakes {
		s.warnings.add("hook_config", m.Error())
	}
	if c.StrictHooks && len(configured.Lost) > 0 {
		return fail(ErrConfig, "hooks that must not fail cannot be used: %w", configured.Lost[0])
	}
	s.unused.Add("hooks", configured.UnusedEvents(), configured.Why)
	if len(configured.List) > 0 {
		s.hooks = &sessionHooks{list: configured.List}
	}
	return nil
}

// guarded returns the files of this machine that hooks run in a session in a directory, and the
// user's files that configure hooks: an edit of one needs an approval, because the hook would run
// it without one. exposed says which may run any file of the session's directories.
func (h *sessionHooks) guarded(here, root string) (files []string, exposed string) {
	if h == nil {
		return nil, ""
	}
	for i := range h.list {
		hook, dir := &h.list[i], here
		if hook.Origin == ext.Project {
			dir = root
		}
		watched := trust.Watched(root, dir, hook.Command, hook.Args...)
		files = append(slices.Concat(files, watched.Runs, watched.Names), userfiles.RealPath(hook.File))
		if why := trust.MayRun(hook.Command, hook.Args...); why != "" && exposed == "" {
			exposed = exposes("the hook "+texts.Cut(hook.Command, 60, "…"), why)
		}
	}
	return files, exposed
}

// openHooks prepares the hooks that were read, and adds them to the session.
func (s *Setup) openHooks(c *config) error {
	if s.hooks == nil {
		return nil
	}
	s.hooks.own.dir, s.hooks.own.drop = s.here, c.keyVars()
	if !s.Project.Chosen && !c.TrustProject { // its programs do not run in the place of the user's
		foreign := append(s.repositories(c.getenv("HOME")), s.here, s.Project.Root)
		s.hooks.own.vars = []string{"PATH=" + lookpath.Outside(os.Getenv("PATH"), foreign...)}
	}
	o := hooks.Options{Hooks: s.hooks.list, Env: s.hookEnv, Project: s.projectHere(), Dir: s.here,
		Mode: func() string { return claudeMode(s.Mode()) }, Strict: c.StrictHooks,
		Check: s.checkHook, Mask: s.Secrets, Warn: s.warnings.add, Ran: s.hookRan()}
	s.conditions = &ruleCache{dirs: s.ruleDirs(c), env: s.Options.Env}
	o.Applies = func(ctx context.Context, rule string, req tool.Request) bool {
		return s.at(req.Dir).conditions.applies(ctx, rule, req)
	}
	for i := range s.hooks.list {
		h := &s.hooks.list[i]
		if h.If == "" {
			continue
		}
		if _, err := s.conditions.set(h.If); err != nil {
			s.warnings.add("hook_config",
				fmt.Sprintf("%s, line %d: if: %v. The hook runs for every call that its matcher chooses", h.File,
					h.Line, err))
			h.If = ""
		}
	}
	s.hooks.Hooks = hooks.New(o)
	s.placeHooks()
	return nil
}

// placeHooks adds the hooks to the gate and to the options of the session.
func (s *Setup) placeHooks() {
	h, o := s.hooks.Hooks, &s.Options
	if h.Has(hooks.PreToolUse) {
		s.Gate.BeforeRules = append(s.Gate.BeforeRules, opinion(h.BeforeRules))
	}
	if h.Has(hooks.PermissionRequest) {
		s.Gate.BeforeQuestion = append(s.Gate.BeforeQuestion, opinion(h.BeforeQuestion))
	}
	if h.Has(hooks.PreToolUse, hooks.PermissionRequest, hooks.PostToolUse, hooks.PostToolUseFailure,
		hooks.SubagentStart, hooks.SubagentStop, hooks.PreCompact) {
		o.Middleware = append([]tool.Middleware{h.Middleware}, o.Middleware...)
	}
	if h.Has(hooks.UserPromptSubmit) {
		o.BeforeInput = h.BeforeInput
	}
	if h.Has(hooks.Stop, hooks.SubagentStop) {
		o.BeforeStop = h.BeforeStop
	}
	if h.Has(hooks.PreCompact) {
		o.BeforeCompact = h.BeforeCompact
	}
}

// opinion returns hooks as a hook of the gate.
func opinion(ask func(context.Context, tool.Request) (hooks.Opinion, error)) permit.Hook {
	return func(ctx context.Context, req tool.Request) (permit.Opinion, error) {
		o, err := ask(ctx, req)
		return permit.Opinion{Says: permit.Stance(o.Says), Reason: o.Reason, Args: o.Args}, err
	}
}

// hookEnv returns the environment of hooks: for the user's that of this machine, for the project's
// that of the session's commands.
func (s *Setup) hookEnv(origin ext.Origin) (env.Environment, error) {
	if origin == ext.Project {
		return s.Local, nil
	}
	return s.hooks.own.open()
}

// checkHook returns an error if a file of the project that a project's hook names is not the one
// that was trusted.
func (s *Setup) checkHook(h *hooks.Hook) error {
	if h.Origin != ext.Project {
		return nil
	}
	if err := s.Project.UnchangedCommand(h.Command, h.Args...); err != nil {
		return fmt.Errorf("it is not run, because a file of the project that it names is not the one that you "+
			"trusted: %w", err)
	}
	return nil
}

// claudeMode returns a mode in Claude Code's words.
func claudeMode(m permit.Mode) string {
	switch m {
	case permit.ModeAcceptEdits:
		return "acceptEdits"
	case permit.ModeFull:
		return "bypassPermissions"
	case permit.ModePlan, permit.ModeReadOnly:
		return "plan"
	}
	return "default"
}

// startHooks tells the hooks that the session has begun.
func (s *Setup) startHooks(ctx context.Context) error {
	if s.hooks == nil {
		return nil
	}
	source := "startup"
	if s.Resumed {
		source = "resume"
	}
	err := s.hooks.Start(ctx, s.session, source, cmp.Or(s.Options.Model, s.Options.Profile.Model))
	if err != nil && ctx.Err() == nil {
		s.warnings.add("hook_failed", "what the hooks for SessionStart say could not be kept: "+err.Error())
		err = nil
	}
	return err
}

// listenForHooks passes the events and questions of the session to the hooks.
func (s *Setup) listenForHooks() {
	if s.hooks == nil {
		return
	}
	h := s.hooks.Hooks
	if h.Has(hooks.SessionStart, hooks.Notification) {
		s.onEvent(h.OnEvent)
	}
	if ask := s.Gate.Ask; ask != nil && h.Has(hooks.Notification) {
		s.Gate.Ask = func(ctx context.Context, q permit.Question) (permit.Answer, error) {
			h.Notify(q.SessionID, "permission_prompt", "A permission is needed to use "+rules.ClaudeName(q.Call.Name))
			return ask(ctx, q)
		}
	}
}

// closeHooks ends the hooks.
func (s *Setup) closeHooks() error {
	if s.hooks == nil {
		return nil
	}
	if s.hooks.Hooks != nil {
		s.hooks.End(context.Background())
	}
	return s.hooks.own.close()
}

// KillNow sends KILL to the session's commands and hooks and does not wait. It is for a program
// that is about to exit.
func (s *Setup) KillNow() error {
	var err error
	if s.far != nil {
		err = s.far.killNow()
	} else {
		err = errors.Join(s.Local.KillNow(), s.agents.killNow())
	}
	if s.hooks != nil {
		err = errors.Join(err, s.hooks.own.killNow())
	}
	return err
}

// ruleCache holds the rules of hooks that run for some calls only.
type ruleCache struct {
	dirs rules.Dirs
	env  env.Environment
	mu   sync.Mutex
	sets map[string]*rules.Set
}

// set returns a rule as a set that denies what the rule is about.
func (r *ruleCache) set(rule string) (*rules.Set, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.sets[rule]; known != nil {
		return known, nil
	}
	set, err := rules.Load(r.dirs, load.OneRule("if", "deny", rule))
	if err != nil {
		return nil, err
	}
	if r.sets == nil {
		r.sets = map[string]*rules.Set{}
	}
	r.sets[rule] = set
	return set, nil
}

// applies reports whether a rule is about a call, or about a part of its script.
func (r *ruleCache) applies(ctx context.Context, rule string, req tool.Request) bool {
	set, err := r.set(rule)
	return err != nil || set.Decide(ctx, r.env, req).Verdict == tool.Deny
}
