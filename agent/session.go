package agent

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// The failures of using a session.
var (
	// ErrClosed means that the session has ended. An error that is one also wraps what ended it, unless that was Close at rest.
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
	// StatusAwaiting means that a question to the host has no answer yet.
	StatusAwaiting Status = "AWAITING_INPUT"
)

// Session is one conversation of an agent with its host. All methods are safe for concurrent use.
type Session struct {
	client    *llm.Client
	agentID   string // of a subagent, as its parent knows it
	env       env.Environment
	dir       string // its working directory
	registry  *tool.Registry
	authorize tool.Authorize    // nil: tool.AllowUnguarded
	approve   tool.Authorize    // nil: nobody is there to be asked
	chain     []tool.Middleware // around calls
	confirm   func(ctx context.Context, stop Stop) (string, error)
	questions *Questions
	journal   journal.Log
	events    *eventStream
	ledger    *ledger
	agents    *subagents
	delay     func(attempt int, err error) (time.Duration, bool) // of a retry
	pause     func(ctx context.Context, until time.Time)
	inTurn    func(ctx context.Context, rec record) record // what a step commits, and when; nil but in a replay
	touched   func(callID string) *tool.Access             // what a call would touch; nil but in a replay
	grace     time.Duration
	killGrace time.Duration // of tools: at least what the environment gives a command to end
	diffs     int           // bytes of a call's
	now       func() time.Time
	memory    tool.Memory // of the tools
	outputs   *tool.DirOutputs
	archive   *archive
	processes *tool.ProcessTable
	memo      *llm.Memo
	crashed   error // of the last attempt of a model call, when the provider panicked
	closers   []io.Closer
	closed    chan struct{} // closed when the session is

	beforeCompact func(ctx context.Context, about Compacting) (string, error)

	life    context.Context // ends when the session is asked to end, or given up
	endLife context.CancelCauseFunc
	working atomic.Pointer[activity] // what runs, nil at rest; written with the lock held
	broken  atomic.Pointer[error]    // what the session was given up for
	lost    atomic.Pointer[error]    // why the journal is not called any more
	leaving atomic.Pointer[error]    // why the session ends without saying so
	severed atomic.Bool              // nothing is written and nothing is told any more
	full    atomic.Pointer[error]    // which log has reached its limit
	limits  limits

	turn        chan struct{}   // held by who commits, or waits for the journal: only they change the state
	writing     context.Context // of the journal's calls, until it is given up or closed
	stopWriting context.CancelFunc

	mu      sync.Mutex
	state   State     // changed with the turn and the lock, read with either
	asking  int       // questions that the host is answering
	ending  Reason    // why the session is to end, once that is settled
	failure error     // ours, such as a journal that cannot be written
	why     error     // the failure that the session is to end for, nil when it is none
	written int64     // bytes of the journal's lines, about
	once    sync.Once // of shutdown
}

// activity is an input that runs, or a compaction between two of them.
type activity struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// Result is what Submit came to: of the last input when follow-ups ran, with the sums of all.
type Result struct {
	Text       string     `json:"text"` // the last answer's, with that of the answers that it goes on from
	Reason     Reason     `json:"reason"`
	Finish     llm.Finish `json:"finish,omitzero"` // why the last answer ended
	Usage      llm.Usage  `json:"usage"`
	CostUSD    float64    `json:"cost_usd,omitempty"` // 0 where prices are unknown
	Turns      int        `json:"turns"`
	ToolRounds int        `json:"tool_rounds"`
}

// ID returns the session's id.
func (s *Session) ID() string { return s.events.session }

// Submit gives the session a task and works on it until the session is idle again; follow-ups included. Reaching a limit, an answer that
// stays unfinished and a refusal are no errors: Result.Reason says so. The end of ctx interrupts the input, leaves the session idle and
// is returned as context.Cause(ctx). A failed model call is an *llm.Error; Options.OnFailure says whether it ends the session, too. A failure
// of the journal or of the host's own code always does.
//
// There is always a Result, also beside an error: what was done up to then. Its Reason is empty where nothing was begun.
func (s *Session) Submit(ctx context.Context, prompt string, more ...llm.Part) (*Result, error) {
	m, err := send(prompt, []SendOption{Attach(more...)})
	if err != nil {
		return new(Result), err
	}
	return s.process(ctx, &inputRecord{Text: m.text, More: m.parts})
}

// Continue goes on with an input that is open in a resumed session, or with the last one when that was ended by an interrupt, an
// abort, a limit or an error: a failed model call is then tried again. It adds no turn. Result and error are as those of Submit.
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
	return new(Result), errors.New("agent: there is no input to continue; use Submit")
}

// process runs the loop for one input, nil for the open one, and for what follows it. The loop has a goroutine of its own, so that
// nothing that happens on it ends the caller's.
func (s *Session) process(ctx context.Context, input *inputRecord) (*Result, error) {
	if ctx.Err() != nil {
		return new(Result), context.Cause(ctx)
	}
	if asked := s.asked(); asked != nil && input != nil && !input.Continue {
		if _, err := asked.answered(*input, nil); err != nil {
			return new(Result), err
		}
	}
	before := s.totals()
	loop := <-guard.Start("the loop", func() (*Result, error) { return s.drive(ctx, input, before) })
	if _, panicked := loop.Err.(*guard.Panic); panicked {
		err := hostError(loop.Err)
		s.release(err)
		return s.cutShort(before), err
	}
	return loop.Value, loop.Err
}

