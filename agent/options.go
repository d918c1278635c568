package agent

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/instructions"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// Options hold what a session is made of. Client, Profile and Env are required; the zero value of
// everything else is a sensible default.
type Options struct {
	Client  *llm.Client
	Profile profile.Profile
	// Env is where tools run. The session does not close it.
	Env env.Environment
	// Dir is the directory in which Env works. Only Resume needs it, and only if the session worked
	// in another directory before: a move must be meant, because the system prompt names the old
	// one.
	Dir string

	// ID names the session; empty means a new UUID. Resume takes the id from the journal and
	// refuses another one.
	ID string
	// Journal keeps the session's records; nil keeps none. The session is its only writer and
	// closes it. Until then others may read it, and put blobs beside the records, such as those of
	// a checkpoint. If New or Resume fails, closing it is still up to the caller.
	Journal journal.Log
	// State, if set, is what [Load] returned for the journal, to which nothing was written since.
	// Resume then does not read the journal again. It takes the state over, even if it fails: the
	// caller must not use the state any more.
	State *State
	// Next holds settings that Resume changes, as [Session.Set] does, before anybody has the
	// session. There are no warnings of the provider, model and effort that they replace.
	Next Settings
	// OutputDir holds the whole outputs of truncated results while the session lives, in a
	// directory of the session's own. Empty means the system's directory for temporary files.
	OutputDir string
	// OnEvent receives every event, in order, one at a time, on a goroutine of the session's. The
	// loop waits for it. It may call Steer, FollowUp, AddTools, RemoveTools, ReplaceTools, Set,
	// Interrupt, Abort and the methods that only read, but not Submit, Continue, Advance, Compact,
	// Close or Release.
	//
	// If OnEvent panics or calls runtime.Goexit, the session ends and Submit returns a [HostError]
	// with the stack. The same holds for hooks, the journal, the clock and the catalog. A panic of
	// a provider fails the model call; a panic of a tool is an error result and a WARNING.
	OnEvent func(Event)
	// Logger gets a line for each event of the session and its subagents, except for those that
	// stream texts; nil gets none. The lines have no texts of people, models and tools, but those
	// of errors and warnings, which can quote them. Masker.Log of package secret masks secrets in
	// them. Ends are at level info, beginnings at debug, what was tried again or went wrong without
	// ending the input at warn, and what ended it at error. Each line has the session, and the
	// agent of a subagent. The logger is called as OnEvent is, and before it.
	//
	// [llm.Log] logs each attempt of a model call, and [env.Logging] files and commands, with the
	// same attributes.
	Logger *slog.Logger

	// Provider, Model and Effort override the profile's. An empty Effort sends none.
	Provider, Model, Effort string
	// Request holds what each request to the model has beside the conversation.
	Request RequestOptions
	// Retry holds how often and when a failed model call is tried again: 5 retries unless set. Each
	// is announced by an [LLMRetry].
	Retry llm.RetryPolicy

	// System replaces the rendered system prompt as a whole. Instructions are added to the end of
	// the rendered one.
	System, Instructions string
	// SystemDocuments are the documents that System has, as [Prompt] returns them.
	SystemDocuments []PromptDocument
	// Documents say which documents the rendered prompt has beside AGENTS.md and the profile's,
	// also that of a subagent.
	Documents instructions.Options
	// History begins the session with messages, such as those of a conversation elsewhere: of the
	// roles user, assistant and tool, beginning with user, and each message with calls followed by
	// one with all their results. An error of New names the message that does not fit. What another
	// provider signed stays behind, as when [Session.Set] changes the provider. The messages count
	// for the window and for compactions, but not for limits. Resume takes them from the journal,
	// and refuses others.
	History []llm.Message
	// Tools are added to the profile's; of two with one name the last one counts. Neither list may
	// change while the session lives. Sessions can share them.
	Tools []tool.Tool
	// Questions allows the model to ask the host, by the tool ask_user of the profile or of Tools;
	// nil allows no questions.
	Questions *Questions
	// Subagents allows the model to start agents of its own; nil allows none.
	Subagents *Subagents

	// Policy holds the host's decisions that are data, such as limits and budgets. The journal
	// keeps it.
	Policy
	// Hooks hold the host's decisions that are code.
	Hooks
	// Ledger is asked before each model call of the session and its subagents, so that sessions can
	// share a budget. Policy.Budget holds beside it. Nil means there is none.
	Ledger Ledger

	// Limits bound what the session takes of its host.
	Limits
	// Closers are closed once, in reverse order, when the session has ended: what was started for
	// its sake, such as the servers of its tools. By then no tool of the session runs, the journal
	// is closed, and OnEvent has had SESSION_END unless the session was given away. Session.Close
	// returns their errors. If New or Resume fails, closing them is still up to the caller.
	// Subagents do not close them.
	Closers []io.Closer
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// NewID returns an id for a session or subagent; nil means random UUIDs.
	NewID func() string

	parent  *Session // of a subagent
	agentID string   // of a subagent, as its parent knows it
	depth   int
	prompt  env.Environment // of a subagent in surroundings of its own, for its prompt
}

// RequestOptions hold what each request to the model has beside the conversation. Zero values leave
// the provider's defaults.
type RequestOptions struct {
	ToolChoice  llm.ToolChoice
	MaxTokens   int
	Temperature *float64
	// ProviderOptions is one JSON object that replaces the profile's; see llm.Request.
	ProviderOptions json.RawMessage
	// NoCache turns prompt caching off.
	NoCache bool
}

// Limits bound what a session takes of its host: time, memory and disk.
type Limits struct {
	// Grace is how long code of the host may go on after its context or the session has ended. Then
	// it is left behind with a WARNING. 2 s unless set. Tools and providers get the time that
	// killing a command takes on top; journals, environments and Closers get ten times as long. For
	// tools and environments, the environment's own grace counts where it is longer; see
	// [env.Confinement].
	Grace time.Duration
	// KeepOutputs is how many bytes of whole outputs the journal keeps as blobs, for read_output
	// after a resume and in forks: none unless set. An output that does not fit is not kept. Each
	// subagent's journal has as much room of its own.
	KeepOutputs int64
	// Diffs is how many bytes of unified diffs of a call's changes TOOL_CALL_END and the journal
	// get: none unless set.
	Diffs int
	// MaxJournal limits the journal, in bytes: 1 GiB unless set. A session that reaches it ends in
	// order with the reason [ReasonLogFull], and Submit returns an [ErrFull]. Its journal can be
	// read, forked, and resumed with a higher limit.
	MaxJournal int64
}

// Questions says how the model's questions are answered.
type Questions struct {
	// Answer returns the answer to a question, and may take its time. While the answer does not fit
	// the question's form, Answer is called again with Question.Problem, three times in all.
	//
	// If Answer is nil, a question ends the input with the reason awaiting_input. [Session.Answer]
	// then answers or declines it. So does the text of the next Submit, which must be JSON if
	// INPUT_REQUESTED has a form. An answer that does not fit is an error there, and the question
	// still waits.
	Answer func(ctx context.Context, q tool.Question) (tool.Answer, error)
}

// defaultRetries is the number of retries of a session whose [llm.RetryPolicy] sets none.
const defaultRetries = 5
