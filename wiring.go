package attractor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/debuglog"
	"github.com/attractor-go/attractor/permit"
)

// capability is what a session gets from one part of the wiring. Open changes the options, before the
// session starts; close ends what it has opened, after the session, in the reverse order. Either may be
// nil. What a capability has to know of others it reads in the options and in the Setup.
type capability struct {
	open  func(*Setup, context.Context, *config) error
	close func(*Setup) error
}

// capabilities lists the parts of the wiring in their order. It matters: what stands first is outermost
// for what the model sees, and innermost for its calls, but for checkpoints and language servers, which
// look at the files before and after all else.
func capabilities() []capability {
	return []capability{
		{(*Setup).openSession, (*Setup).discard}, // the journal, the project, and settings: what the session was, and is to be
		{nil, (*Setup).waitForWarnings},
		{surely((*Setup).openSecrets), nil},
		{surely((*Setup).openDebug), nil},
		{atOnce((*Setup).openModel), nil},
		{surely((*Setup).maskModel), nil}, // what a program adds to the options later stays outside
		{surely((*Setup).openChoice), nil},
		{(*Setup).openElsewhere, (*Setup).closeElsewhere},
		{surely((*Setup).openSkills), nil},
		{surely((*Setup).openCommands), nil},
		{surely((*Setup).openAgents), nil},
		{atOnce((*Setup).openDir), (*Setup).closeDir}, // with the sandbox of commands
		{(*Setup).openServers, (*Setup).closeServers},
		{atOnce((*Setup).openRules), nil},
		{(*Setup).openDocuments, (*Setup).closeDocuments},
		{surely((*Setup).openGate), nil},
		{atOnce((*Setup).openHooks), (*Setup).closeHooks},
		{(*Setup).openCheckpoints, (*Setup).closeCheckpoints},
		{atOnce((*Setup).openLanguageServers), (*Setup).closeLanguageServers},
		{nil, (*Setup).closeChecks},
		{surely((*Setup).tellUnused), nil},
	}
}

// doors lists what is put around the doors of a session right before it starts, when a program has
// added to the options what it wants. What stands last is outermost.
func doors() []func(*Setup, context.Context) error {
	return []func(*Setup, context.Context) error{
		always((*Setup).approve),
		(*Setup).offerServers,
		always((*Setup).listenForHooks),
		func(s *Setup, _ context.Context) error { return s.placeChecks() },
		always((*Setup).keepInSummaries),
		always((*Setup).withoutDenied),
		always((*Setup).logCalls), // what the calls do in the end
		always((*Setup).listenForInputs),
		always((*Setup).maskDoors),
		always((*Setup).listenForCompactions),
		always((*Setup).instrument),
		always((*Setup).sayWindow),
	}
}

// beginnings lists what is done when the session has started, before anybody has it.
func beginnings() []func(*Setup, context.Context) error {
	return []func(*Setup, context.Context) error{
		func(s *Setup, ctx context.Context) error { s.noteKilled(ctx); return nil },
		always((*Setup).keepPlanTool),
		(*Setup).tellPlace,
		(*Setup).tellFirst,
		(*Setup).tellDirs,
		(*Setup).startHooks,
		always((*Setup).joinServers),
	}
}

// surely returns the opening of a capability that cannot fail.
func surely(open func(*Setup, *config)) func(*Setup, context.Context, *config) error {
	return func(s *Setup, _ context.Context, c *config) error {
		open(s, c)
		return nil
	}
}

// atOnce returns the opening of a capability that waits for nothing.
func atOnce(open func(*Setup, *config) error) func(*Setup, context.Context, *config) error {
	return func(s *Setup, _ context.Context, c *config) error { return open(s, c) }
}

// always returns a step that cannot fail.
func always(step func(*Setup)) func(*Setup, context.Context) error {
	return func(s *Setup, _ context.Context) error {
		step(s)
		return nil
	}
}

// prepare prepares a session. The caller must close the Setup after the session. An error in the configuration has one of this package's
// kinds.
func prepare(ctx context.Context, c config) (*Setup, error) {
	s := &Setup{Instrument: c.Instrument, store: c.Store, keepRaw: c.KeepRawOutputs, wantedChecks: c.Checks, helper: c.EnvHelper,
		change: agent.Settings{Provider: c.Provider, Model: c.Model, Effort: c.Effort}}
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

// Start starts the session with the Options, or resumes it and changes its settings. It renders the system prompt of a new session unless
// the Options have one. The session closes the journal.
func (s *Setup) Start(ctx context.Context) (*agent.Session, error) {
	for _, door := range doors() {
		if err := door(s, ctx); err != nil {
			return nil, err
		}
	}
	session, err := s.open(ctx)
	s.begun(session)
	if err != nil {
		return nil, err
	}
	for _, begin := range beginnings() {
		if err := begin(s, ctx); err != nil {
			return nil, errors.Join(err, session.Close())
		}
	}
	return session, nil
}

// Close ends the MCP servers, the language servers and the processes that the session has left running. If Start did not succeed, it closes
// the journal, and removes it if it is empty.
func (s *Setup) Close() error {
	var errs []error
	for _, part := range slices.Backward(capabilities()) {
		if part.close != nil {
			errs = append(errs, part.close(s))
		}
	}
	return errors.Join(errs...)
}

// openSession opens the journal and completes the configuration with what the session was before, if it is resumed, and with the settings of the
// project.
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
		s.warnings.add("checkpoints", fmt.Sprintf("the files of turn %d are not written on another machine: the fork works with those that are in %s", c.Turn, c.Dir))
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
		s.Options.Approve = s.Gate.Approve
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

// tellUnused warns of what the project has that is not used.
func (s *Setup) tellUnused(c *config) {
	s.unused.Add("rules", s.Project.AllowingRules(c.getenv), s.Project.Because())
	if text := s.unusedText(); text != "" {
		s.warnings.add("untrusted", text)
	}
}
