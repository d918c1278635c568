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
	ledger    *memoryLedger // of the tree of agents
	shared    Ledger        // of the host; nil for none
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
	outputs   *outputStore
	mayKeep   int64        // how many bytes of outputs the journal may have
	keptBytes atomic.Int64 // how many it has
	archive   *archive
	processes *tool.ProcessTable
	memo      *llm.Memo
	crashed   error // of the last attempt of a model call, when the provider panicked
	closers   []io.Closer
	closed    chan struct{} // closed when the session is

	beforeInput   func(ctx context.Context, m Message) (Message, error)
	beforeCompact func(ctx context.Context, about Compacting) (string, error)

	life     context.Context // ends when the session is asked to end, or given up
	endLife  context.CancelCauseFunc
	working  atomic.Pointer[activity] // what runs, nil at rest; written with the lock held
	broken   atomic.Pointer[error]    // what the session was given up for
	lost     atomic.Pointer[error]    // why the journal is not called any more
	stay     context.Context          // ends when the session is to end without saying so
	endStay  context.CancelCauseFunc
	returned atomic.Bool           // by New or Resume
	severed  atomic.Bool           // nothing is written and nothing is told any more
	full     atomic.Pointer[error] // which log has reached its limit
	limits   limits

	interrupted atomic.Bool // by Interrupt, since the last step
	inherited   *Input      // that was open when the session was resumed, until it goes on

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
	resumed int64     // the number of SESSION_START, until a record has it; 0 in a new session
	once    sync.Once // of shutdown
}

// activity is an input that runs, or a compaction between two of them.
type activity struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// ID returns the session's id.
func (s *Session) ID() string { return s.events.session }

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
