package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

type (
	rawJSON  = json.RawMessage
	eventSeq = iter.Seq2[llm.StreamEvent, error]
)

// The failures of using a session.
var (
	// ErrClosed means that the session has ended.
	ErrClosed = errors.New("agent: the session is closed")
	// ErrAborted means that Abort or Close ended the session while the input was running.
	ErrAborted = errors.New("agent: the session was aborted")
	// ErrBusy means that an input is running. Steer and FollowUp can be used meanwhile.
	ErrBusy = errors.New("agent: the session is processing another input")
)

// Status is where a session is in its life.
type Status string

// The statuses.
const (
	StatusIdle       Status = "IDLE"
	StatusProcessing Status = "PROCESSING"
	StatusClosed     Status = "CLOSED"
)

// Session is one conversation of an agent with its host. All methods are safe for concurrent use.
type Session struct {
	client    *llm.Client
	profile   profile.Profile
	env       env.Environment
	registry  *tool.Registry
	authorize tool.Authorize
	journal   journal.Log
	events    *eventStream
	policy    Policy
	retry     Retry
	grace     time.Duration
	now       func() time.Time
	memory    tool.Memory // of the tools
	memo      llm.Memo
	closed    chan struct{} // closed when the session is

	mu      sync.Mutex
	state   State
	header  Header                  // written before the first record
	cancel  context.CancelCauseFunc // of the running input; nil at rest
	ending  Reason                  // why the session is to end, once that is settled
	failure error                   // ours, such as a journal that cannot be written
	once    sync.Once               // of shutdown
}

// Result is what Submit came to: of the last input when follow-ups ran, with the sums of all.
type Result struct {
	Text       string    `json:"text"` // the last answer's
	Reason     Reason    `json:"reason"`
	Usage      llm.Usage `json:"usage"`
	Turns      int       `json:"turns"`
	ToolRounds int       `json:"tool_rounds"`
}

// New starts a session: it renders the system prompt, which may run git in the environment, and emits SESSION_START. Nothing is
// sent to the model before the first input.
func New(ctx context.Context, o Options) (*Session, error) {
	s, err := newSession(o)
	if err != nil {
		return nil, err
	}
	if s.header, err = newHeader(ctx, o, s.registry, s.now()); err != nil {
		return nil, err
	}
	s.header.ID = s.ID()
	s.start(s.header, false)
	return s, nil
}

// Resume goes on with the session that a journal holds, wherever it stopped: at rest, in the middle of a model call, or with
// calls that have no result. System prompt, tool definitions, model and effort are the journal's. Call Continue to go on with an
// input that was open, or Submit, which ends it as interrupted first.
func Resume(ctx context.Context, o Options) (*Session, error) {
	if o.Journal == nil {
		return nil, errors.New("agent: Resume needs Options.Journal")
	}
	var state State
	for line, err := range o.Journal.Records(ctx, 1) {
		if err != nil {
			return nil, fmt.Errorf("agent: cannot read the journal: %w", err)
		}
		if err := state.Fold(line); err != nil {
			return nil, err
		}
	}
	if state.Records == 0 {
		return nil, errors.New("agent: the journal is empty; there is nothing to resume")
	}
	o.ID = state.Header.ID
	s, err := newSession(o)
	if err != nil {
		return nil, err
	}
	s.state = state
	s.start(state.Header, true)
	return s, nil
}

func newSession(o Options) (*Session, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("agent: Options.Client is missing")
	case o.Env == nil:
		return nil, errors.New("agent: Options.Env is missing")
	}
	registry, err := tool.NewRegistry(append(append([]tool.Tool(nil), o.Profile.Tools...), o.Tools...)...)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	s := &Session{client: o.Client, profile: o.Profile, env: o.Env, registry: registry, authorize: o.Authorize, journal: o.Journal,
		policy: Policy{MaxToolRounds: o.MaxToolRounds, MaxTurns: o.MaxTurns}, retry: o.Retry.withDefaults(), grace: o.Grace,
		now: o.Now, closed: make(chan struct{})}
	if s.grace == 0 {
		s.grace = 2 * time.Second
	}
	if s.now == nil {
		s.now = time.Now
	}
	id := o.ID
	switch {
	case id == "" && o.NewID != nil:
		id = o.NewID()
	case id == "":
		id = uuid.NewString()
	}
	s.events = newEventStream(id, s.now, o.OnEvent)
	return s, nil
}