// drive is process on the loop's goroutine.
func (s *Session) drive(ctx context.Context, input *inputRecord, before totals) (*Result, error) {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	limit, worked := s.state.Policy.Budget.Time, s.state.worked()
	s.mu.Unlock()
	if limit > 0 {
		var stop context.CancelFunc
		run, stop = context.WithTimeoutCause(run, max(limit-worked, 0), errBudgetTime)
		defer stop()
	}
	if err := s.acquire(run, cancel); err != nil {
		return new(Result), err
	}
	defer s.attend(run, cancel)()
	result, err := s.work(run, input, before)
	if result == nil {
		s.release(err)
		return s.cutShort(before), err
	}
	s.release(s.brokenBy())
	if broken := s.brokenBy(); broken != nil { // perhaps by the last events
		s.release(broken)
		return result, broken
	}
	if err == nil && result.Reason == Interrupted && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return result, err
}

// attend ties an input that runs to the session's life, and lets nobody wait for OnEvent for ever once the input is to end. The
// function that it returns undoes that.
func (s *Session) attend(run context.Context, cancel context.CancelCauseFunc) func() {
	alive := context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })
	waiting := context.AfterFunc(run, s.events.hurry)
	return func() {
		alive()
		waiting()
	}
}

// acquire makes the caller the one who runs the loop.
func (s *Session) acquire(run context.Context, cancel context.CancelCauseFunc) error {
	if s.working.Load() != nil { // it may have the turn for long
		return ErrBusy
	}
	if err := s.takeTurn(run); err != nil {
		return err
	}
	defer s.endTurn()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ending != "":
		return s.closedError()
	case s.working.Load() != nil:
		return ErrBusy
	}
	s.working.Store(&activity{run, cancel})
	s.events.calm()
	s.state.gather()
	return nil
}

// work runs the loop until the session is at rest. An error without a result is one of ours.
func (s *Session) work(ctx context.Context, input *inputRecord, before totals) (*Result, error) {
	if err := s.enter(ctx, input); err != nil {
		return nil, err
	}
	for {
		if err := s.run(ctx); err != nil {
			return nil, err
		}
		if err := s.sync(context.Background()); err != nil { // what Submit returns has happened, whatever happens next
			return nil, err
		}
		if result, err := s.rest(ctx, before); result != nil || err != nil {
			return result, err
		}
	}
}

// rest gives the loop free and says what the inputs came to, unless a follow-up was accepted since the loop found nothing to do.
func (s *Session) rest(ctx context.Context, before totals) (*Result, error) {
	if err := s.takeTurn(context.Background()); err != nil {
		return nil, err
	}
	defer s.endTurn()
	if ctx.Err() == nil && Next(&s.state, s.now()).Act != Rest {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working.Store(nil)
	s.memo = new(llm.Memo) // the next input encodes the history once more, and a session at rest holds it once
	s.state.shrink()
	last := s.state.Last
	result := s.result(last, before)
	switch last.Reason {
	case Failed:
		err := s.faultError(last.Fault)
		if s.state.Policy.closes(last.Fault) {
			s.ending, s.why = Failed, err
		}
		return result, err
	case Aborted:
		if s.why = ErrAborted; s.life.Err() != nil {
			s.ending = Aborted // end has not had the lock yet, perhaps
		}
		return result, ErrAborted
	case LogFull:
		if s.why = s.filled(); s.why != nil { // not that of a process that was killed before it could end the input
			s.ending = LogFull
		}
		return result, s.why
	}
	return result, nil
}

// result returns what was done since, of which in is the last input.
func (s *Session) result(in *Input, before totals) *Result {
	now := s.state.totals()
	return &Result{Text: in.Final, Reason: in.Reason, Finish: in.Finish, Usage: now.usage.Sub(before.usage), CostUSD: now.cost - before.cost,
		Turns: now.turns - before.turns, ToolRounds: now.rounds - before.rounds}
}

// totals returns the sums so far.
func (s *Session) totals() totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.totals()
}

// cutShort returns the result of an input that a failure of ours ended, wherever it was.
func (s *Session) cutShort(before totals) *Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in Input // none was begun
	switch {
	case s.state.Input != nil:
		in = *s.state.Input
	case s.state.Last != nil && s.state.inputs > before.inputs:
		in = *s.state.Last
	}
	in.Reason = Failed
	return s.result(&in, before)
}

// closedError returns what is returned to whoever wants something of a session that has ended. It is called with the lock held.
func (s *Session) closedError() error {
	if s.why == nil {
		return ErrClosed
	}
	return &closedError{s.why}
}

// closedError is an [ErrClosed] that knows why.
type closedError struct{ why error }

func (e *closedError) Error() string {
	return ErrClosed.Error() + ": " + strings.TrimPrefix(e.why.Error(), "agent: ")
}

func (e *closedError) Unwrap() []error { return []error{ErrClosed, e.why} }

// release ends the session if it is to end. A failure of ours, such as a journal that cannot be written, always ends it.
func (s *Session) release(failure error) {
	s.mu.Lock()
	if failure != nil {
		s.working.Store(nil)
		s.ending, s.failure, s.why = Failed, failure, failure
	}
	if why := s.left(); why != nil && s.ending != Closed {
		if s.ending, s.why = Closed, why; errors.Is(why, ErrReleased) {
			s.failure = nil
		}
	}
	if isFull(failure) { // not even the input had room: the session ends in order all the same
		s.ending, s.failure = LogFull, nil
	}
	ending := s.ending
	s.mu.Unlock()
	if ending != "" {
		s.shutdown()
	}
	s.events.flush()
}

// enter commits the input. One that is still open in a resumed session is ended as interrupted first, unless it goes on.
func (s *Session) enter(ctx context.Context, input *inputRecord) error {
	if input == nil {
		return s.commit(inputRecord{Continue: true})
	}
	if asked := s.asked(); asked != nil && !input.Continue {
		records, err := asked.answered(*input, nil)
		if err != nil {
			return err
		}
		defer s.events.flush()
		return s.commit(records...)
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
