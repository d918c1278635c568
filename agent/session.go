package agent

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
	"unique"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// The errors of methods of a session.
var (
	// ErrClosed means that the session has ended. Such an error also wraps the cause, unless Close
	// ended an idle session.
	ErrClosed = errors.New("agent: the session is closed")
	// ErrAborted means that Abort or Close ended the session while the input was running.
	ErrAborted = errors.New("agent: the session was aborted")
	// ErrBusy means that an input is running. Steer and FollowUp can be used meanwhile.
	ErrBusy = errors.New("agent: the session is processing another input")
)

// Status tells whether a session works, waits or has ended.
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
	hooks     Hooks  // a panic of Authorize or Approve ends the session
	limits    Limits // with the defaults
	questions *Questions
	journal   journal.Log
	events    *eventStream
	ledger    *memoryLedger // shared by the tree of agents
	shared    Ledger        // the host's, nil for none
	agents    *subagents
	delay     func(attempt int, err error) (time.Duration, bool) // before a retry
	// for tools: at least as long as the environment lets a command end
	killGrace time.Duration
	now       func() time.Time
	memory    tool.Memory // kept for the tools
	outputs   *outputStore
	keptBytes atomic.Int64 // bytes of outputs in the journal
	archive   *archive
	processes *tool.ProcessTable
	memo      *llm.Memo             // nil at rest
	crashed   *HostError            // set if the provider panicked in the last attempt
	system    unique.Handle[string] // the system prompt, which sessions with the same one share in memory
	closers   []io.Closer
	closed    sync.WaitGroup // until the session is closed; smaller than a channel

	life        context.Context // ends when the session is asked to end, or given up
	endLife     context.CancelCauseFunc
	working     atomic.Pointer[activity] // nil at rest; written with the lock held
	broken      firstError               // the failure of host code that ends the session
	journalLost firstError               // why the journal is not called any more
	owned       context.Context          // ends when the session is given away
	disown      context.CancelCauseFunc  // gives the session away before its next step
	returned    atomic.Bool              // New or Resume has returned the session
	severed     atomic.Bool              // nothing may be written or emitted any more
	full        firstError               // set when a log has reached its limit

	// shutdown has begun; no sync.Once, because those who wait for that stop the clock of
	// testing/synctest
	shutting    atomic.Bool
	interrupted atomic.Bool // Interrupt was called since the last step
	inherited   *Input      // the input that was open when the session was resumed, until it goes on

	// a lock, empty while it is held: while records are committed; only its holder changes the
	// state
	writeLock   chan struct{}
	journalCtx  context.Context // for calls of the journal; ends when that is given up or closed
	stopJournal context.CancelFunc

	mu      sync.Mutex
	state   State // changed with both locks held, read with either
	asking  int   // how many questions the host is answering
	ending  ending
	keeper  func() // ends the renewals of the cache, nil if there are none
	durable int64  // how many records a sync has covered
	resumed int64  // the number of SESSION_START until a record has it; 0 in a new session
}

// An activity is an input that runs, or a compaction of an idle session.
type activity struct {
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer // of the time budget
}

// endAfter ends the activity when its time budget is over, in place of what was set before.
func (a *activity) endAfter(left time.Duration, limited bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	switch {
	case limited && left <= 0:
		a.cancel(errBudgetTime)
	case limited:
		a.timer = time.AfterFunc(left, func() { a.cancel(errBudgetTime) })
	}
}

// ID returns the session's id.
func (s *Session) ID() string { return s.events.session }