func (s *Session) start(h Header, resumed bool) {
	s.events.emit(&SessionStart{Model: h.Model, Provider: h.Provider, Profile: h.Profile, Dir: h.Dir,
		Containment: env.Containment(s.env), Resumed: resumed, ParentID: h.Parent})
}

// ID is the session's id.
func (s *Session) ID() string { return s.events.session }

// Submit gives the session a task and works on it until the session is idle again; follow-ups included. Reaching a limit is no
// error: Result.Reason says so. The end of ctx interrupts the input, leaves the session idle and is returned as
// context.Cause(ctx), with the result so far. A failure that ends the session is an *llm.Error, or an error of the journal.
func (s *Session) Submit(ctx context.Context, prompt string, more ...llm.Part) (*Result, error) {
	if strings.TrimSpace(prompt) == "" && len(more) == 0 {
		return nil, errors.New("agent: the prompt is empty")
	}
	return s.process(ctx, &inputRecord{Text: validText(prompt), More: more})
}

// Continue goes on with an input that is open in a resumed session, or with the last one when that was ended by an interrupt, an
// abort, a limit or an error. It adds no turn.
func (s *Session) Continue(ctx context.Context) (*Result, error) {
	s.mu.Lock()
	open, last := s.state.Input, s.state.Last
	s.mu.Unlock()
	switch {
	case open != nil:
		return s.process(ctx, nil)
	case last != nil:
		return s.process(ctx, &inputRecord{Continue: true})
	}
	return nil, errors.New("agent: there is no input to continue; use Submit")
}

// process runs the loop for one input, nil for the open one, and for what follows it.
func (s *Session) process(ctx context.Context, input *inputRecord) (*Result, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := s.acquire(cancel); err != nil {
		return nil, err
	}
	result, err := s.work(run, input)
	s.release(result, err)
	if err == nil && result.Reason == Interrupted && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return result, err
}

// acquire makes the caller the one who runs the loop.
func (s *Session) acquire(cancel context.CancelCauseFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ending != "":
		return ErrClosed
	case s.cancel != nil:
		return ErrBusy
	}
	s.cancel = cancel
	return nil
}

// release gives the loop free. A session that is to end ends now. Without a result the error is one of ours.
func (s *Session) release(result *Result, err error) {
	s.mu.Lock()
	s.cancel = nil
	switch {
	case result == nil:
		s.ending, s.failure = Failed, err
	case result.Reason == Failed:
		s.ending = Failed
	}
	ending := s.ending
	s.mu.Unlock()
	if ending != "" {
		s.shutdown()
	}
}

func (s *Session) work(ctx context.Context, input *inputRecord) (*Result, error) {
	s.mu.Lock()
	usage, steps, rounds := s.state.Usage, s.state.Steps, s.state.Rounds
	s.mu.Unlock()
	if err := s.enter(ctx, input); err != nil {
		return nil, err
	}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.state.Last
	result := &Result{Text: last.Final, Reason: last.Reason, Usage: s.state.Usage.Sub(usage), Turns: s.state.Steps - steps,
		ToolRounds: s.state.Rounds - rounds}
	switch last.Reason {
	case Failed:
		return result, last.Fault.Err()
	case Aborted:
		return result, ErrAborted
	}
	return result, nil
}

// enter commits the input. One that is still open in a resumed session is ended as interrupted first, unless it goes on.
func (s *Session) enter(ctx context.Context, input *inputRecord) error {
	if input == nil {
		return nil
	}
	s.mu.Lock()
	open := s.state.Input != nil
	s.mu.Unlock()
	if open {
		if err := s.commit(stopRecord{Reason: Interrupted}); err != nil {
			return err
		}
		if err := s.run(ctx); err != nil {
			return err
		}
	}
	if err := s.commit(*input); err != nil {
		return err
	}
	s.events.flush()
	return nil
}
