package attractor

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/lsp"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/secret/masked"
	"github.com/attractor-go/attractor/sessions"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/worktree"
)

// Setup holds the options and resources of a session that is ready to start.
type Setup struct {
	// Options holds the session's options. A program adds its own, such as OnEvent and Policy,
	// before it starts the session.
	Options agent.Options
	// Machine has the session's files and commands. Options.Env wraps it.
	Machine env.Environment
	// Local is Machine if that is this machine, else nil.
	Local    *env.Local
	worktree *worktree.Worktree // nil if the session has none of its own
	copies   []rules.Copy       // that is one, and what its original was made from
	agents   agentWorktrees     // of subagents
	// Project holds what the directory brings that may start or allow something.
	Project  *load.Project
	settings *settings.Values // also those of the project
	// Rules decide which calls are allowed, denied or asked about.
	Rules *rules.Set
	above *rules.Set // those of the session, if this is for an agent in a worktree of its own
	// Gate decides about the session's tool calls. A program adds its hooks before it starts the
	// session.
	Gate *permit.Gate
	// Resumed reports whether the session is a resumed one or a fork. ModelBefore is the model that
	// it asked until then.
	Resumed     bool
	ModelBefore string
	// OnMode, if set, is told of each change of the mode, by SetMode and by an approved plan. It
	// must not call SetMode.
	OnMode func(permit.Mode)

	// Secrets masks the secrets of the environment and of the configuration, also in the doors of
	// the session.
	Secrets *secret.Masker
	// Unmasked names the secrets that cannot be masked, each with the reason.
	Unmasked []error

	// Languages holds the language servers, or is nil without any.
	Languages *lsp.Servers

	// Skills holds the skills of the user and of the project.
	Skills *load.Skills

	// Agents holds the agents that files of the user and of the project define.
	Agents *load.AgentFiles

	// Configured holds the MCP servers that are configured, and Servers those that were started.
	// Both are nil without MCP, and Servers also if there are none. Their warnings are events of
	// the session.
	Configured *load.Servers
	Servers    *mcp.Servers

	// Instrument is that of the [Config].
	Instrument func(o *agent.Options, secrets *secret.Masker)

	// OnOwnEvent receives the events of the host that Tell shows, if it is set before Start. It is
	// called as [agent.Options].OnEvent is, and never beside it.
	OnOwnEvent func(Event)

	log      *slog.Logger // of what is not the session's; nil without --debug
	named    string       // the directory as the user has named it
	helper   Helper       // config.EnvHelper
	moved    bool         // the resumed session works in another directory than before
	place    placeNote    // the machine, as the session notes it
	far      *elsewhere   // the other machine; nil if the session works on this one
	here     string       // the directory of this machine, in which the user's servers and hooks run
	places   *places
	mcpWait  time.Duration // config.MCPWait
	warnings ownEvents
	unused   load.Unused
	commands []Command
	// readCommands reads the files of commands, once. unusable says what is wrong with them, and
	// untrusted names those that must not be used.
	readCommands func()
	unusable     []error
	untrusted    []string
	filling      atomic.Pointer[context.CancelCauseFunc] // of a command whose message is being made
	typed        atomic.Int64                            // commands that a person has run
	session      *agent.Session
	// wantedChecks is config.Checks, and checks what became of them; nil without any.
	wantedChecks Checks
	checks       *sessionChecks
	documents    tool.Middleware // gives those of directories below
	readable     []string        // directories that tools and commands may read
	reader       *env.Local      // reads documents above the working directory; nil if there can be none, or elsewhere
	hooks        *sessionHooks   // nil without hooks
	conditions   *ruleCache      // of hooks

	checkpoints *checkpoints // nil without any

	box       *sandbox.Sandbox
	observing *observing  // nil on another machine
	nesting   git.Nesting // the repositories in the session's directories
	// toldExposed is about the warning that edits ask, and that nobody is there to allow them.
	toldExposed sync.Once
	leftBehind  *leftBehind             // nil without a sandbox
	ownSecrets  []string                // directories of this program with tokens, and copies of what commands cannot read
	changing    sync.Mutex              // held while the mode changes
	noFull      func(permit.Mode) error // says why a mode cannot be chosen
	told        permit.Mode             // the mode of which the model knows
	plans       bool                    // the model has the tool that leaves plan mode
	dirs        furtherDirs
	led         sessions.Leads // of the session that is resumed
	denied      []string       // the names of tools that the model is not offered
	choosing    sync.Mutex     // held while the model changes
	chosen      chosen
	catalog     *catalog.Catalog
	kinds       []providers.Kind    // config.Kinds
	alone       bool                // no file of the user counts
	change      agent.Settings      // the settings to change in a resumed session
	ownWindow   agent.FallbackModel // the model that the catalog lacks, with the window that the user has set for it
	store       journal.Store
	started     bool // the session has taken over the journal
}

