package agent

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// Options say what a session is made of. Client, Profile and Env are required; the zero value of everything else is a sensible
// default.
type Options struct {
	Client  *llm.Client
	Profile profile.Profile
	// Env is where tools run. The session does not close it.
	Env env.Environment

	// Dir is the directory in which Env works. Only a Resume in another directory than before needs it, since the system prompt names
	// that one: it says that this is meant.
	Dir string

	// ID names the session; empty means a new UUID. Resume takes it from the journal, and refuses another one.
	ID string
	// Provider, Model and Effort override the profile's. Effort empty sends nothing.
	Provider, Model, Effort string
	// Tools come on top of the profile's; the last one of a name wins. Neither list may be changed while the session lives; any number
	// of sessions can share them.
	Tools []tool.Tool
	// System replaces the whole system prompt that would be rendered. Instructions go last into the rendered one.
	System, Instructions string

	// Journal keeps the session's records; nil keeps them nowhere. The session is its only writer and closes it. Until then others may put
	// blobs beside the records, such as a checkpoint's, and read all of it. Where New or Resume fails, it is still the caller's to close.
	Journal journal.Log
	// OnEvent receives every event, in order, one at a time, on a goroutine of the session's. The loop waits for it. Steer, FollowUp,
	// AddTools, RemoveTools, Set, Interrupt, Abort and the methods that only read may be called from it; Submit, Continue, Advance, Compact, Close and Release
	// may not.
	//
	// A panic or a runtime.Goexit of OnEvent, as of a hook, the journal, the clock or the catalog, ends the session: Submit returns
	// a [HostError] with the stack. That of a provider fails the model call, that of a tool is an error result and a WARNING.
	OnEvent func(Event)
	// Authorize decides about every call whose turn to run has come, about one at a time. Nil is [tool.AllowUnguarded]: it allows everything
	// but changes of guarded files, such as read-only ones. Approve decides where it says [tool.Ask], also about one call at a time: it may wait for
	// a person, until its context ends, while calls that need no approval run. Both may be called by several goroutines at once when
	// there are subagents, and side by side.
	Authorize, Approve tool.Authorize
	// Middleware is put around every call that was permitted, also of subagents; the first is outermost. One that leaves a call open, by
	// [tool.ErrNotBegun], gives the session away, as [Session.Release] does: calls that run come to their results, all others stay open, and Submit
	// returns an error that is an [ErrReleased] and wraps the middleware's.
	Middleware []tool.Middleware

	// Policy holds the decisions that the host makes beforehand, such as limits and budgets. The journal keeps it; Resume takes it from here.
	Policy
	// Ledger, when set, is asked before each model call of the session and its subagents whether a budget that others spend, too, has it.
	// Policy.Budget holds beside it.
	Ledger Ledger
	// Retry holds how often and when a failed model call is tried again: 5 retries unless set. Each is announced by an [LLMRetry].
	Retry llm.RetryPolicy
	// BeforeInput is asked about what people tell the agent, before any of it is recorded: by Submit, Begin, FollowUp, Steer and Answer. It
	// returns the message as it is to be, perhaps with another text and with Context. An error refuses the message, and so does any failure:
	// the method returns it, and the session stays as it was. The journal has only what was returned, and a resumed session does not ask
	// again. BeforeInput is not asked about what agents tell their subagents, nor about answers of Questions.Answer, which are the host's own.
	// It may be called by several goroutines at once.
	BeforeInput func(ctx context.Context, m Message) (Message, error)
	// BeforeStop is asked before an input ends because the task is done. A prompt sends the agent back to work, at most MaxConfirms
	// times an input. An error is a WARNING and lets the input end. It is asked for subagents too, each of which is sent back as often, and
	// may then be called by several goroutines at once.
	BeforeStop func(ctx context.Context, stop Stop) (prompt string, err error)
	// BeforeCompact is asked before a summary replaces the beginning of the history. What it returns is added to the instructions of the model
	// that writes the summary, such as what it must not leave out. An error prevents the compaction, which is tried again after the next
	// answer: the WARNING compaction_failed says it. It is asked for subagents too, perhaps by several goroutines at once.
	BeforeCompact func(ctx context.Context, about Compacting) (keep string, err error)
	// Questions allows the model to ask the host, by the tool ask_user of the profile or of Tools; nil allows none.
	Questions *Questions
	// Subagents allows the model to start agents of its own; nil allows none.
	Subagents *Subagents

	ToolChoice  llm.ToolChoice
	MaxTokens   int
	Temperature *float64
	// ProviderOptions replaces the profile's: one JSON object.
	ProviderOptions json.RawMessage
	NoCache         bool

	// Closers are closed when the session has ended, once, in reverse order: what was started for its sake, such as the servers of its
	// tools. No tool of the session runs any more, OnEvent has had SESSION_END, unless the session was given away, and the journal is
	// closed. What Close of one returns is part of Session.Close's error. They are the session's from the moment that New or Resume has returned it: where that fails, they
	// are still the caller's. Subagents do not close them.
	Closers []io.Closer

	// Grace is how long code of the host may go on after its context or the session has ended, before it is left behind with a WARNING:
	// 2 s unless set. Tools and providers have what a command's kill takes on top, journals, environments and Closers ten times as long. For
	// tools and environments it is the environment's time between asking a command to end and killing it where that is longer; see
	// [env.Graceful].
	Grace time.Duration
	// OutputDir is where whole outputs of truncated results are kept while the session lives, in a directory of their own; empty
	// means the system's directory for temporary files.
	OutputDir string
	// KeepOutputs limits the bytes of such outputs that the journal keeps as blobs, so that read_output has them after a resume and in forks:
	// none unless set. What does not fit any more is not kept; nothing is deleted. A subagent's journal has as much room of its own.
	KeepOutputs int64
	// Diffs limits the bytes of unified diffs of a call's changes, in TOOL_CALL_END and in the journal: none unless set.
	Diffs int
	// MaxJournal is how large the journal may become, and MaxEvents how large the log of events that cursors read, in bytes: 1 GiB each
	// unless set. A session that gets there ends in order, for the reason [LogFull], and Submit returns an [ErrFull]. Its journal can be
	// read, forked, and resumed with a higher limit; a resumed session's log of events begins anew.
	MaxJournal, MaxEvents int64
	// Now is the clock.
	Now func() time.Time
	// NewID makes ids of sessions, also of subagents'.
	NewID func() string

	parent  *Session // of a subagent
	agentID string   // of a subagent, as its parent knows it
	depth   int
}

// Stop describes the end about which [Options].BeforeStop is asked.
type Stop struct {
	Session    string // the session's id
	Agent      string // a subagent's id, as the session that started it knows it; empty for the host's own session
	Text       string // the answer, or the final text of a tool
	Reason     Reason // completed or done
	Turns      int    // of the input
	ToolRounds int
	Confirms   int // how often BeforeStop has sent the agent back in this input, in earlier processes too
}

// Questions says how the model's questions are answered.
type Questions struct {
	// Answer is asked, and may take its time. It is asked again, three times in all and with Question.Problem, while its answer does not fit
	// the question's form. Nil ends the input with the reason awaiting_input: [Session.Answer] then answers the question, or declines, and
	// the text of the next Submit does, which is JSON where INPUT_REQUESTED has a form. An answer that does not fit is an error there, and
	// the question goes on waiting.
	Answer func(ctx context.Context, q tool.Question) (tool.Answer, error)
}

// defaultRetries is the number of retries of a session whose [llm.RetryPolicy] sets none.
const defaultRetries = 5
