package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"
	"unique"

	"github.com/google/uuid"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/tool"
)

// New starts a session: it renders the system prompt, for which it reads files in the environment,
// and emits SESSION_START. It sends nothing to the model.
func New(ctx context.Context, o Options) (*Session, error) { return opened(ctx, o, "New", create) }

// opened runs open, which calls code of the host, guarded as in [host].
func opened(ctx context.Context, o Options, name string,
	open func(context.Context, Options) (*Session, error)) (*Session, error) {
	what := "what " + name + " calls of the host's"
	s, err := await(guard.Start(what, func() (*Session, error) { return open(ctx, o) }), what, graceOf(o), ctx.Done(),
		nil)
	if err != nil {
		return nil, err
	}
	if err := s.broken.get(); err != nil {
		s.events.emit(&SessionEnd{State: StatusClosed, Reason: ReasonFailed})
		return nil, err
	}
	s.returned.Store(true)
	if err := s.broken.get(); err != nil {
		go s.endBroken(err)
	}
	return s, nil
}

func create(ctx context.Context, o Options) (*Session, error) {
	if o.Journal != nil && o.Journal.Len() > 0 {
		return nil, errors.New("agent: the journal holds a session already: use Resume, or an empty journal")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := o.checkNew(); err != nil {
		return nil, err
	}
	s := newSession(o)
	policy, err := s.policyOf(o.Policy, &State{Provider: cmp.Or(o.Provider, o.Profile.Provider),
		Model: cmp.Or(o.Model, o.Profile.Model)})
	if err != nil {
		return nil, err
	}
	if s.registry, err = s.registryOf(&policy, o.Profile.Tools, o.Tools); err != nil {
		return nil, err
	}
	header, err := newHeader(ctx, o, s.ID(), policy, s.registry, s.now())
	if err != nil {
		return nil, err
	}
	if o.parent == nil { // a subagent may lack the tool
		if err := checkChoice(o.Request.ToolChoice, s.registry); err != nil {
			return nil, err
		}
	}
	s.system = unique.Make(header.System)
	header.System = s.system.Value()
	records := []record{header}
	if len(o.History) > 0 {
		history, err := newHistory(o.History)
		if err != nil {
			return nil, err
		}
		records = append(records, history)
	}
	if err := s.commit(records...); err != nil {
		return nil, err
	}
	s.start(Settings{})
	s.events.flush()
	return s, nil
}

// Resume opens the session of a journal wherever it stopped: at rest, within a model call, or with
// calls that have no result. The system prompt, tool definitions, model and effort come from the
// journal, but for what Options.Next changes; a WARNING names options that differ and have no
// effect. The policy comes from the options. Continue goes on with an open input; Submit first ends
// it as interrupted.
//
// Tools of the journal that the options lack get a WARNING. Calls of them get error results until
// AddTools brings them back. Tools that the model does not know are not offered; AddTools can add
// them.
//
// If Options.Env works in another directory than the session did, Options.Dir must name it. The
// model is told.
//
// Resume reads the journal once, and not at all if Options.State has what Load returned of it.
func Resume(ctx context.Context, o Options) (*Session, error) {
	if o.Journal == nil {
		return nil, errors.New("agent: Resume needs Options.Journal")
	}
	return opened(ctx, o, "Resume", resume)
}

func resume(ctx context.Context, o Options) (*Session, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	state, err := o.load(ctx)
	if err != nil {
		return nil, err
	}
	o.State = nil // the session has it now
	if err := o.checkResumed(&state); err != nil {
		return nil, err
	}
	o.ID = state.Header.ID
	s := newSession(o)
	policy, err := s.policyOf(o.Policy, &state)
	if err != nil {
		return nil, err
	}
	if s.registry, err = s.registryOf(&policy, o.Profile.Tools, o.Tools); err != nil {
		return nil, err
	}
	shareTools(state.tools, s.registry.Definitions()) // the header shares them until they are set anew
	s.system = unique.Make(state.Header.System)
	state.Header.System = s.system.Value()
	state.shrink()
	s.state = state
	s.inherited = s.state.Input
	if err := s.checkRoundRoom(); err != nil {
		return nil, err
	}
	s.state.runOnly(s.registry, policy.resultTool())
	s.outputs.earlier = maps.Clone(state.kept)
	for _, kept := range state.kept {
		s.keptBytes.Add(kept.Size)
	}
	s.events.setSeq(state.seq)
	s.ledger.tokens, s.ledger.usd = state.Usage.Input+state.Usage.Output, state.Cost
	start := s.state.started(s.dir, true)
	machine := machineOf(s.env)
	start.Containment, start.HidesHost = machine.Containment, machine.HidesHost
	s.events.add(start)
	s.resumed = start.Seq
	s.events.add(s.state.questions()...) // that wait
	s.start(o.Next)
	if err = s.commitDifferences(policy); err == nil {
		s.events.flush()
		s.warnOfTorn()
		s.warnOfIgnored(o)
		if next := o.Next; next.namesModel() || next.Effort != nil || next.Policy != nil || next.Tools != nil {
			err = s.Set(ctx, next)
		}
	}
	if err != nil {
		s.events.emit(&SessionEnd{State: StatusClosed, Reason: ReasonFailed})
		return nil, err
	}
	s.events.flush()
	return s, nil
}

// load returns the state of the journal, and takes over the one that the host has loaded.
func (o *Options) load(ctx context.Context) (state State, err error) {
	switch loaded := o.State; {
	case loaded == nil:
		err = state.foldAll(ctx, o.Journal)
	case loaded.Records != o.Journal.Len():
		err = fmt.Errorf("agent: Options.State has %d records and the journal has %d: load the state again, or leave "+
			"it to Resume", loaded.Records, o.Journal.Len())
	default:
		state, *loaded = *loaded, State{}
	}
	if err == nil && state.Records == 0 {
		err = errors.New("agent: the journal is empty; there is nothing to resume")
	}
	return state, err
}

// Open resumes the session o.ID of a store, or starts it if the store has no such session or only a
// journal without records, which a process leaves that is killed at its start. So a program that
// can be killed at any time, and run again, is:
//
//	session, err := agent.Open(ctx, store, o)
//	if err != nil {
//		return err
//	}
//	defer session.Close()
//	result, err := session.Submit(ctx, task, agent.Key("task"))
//
// The options are those of New; what they say is for a new session, such as History, has no effect
// on one that is resumed. Open sets o.Journal. If it fails, it closes that. While another process
// has the session open, the error wraps [journal.ErrLocked].
func Open(ctx context.Context, store journal.Store, o Options) (*Session, error) {
	switch {
	case o.ID == "":
		return nil, errors.New("agent: Open needs Options.ID")
	case o.Journal != nil || o.State != nil:
		return nil, errors.New("agent: Open opens the journal itself: leave Options.Journal and State empty, or use " +
			"New or Resume")
	}
	log, err := openLog(ctx, store, o.ID)
	if err != nil {
		return nil, fmt.Errorf("agent: cannot open the journal of the session %s: %w", o.ID, err)
	}
	o.Journal = log
	open := New
	if log.Len() > 0 {
		open, o.History = Resume, nil
	}
	s, err := open(ctx, o)
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return s, nil
}

// openLog opens a log for writing and creates it if it does not exist.
func openLog(ctx context.Context, store journal.Store, id string) (journal.Log, error) {
	log, err := store.Open(ctx, id)
	if !errors.Is(err, fs.ErrNotExist) {
		return log, err
	}
	if log, err = store.Create(ctx, id); errors.Is(err, fs.ErrExist) { // another process has created it meanwhile
		return store.Open(ctx, id)
	}
	return log, err
}

// warnOfTorn emits a warning if the journal has cut off a broken end.
func (s *Session) warnOfTorn() {
	if torn := journal.TornEnd(s.journal); torn != nil {
		s.warn("journal_torn", "The end of the journal was damaged and has been cut off (%v). The session goes on "+
			"from what came before; what a call in there did is not known here, so look at the current state.", torn)
	}
}

// newSession returns a session without state and tools.
func newSession(o Options) *Session {
	s := &Session{client: o.Client, agentID: o.agentID, env: o.Env,
		questions: o.Questions, journal: o.Journal, closers: slices.Clone(o.Closers), dir: o.Env.WorkDir(),
		hooks: o.Hooks, limits: o.Limits,
		outputs: &outputStore{DirOutputs: tool.NewOutputs(o.OutputDir), journal: o.Journal}}
	s.hooks.Authorize, s.hooks.Approve = s.guardHook("Authorize", o.Authorize), s.guardHook("Approve", o.Approve)
	s.limits.Grace, s.limits.MaxJournal = graceOf(o), cmp.Or(o.MaxJournal, defaultJournal)
	life := context.Background()
	if o.parent != nil {
		life = o.parent.agents.life
	}
	s.life, s.endLife = s.lifeOf(life)
	s.closed.Add(1)
	s.owned, s.disown = context.WithCancelCause(context.Background())
	s.journalCtx, s.stopJournal = context.WithCancel(context.Background())
	s.writeLock = make(chan struct{}, 1)
	s.unlockWrites()
	s.now, s.delay = s.hostClock(o.Now), s.retryDelay(o.Retry)
	s.killGrace = max(s.limits.Grace, env.ConfinementOf(s.env).KillGrace)
	s.archive = new(archive)
	if o.Journal != nil {
		s.archive.journal = o.Journal
	}
	s.ledger, s.shared = &memoryLedger{budget: s.budget}, o.Ledger
	if o.parent != nil {
		s.ledger = o.parent.ledger
	}
	s.agents = newSubagents(s, o)
	if o.ID == "" {
		o.ID = o.newID()
	}
	s.events = newEventStream(o.ID, s.now, logged(o.Logger, o.OnEvent))
	s.events.broke, s.events.grace = s.breakDown, s.limits.Grace
	if s.journal != nil {
		s.events.earlier = s.journaled
	}
	return s
}

func graceOf(o Options) time.Duration { return cmp.Or(o.Grace, 2*time.Second) }

// newID returns the id of another session.
func (o *Options) newID() string {
	if o.NewID != nil {
		return o.NewID()
	}
	return uuid.NewString()
}

// start completes the session and emits warnings of what may surprise the host, but not of what the
// host changes next.
func (s *Session) start(next Settings) {
	// Each process that the model knows has at least one record, its result, so no id is used
	// twice.
	s.processes = tool.NewProcesses(s.outputs, int(s.state.Records)+1)
	models := s.state.Policy.Fallbacks.Models
	if !next.namesModel() {
		models = append([]FallbackModel{look(s, (*State).current)}, models...)
	}
	s.warnOfModels(models...)
	if next.Model == nil && next.Effort == nil {
		s.warnOfEffort()
	}
}
