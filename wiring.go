package attractor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/debuglog"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// How the parts of a session meet:
//
// The gate (package permit) stands in the seam around calls. The model learns of its mode by a note
// (mode.go), so no mode changes what was sent; exit_plan_mode is exclusive, so the calls beside it
// wait for the mode that follows.
//
// Settings (settings.go, package settings): what a Config says in its fields counts first, then its
// Settings, which the command's flags become, then variables, the project's file and the user's.
// What a project may choose stands in the table of all settings.
//
// Skills (skills.go): the system prompt has their names and descriptions, as guidance of a tool
// that loads their text. The tool's definition does not depend on them, so no skill begins an
// epoch. Their directories can be read by tools and, in a sandbox, by commands.
//
// MCP servers (servers.go) start side by side while a session is opened, and Start waits only for
// the required ones. The user's run in an environment that is contained and not confined, a
// project's in the session's sandbox. Their warnings are shown among the session's events, with the
// number of the event before, and are not in the journal.
//
// Agents in worktrees (agentworktrees.go): a Setup of its own has the directory, the sandbox, the
// rules, the documents and the gate of such an agent. The session's hooks and middleware get its
// calls as they get all, and turn to that Setup by the directory of the call. Language servers and
// checkpoints are about the session's directory only.
//
// Language servers (lsp.go) run in the session's environment, like commands. Their middleware
// stands outside of the gate and of hooks: it reads the files before a call and compares after it.
//
// Hooks (hooks.go) sit in the doors around the session. What hooks for SessionStart say is a note.
// The user's run in an environment of their own, the project's in that of the session's commands.
//
// Checkpoints (checkpoints.go): a middleware outside of the gate and of hooks records the tree
// around calls; calls that overlap share the recordings between them, so that no change of theirs
// looks like somebody else's. The turn of a point is that of its note, so a fork has the points of
// its beginning, and becomes an owner of their trees. A session says that it uses its directory; an
// undo claims it, and fails where a session does.
//
// Checks (checks.go) are the last BeforeStop. They run the user's commands and compare the hash of
// the tree before and after them, at the end of the input, and in attractor run once more when the
// session is closed. Each report is a note; the last final one counts.
//
// Sessions on other machines (elsewhere.go): Setup.Machine is where the session works. Setup.Local
// is that machine if it is this one, and nil otherwise, so what needs this machine has to ask for
// it. A note of the session names the command and the directory. Rules, documents and language
// servers are about the other machine; the user's hooks and MCP servers run here. What the project
// there brings starts and allows nothing, because trust binds a decision to files of this machine;
// its rules that deny or ask count.
//
// On a resume a tool that the host lacks fails, and one that the session lacks is not offered,
// unless it is a new one of an MCP server.

// capability is what a session gets from one part of the wiring. Open changes the options, before
// the session starts; close ends what it has opened, after the session, in the reverse order.
// Either may be nil. What a capability has to know of others it reads in the options and in the
// Setup.
type capability struct {
	open  func(*Setup, context.Context, *config) error
	close func(*Setup) error
}