// openModel connects to the provider and chooses the profile and what else the options have of the
// configuration.
func (s *Setup) openModel(c *config) error {
	client, provider, err := c.connect()
	if err != nil {
		return err
	}
	c.useOthersModel(provider)
	if c.chosen.model != nil {
		model := newestOf(provider, *c.chosen.model)
		c.chosen.model = &model
	}
	if s.change.Model != nil {
		s.change.Model = c.chosen.model
		if s.change.Provider == nil && c.was != nil && c.was.Provider != provider { // the model's name says so
			s.change.Provider = &provider
		}
	}
	o := &s.Options
	o.Client, o.Provider, o.Model, o.Effort = client, provider, value(c.chosen.model), value(c.chosen.effort)
	if o.Profile, err = c.chooseProfile(provider); err != nil {
		return err
	}
	if c.Web {
		if o.Profile, err = WithWeb(o.Profile); err != nil {
			return err
		}
	}
	s.chooseWindow(c, c.was)
	o.Fallbacks.Models = c.Fallbacks
	o.Instructions = c.Instructions
	o.Subagents = &agent.Subagents{}
	if c.Store != nil {
		o.Subagents.Journal = c.Store.Create
	}
	return nil
}

// openGate puts the gate in front of the tool calls of the session.
func (s *Setup) openGate(c *config) {
	o := &s.Options
	s.Gate = permit.NewGate(c.Mode, s.Rules, o.Env)
	s.Gate.Exposed = s.tellExposed
	s.noFull = c.noFull
	s.Gate.Ask, s.Gate.Project = s.maskReasons(c.Ask), s.Project.KeptAs()
	if c.Unasked == sandbox.Observe && !s.boxed() {
		s.Gate.Unasked = func() bool { return s.observing.sandbox() != nil }
	}
	if s.plans && c.Mode != permit.ModeReadOnly {
		o.Tools = append(slices.Clip(o.Tools), permit.ExitPlan(s.planApproved))
		s.Gate.LeavePlan = s.leavePlan
	}
	o.Authorize = func(ctx context.Context, req tool.Request) (tool.Decision, error) {
		return s.at(req.Dir).Gate.Authorize(ctx, req)
	}
	o.Middleware = append(o.Middleware, s.where(func(at *Setup) tool.Middleware { return at.Gate.Middleware }))
	if s.Servers != nil {
		changed := &changedTools{gate: s.Gate, servers: s.Servers}
		s.Gate.BeforeRules = append(s.Gate.BeforeRules, changed.hook)
		o.Middleware = append(o.Middleware, changed.middleware)
	}
	if s.Local != nil {
		o.Middleware = append(o.Middleware, s.where(func(at *Setup) tool.Middleware {
			r := refusals{boxOf: at.boxOf, denied: at.deniesReading, gate: at.Gate,
				outside: func() (*env.Local, error) {
					return env.NewLocal(at.Local.WorkDir(), env.LocalOptions{Limits: c.Limits, DropVars: c.keyVars()})
				}}
			return r.middleware
		}))
	}
}

// maskReasons masks the secrets in the files that a question shows, and in the reasons of a person
// who says no: the model is told them, past the doors for results.
func (s *Setup) maskReasons(ask permit.Asker) permit.Asker {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, q permit.Question) (permit.Answer, error) {
		q.Changes = slices.Clone(q.Changes)
		for i := range q.Changes {
			q.Changes[i].Diff = s.maskLines(q.Changes[i].Diff)
		}
		answer, err := ask(ctx, q)
		answer.Reason = s.Secrets.String(answer.Reason)
		return answer, err
	}
}

// maskLines masks the secrets in each line of a text alone: a secret of several lines, whose marks
// anybody can write, would hide all lines between them.
func (s *Setup) maskLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, open := strings.CutSuffix(line, "\n")
		if b.WriteString(s.Secrets.String(body)); open {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// open starts or resumes the session.
func (s *Setup) open(ctx context.Context) (*agent.Session, error) {
	if !s.Resumed {
		return s.begin(ctx)
	}
	o := s.Options
	if o.State != nil {
		s.ModelBefore = o.State.Model
	}
	if o.Next = s.change; o.Next.Model != nil && s.hasOwnWindow(s.chosen) {
		o.Next.Policy = &s.Options.Policy // with the window that was set for the model
	}
	session, err := agent.Resume(ctx, o)
	s.Options.State = nil // Resume has taken it over
	if err != nil {
		return nil, err
	}
	s.started = true
	masked.Recall(s.Secrets, session.History())
	return session, nil
}

// begun keeps the session, for changes of the mode and the model.
func (s *Setup) begun(session *agent.Session) {
	s.changing.Lock()
	defer s.changing.Unlock()
	s.choosing.Lock()
	defer s.choosing.Unlock()
	s.session = session
	if s.checkpoints != nil {
		s.checkpoints.session.Store(session)
	}
}

// begin starts a new session. The prompt depends on what the program has added to the options.
func (s *Setup) begin(ctx context.Context) (*agent.Session, error) {
	o := s.Options
	if o.System == "" {
		var err error
		if o.System, o.SystemDocuments, err = s.systemPrompt(ctx, o); err != nil {
			return nil, err
		}
	}
	o.System = s.Secrets.String(o.System)
	session, err := agent.New(ctx, o)
	s.started = err == nil
	return session, err
}