// capabilities lists the parts of the wiring in their order. Each reads what those before it have
// opened. Around a call they stand in this order, from the outside: masks of secrets, language
// servers, checkpoints, hooks, agents, documents, the gate, changed tools, refusals of the sandbox.
// The first four put themselves in front of what is there, because they look at the call and its
// result as they are in the end; the others append.
func capabilities() []capability {
	return []capability{
		{(*Setup).openWorktree, (*Setup).closeWorktree}, // when nothing uses it any more
		{nil, (*Setup).closeAgentWorktrees},             // which may be made from it
		// the journal, the project, and settings: what the session was, and is to be
		{(*Setup).openSession, (*Setup).discard},
		{nil, (*Setup).closeCheckpoints}, // when nothing changes the directory any more
		{nil, (*Setup).waitForWarnings},
		{nil, (*Setup).closeLeftBehind}, // when nothing runs any more
		{neverFails((*Setup).openSecrets), nil},
		{neverFails((*Setup).openDebug), nil},
		{withoutContext((*Setup).openModel), nil},
		{neverFails((*Setup).maskModel), nil}, // what a program adds to the options later stays outside
		{neverFails((*Setup).openChoice), nil},
		{withoutContext((*Setup).openWebSearch), nil},
		{(*Setup).openElsewhere, (*Setup).closeElsewhere},
		{neverFails((*Setup).openSkills), nil},
		{neverFails((*Setup).openCommands), nil},
		{neverFails((*Setup).openAgents), nil},
		{withoutContext((*Setup).readHooks), nil}, // what they run, nobody changes unasked
		{(*Setup).openDir, (*Setup).closeDir},     // with the sandbox of commands
		{(*Setup).openServers, (*Setup).closeServers},
		{withoutContext((*Setup).openRules), nil},
		{(*Setup).judgeWebSearch, nil},
		{(*Setup).openDocuments, (*Setup).closeDocuments},
		{neverFails((*Setup).openGate), nil},
		{withoutContext((*Setup).openHooks), (*Setup).closeHooks},
		{(*Setup).openCheckpoints, nil},
		{withoutContext((*Setup).openLanguageServers), (*Setup).closeLanguageServers},
		{nil, (*Setup).closeChecks},
		{neverFails((*Setup).offerWorktrees), nil}, // for agents
		{neverFails((*Setup).tellUnused), nil},
	}
}

// doors lists what is done right before a session starts, when a program has added to the options
// what it wants. What wraps a function of the options stands outside of what wrapped it before.
func doors() []func(*Setup, context.Context) error {
	return []func(*Setup, context.Context) error{
		withoutError((*Setup).approve),
		(*Setup).offerServers,
		withoutError((*Setup).listenForHooks),
		withoutError((*Setup).listenForWrittenCalls),
		func(s *Setup, _ context.Context) error { return s.placeChecks() },
		withoutError((*Setup).keepInSummaries),
		withoutError((*Setup).withoutDenied),
		withoutError((*Setup).logCalls), // what the calls do in the end
		withoutError((*Setup).listenForInputs),
		withoutError((*Setup).lookForRepositories),
		withoutError((*Setup).maskDoors),
		withoutError((*Setup).listenForCompactions),
		withoutError((*Setup).instrument),
		withoutError((*Setup).setWindow),
	}
}

// beginnings lists what is done when the session has started, before anybody has it.
func beginnings() []func(*Setup, context.Context) error {
	return []func(*Setup, context.Context) error{
		func(s *Setup, ctx context.Context) error { s.noteKilled(ctx); return nil },
		withoutError((*Setup).keepPlanTool),
		(*Setup).keepWebSearch,
		(*Setup).tellPlace,
		(*Setup).tellFirst,
		(*Setup).tellDirs,
		(*Setup).noteLeads,
		(*Setup).tellWorktrees,
		(*Setup).startHooks,
		withoutError((*Setup).joinServers),
	}
}

// neverFails adapts a function that opens a capability and cannot fail.
func neverFails(open func(*Setup, *config)) func(*Setup, context.Context, *config) error {
	return func(s *Setup, _ context.Context, c *config) error {
		open(s, c)
		return nil
	}
}

// withoutContext adapts a function that opens a capability and waits for nothing.
func withoutContext(open func(*Setup, *config) error) func(*Setup, context.Context, *config) error {
	return func(s *Setup, _ context.Context, c *config) error { return open(s, c) }
}

// withoutError adapts a step that cannot fail.
func withoutError(step func(*Setup)) func(*Setup, context.Context) error {
	return func(s *Setup, _ context.Context) error {
		step(s)
		return nil
	}
}

// prepare prepares a session. The caller must close the Setup after the session. An error in the
// configuration has one of this package's kinds.
func prepare(ctx context.Context, c config) (*Setup, error) {
	s := &Setup{Instrument: c.Instrument, store: c.Store, wantedChecks: c.Checks, helper: c.EnvHelper,
		change: agent.Settings{Provider: c.chosen.provider, Model: c.chosen.model, Effort: c.chosen.effort}}
	for _, part := range capabilities() {
		if part.open == nil {
			continue
		}
		if err := part.open(s, ctx, &c); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Start starts the session with the Options, or resumes it and changes its settings. It renders the
// system prompt of a new session unless the Options have one. The session closes the journal.
func (s *Setup) Start(ctx context.Context) (*agent.Session, error) {
	for _, door := range doors() {
		if err := door(s, ctx); err != nil {
			return nil, err
		}
	}
	session, err := s.open(ctx)
	s.begun(session)
	if err != nil {
		return nil, s.unpriced(err)
	}
	for _, begin := range beginnings() {
		if err := begin(s, ctx); err != nil {
			return nil, errors.Join(err, session.Close())
		}
	}
	return session, nil
}

// Close ends the processes that the session has left running, the language servers and the MCP
// servers. If Start did not succeed, it closes the journal, and removes it if it is empty.
func (s *Setup) Close() error {
	var errs []error
	for _, part := range slices.Backward(capabilities()) {
		if part.close != nil {
			errs = append(errs, part.close(s))
		}
	}
	return errors.Join(errs...)
}

// openSession opens the journal and completes the configuration with what the session was before,
// if it is resumed, and with the settings of the project.
func (s *Setup) openSession(ctx context.Context, c *config) (err error) {
	if err := errors.Join(c.checkToolRules(), c.lastSession(ctx)); err != nil {
		return err
	}
	s.named = c.Dir
	switch {
	case c.writesFiles():
		if err := s.writeFiles(ctx, c); err != nil {
			return err
		}
	case c.Fork != "" && c.Turn > 0 && c.Dir != "" && c.elsewhere():
		s.warnings.add("checkpoints",
			fmt.Sprintf("the files of turn %d are not written on another machine: the fork works with those that "+
				"are in %s", c.Turn, c.Dir))
	}
	if c.was, err = s.openJournal(ctx, c); err != nil {
		return err
	}
	if c.inUse != "" {
		s.warnings.add("continue", c.inUse)
	}
	s.choosePlace(c, c.was)
	if err := s.openProject(c); err != nil {
		return err
	}
	s.useSettings(c)
	if err := c.fillIn(c.was); err != nil {
		return err
	}
	if c.was != nil {
		s.named = c.Dir
	}
	return errors.Join(s.chooseMode(c, c.was), s.chooseDirs(c, c.was))
}

// approve lets the gate answer for a person, if there is one who could.
func (s *Setup) approve() {
	if s.Gate != nil && s.Gate.Attended() && (s.Gate.CanAsk() || s.plans && s.Gate.Mode() != permit.ModeReadOnly) {
		s.Options.Approve = func(ctx context.Context, req tool.Request) (tool.Decision, error) {
			return s.at(req.Dir).Gate.Approve(ctx, req)
		}
	}
}

// logCalls logs what the calls do.
func (s *Setup) logCalls() {
	if s.log != nil {
		debuglog.Attach(&s.Options)
	}
}

// instrument adds what observes the session.
func (s *Setup) instrument() {
	if s.Instrument != nil {
		s.Instrument(&s.Options, s.Secrets)
	}
}

// TellsUnused reports whether a warning of the session says what of the project is not used.
func (s *Setup) TellsUnused() bool { return len(s.unused.Parts) > 0 }

// tellUnused warns of what the project has that is not used.
func (s *Setup) tellUnused(c *config) {
	s.unused.Add("rules", s.Project.AllowingRules(c.getenv), s.Project.Because())
	text := s.unused.Text(s.named)
	if s.far != nil && s.TellsUnused() {
		text = fmt.Sprintf("These parts of the project are not used, because %s: %s.", s.unused.Why,
			strings.Join(s.unused.Parts, "; "))
	}
	if text != "" {
		s.warnings.add("untrusted", text)
	}
}
