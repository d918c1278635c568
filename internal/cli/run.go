package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/sessions"
)

// runFlags holds the flags of run.
type runFlags struct {
	startFlags
	sessionFlags
	viewFlag
	resultFlags
	outputSchema string
	schema       json.RawMessage // the content of the file
	json         bool
	input        string
	typed        bool // the prompt is on the command line
	timeout      time.Duration
	mcpWait      time.Duration
	// answerTimeout bounds the wait for a client's answers.
	answerTimeout time.Duration
}

// runHelp returns the long help of run.
func runHelp() string {
	return `Run gives a model a task, and the tools to do it in a directory, and prints the model's final answer.
A text on standard input is added to the prompt, or is the prompt if there is no other; a - at the end waits for it, however long it takes. A prompt /NAME
with arguments uses the command or skill of that name (attractor commands), and /mcp__SERVER__PROMPT the prompt of an MCP server (attractor mcp prompts).

One of these variables chooses the provider: ` + orList(providers.Variables()) + `.
If several are set, choose with --provider. Files and variables can set what flags do (attractor config --help).

Progress goes to standard error, the answer to standard output. If both are the same terminal, file or
pipe, the answer is printed once. With --json, standard output has one event per line instead.

On a terminal, answers are rendered as Markdown, changes of files are shown as diffs, what commands print with its first
and last lines, and the last line shows what runs, for how long and what it has cost. NO_COLOR turns colours off, ATTRACTOR_ACCESSIBLE=1, ACCESSIBLE=1 and
TERM=dumb all of it but the text, and CI=true the last line.

Reading in the directory, and commands that only read, need no permission. Before a tool call does anything
else, run asks on the terminal. The answers: y allows this call; a allows the pattern that the question shows
for the rest of the session, p in later sessions of this project too, and g everywhere; n refuses, with a reason if one follows. Permission
rules answer questions in advance (attractor rules --help), and so do --allow-tool and --deny-tool.

The modes are: ask; accept-edits, in which file tools change ordinary files in the directory without a question;
plan, in which only what reads runs until you have approved of the model's plan; and full, which is --yes. With
--read-only no commands run and nothing changes. Without a terminal nobody is asked, and calls that would need
an answer are refused. A rule that denies counts in all modes.

With --input json, a program keeps the session open: it sends one JSON object per line, such as
{"type":"user","text":"..."}, and gets one event per line. It is asked instead of a person and answers by id, and
the prompt is optional. The session ends when standard input does and all is done, with the exit code for the
last prompt. docs/protocol.md describes it.

With --env-command 'docker exec -i box' or 'ssh host', files and commands are those of the container or the machine to
which the command leads. docs/environments.md describes it.

With --view, a page in a browser shows the session and can steer it, and its questions can be answered there as well,
also without a terminal. The URL is printed on standard error. docs/viewer.md describes it.

Exit codes:
  0      the task is done
  1      the session failed, the model refused, the answer is incomplete, or --check did not verify it
  2      the command line is wrong
  3      a limit or the timeout was reached
  4      there is no API key, or the provider rejected it
  5      the provider cannot be reached, has no capacity or fails: the same may succeed later
  128+n  the signal n ended the session`
}

func newRun(t terminal) *cobra.Command {
	f := new(runFlags)
	cmd := &cobra.Command{
		Use:   "run [flags] <prompt>",
		Short: "Run a session on a task",
		Long:  runHelp(),
		Example: `  attractor run "fix the failing test"
  attractor run --yes --json --dir ~/project "update the changelog" | jq .kind
  git diff | attractor run --read-only "review this change"
  printf '%s\n' '{"type":"user","text":"fix the test"}' | attractor run --input json --yes
  attractor run --continue "and now the documentation"
  attractor run --resume 3f2c "and the changelog"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := f.create()
			if err != nil {
				return err
			}
			var kept *runResult
			if files != (resultFiles{}) {
				kept = new(runResult)
			}
			err = f.start(cmd, t, args, kept)
			return errors.Join(err, files.write(kept, err))
		},
	}
	f.register(cmd.Flags())
	return cmd
}

// start checks the command line, reads the prompt and the settings, and runs the session.
func (f *runFlags) start(cmd *cobra.Command, t terminal, args []string, kept *runResult) error {
	if err := errors.Join(f.checkInput(args), f.checkIDs(cmd.Flags().Changed), f.checkPrompt(args)); err != nil {
		return err
	}
	if cmd.Flags().Changed("output-schema") && f.outputSchema == "" {
		return fail(exitUsage, "--output-schema needs the name of a file")
	}
	prompt, err := f.prompt(args, t)
	if err != nil {
		return err
	}
	if err := f.readSettings(cmd.Flags(), f.resumes()); err != nil {
		return err
	}
	f.typed = len(args) > 0 && args[0] != "-"
	return f.run(cmd.Context(), t, prompt, cmd.Flags().Changed, kept)
}

// prompt returns the first prompt, or "" if the session may go on or begin without one.
func (f *runFlags) prompt(args []string, t terminal) (string, error) {
	optional := f.resume != "" || f.last
	if f.input == inputJSON { // which is what standard input has
		t.in, optional = strings.NewReader(""), optional || len(args) == 0
	}
	prompt, err := readPrompt(args, t, optional, f.timeout)
	if err != nil && len(args) == 0 && f.debug != "" { // as with a prompt after a --debug that has no file
		return "", fail(exitUsage, "%w; %s", err, wantsFile)
	}
	return prompt, err
}

// register adds the flags of run.
func (f *runFlags) register(flags *pflag.FlagSet) {
	f.startFlags.register(flags)
	f.sessionFlags.register(flags)
	f.viewFlag.register(flags)
	f.resultFlags.register(flags)
	flags.StringVar(&f.outputSchema, "output-schema", "",
		"require an answer that matches the JSON Schema in this `file`, and print only its JSON")
	flags.DurationVar(&f.timeout, "timeout", 0, "stop after this `duration`, such as 10m")
	flags.DurationVar(&f.mcpWait, "mcp-wait", attractor.DefaultMCPWait,
		"wait this `duration` for MCP servers that are still "+
			"starting, so that the first request has their tools; 0 means not to wait, which is the default with --view")
	flags.BoolVar(&f.json, "json", false, "print events as JSON, one per line")
	flags.StringVar(&f.input, "input", inputText,
		"take inputs, answers and settings from standard input in this `form`: json, one object per line, while the "+
			"session goes on; it implies --json")
	flags.DurationVar(&f.answerTimeout, "answer-timeout", 0,
		"with --input json or --view: deny what nobody has answered after this `duration`; 0 means to wait, "+
			"which is the default, but with --view and without a terminal it is "+unwatchedTimeout.String())
}

// unwatchedTimeout is the answer timeout of a page that may not be open.
const unwatchedTimeout = 10 * time.Minute

// client returns the client that is asked beside or instead of a person at a terminal, or nil
// without one.
func (f *runFlags) client(ctx context.Context, perm *permission, config *attractor.Config, limited bool) (*client,
	error) {
	if f.input != inputJSON && !f.view {
		return nil, nil
	}
	limit := f.answerTimeout
	if f.input != inputJSON && perm.console == nil && !limited {
		limit = unwatchedTimeout
	}
	c := newClient(f.input == inputJSON, limit)
	if perm.console != nil {
		c.asks.Beside(perm.asker(), perm.reply)
	}
	config.Ask, config.Interactive = c.asks.Approve, true
	if !f.view {
		return c, nil
	}
	var err error
	c.viewer, err = openOwnViewer(ctx, config.Store)
	return c, err
}

// run runs a session on the prompt, and keeps its result unless kept is nil.
func (f *runFlags) run(ctx context.Context, t terminal, prompt string, given func(flag string) bool,
	kept *runResult) error {
	if err := f.check(); err != nil {
		return err
	}
	config, log, err := f.open(ctx, t, given, func(c *attractor.Config) error {
		if f.mcpWait > 0 && (!f.view || given("mcp-wait")) {
			c.MCPWait = f.mcpWait
		}
		return f.startFlags.config(c)
	})
	if err != nil {
		return err
	}
	defer closeDebug(log, t)
	if prompt == "" && len(f.images) > 0 {
		return fail(exitUsage, "--image needs a prompt to go with")
	}
	images, err := f.pictures()
	if err != nil {
		return err
	}
	t, live := withLiveLine(t, !f.json, os.Getenv)
	perm, err := f.permission(t, &config, f.input == inputJSON, f.view)
	if err != nil {
		return err
	}
	defer perm.Close() // nothing is written to it
	config.Ask = perm.asker()
	c, err := f.client(ctx, perm, &config, given("answer-timeout"))
	if err != nil {
		return err
	}
	defer c.close()
	ctx, cancel := context.WithCancel(ctx) // until the session has begun: what starts with it may wait
	defer cancel()
	stopper := newStopper(t.err, cancel)
	defer stopper.stop()
	setup, err := attractor.Prepare(ctx, config)
	if err != nil {
		return stopper.or(hostError(err))
	}
	if f.schema != nil {
		setup.Options.Policy.Result = &agent.ResultPolicy{Schema: f.schema}
	}
	setup.Options.Questions = perm.questions()
	if c != nil {
		c.join(setup)
	}
	tellOpened(t, setup)
	tellPlan(t, setup)
	r := runner{terminal: t, Setup: setup, stopper: stopper, json: f.json, timeout: f.timeout, commands: f.typed,
		images: images, client: c, live: live, kept: kept,
		server: f.serverFlag(given) + f.windowFlag(given)}
	if perm.console != nil && perm.out == t.err {
		r.input = &perm.line
		perm.bell, perm.line.typed = live.bell, live.typed
	}
	return r.run(ctx, prompt)
}

// runner runs one session and shows it.
type runner struct {
	terminal
	*attractor.Setup
	stopper *stopper // it listens already
	json    bool
	timeout time.Duration
	// commands says that a prompt which begins with / may be a command.
	commands bool
	images   []llm.Part // of the first prompt
	input    *inputLine // of the console; nil if nobody is asked
	client   *client    // with --input json or --view; nil without
	live     *liveLine  // nil without one
	server   string     // the flag for the server of --base-url; "" without
	kept     *runResult // nil if nobody wants it
}

var errTimeout = errors.New("the timeout was reached")

// run runs the session to its end and closes everything. Its error carries the exit code.
func (r *runner) run(ctx context.Context, prompt string) error {
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.timeout, errTimeout)
		defer cancel()
	}
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write, which aborts the session
	view := newView(r.terminal, r.json, r.Options.Policy.Result == nil)
	view.warnings, view.live = r.err, r.live
	if r.input != nil {
		view.keepClear(r.input)
	}
	r.Options.OnEvent = view.show
	if r.client != nil {
		if url := r.client.listen(r.Setup, view); url != "" {
			fmt.Fprintln(r.err, "This session in a browser: "+url)
		}
	}
	r.live.start()
	defer r.live.stop()
	session, err := r.Start(ctx)
	if err != nil {
		closeErr := r.Close()
		return errors.Join(r.stopper.or(r.refusal(err)), closeErr)
	}
	view.onFailure(session.Abort)
	r.stopper.began(func() { r.StopCommand(); session.Abort() },
		func() error { err := r.KillNow(); r.live.stop(); return err })
	result, err := r.work(ctx, session, prompt)
	report, checkErr := r.endChecks(ctx, result, err)
	ended := result
	if result == nil { // no input was begun
		result = &agent.Result{Reason: agent.ReasonCompleted}
	}
	closeErr := errors.Join(checkErr, closeAll(session))
	r.keep(ctx, ended)
	closeErr = errors.Join(closeErr, r.checkAgain(ctx, report, view), r.Close())
	r.live.stop()
	tellWorktree(r.err, r.Worktree())
	r.client.ended(r.terminal, r.Options.ID)
	if code := r.stopper.stop(); code != 0 {
		return &exitError{code: code, err: errors.New("stopped by a signal" + r.howToGoOn())}
	}
	if failed := view.failure(); failed != nil {
		return fail(exitFailed, "cannot write the events: %w", failed)
	}
	if err := r.outcome(err); err != nil {
		return err
	}
	if closeErr != nil {
		return fail(exitFailed, "%w", closeErr)
	}
	result.Text = r.Secrets.String(result.Text)
	if err := view.answer(result); err != nil {
		return fail(exitFailed, "cannot write the answer: %w", err)
	}
	if err := r.ended(result); err != nil {
		return err
	}
	return r.verified(report)
}

// refusal returns why the session did not start.
func (r *runner) refusal(err error) error {
	switch {
	case errors.Is(err, errTimeout):
		return r.outcome(err)
	case errors.Is(err, attractor.ErrServer):
		return hostError(err)
	}
	return r.refused(err)
}

// ended returns an error if the input ended before the task was done, although nothing failed.
func (r *runner) ended(result *agent.Result) error {
	why := cmp.Or(result.Finish.Raw, string(result.Finish.Reason))
	switch {
	case result.Reason.Limit():
		return fail(exitLimit, "stopped at the limit %s%s; the task may be unfinished%s", result.Reason,
			limitFlag(result.Reason), r.howToGoOn())
	case result.Reason == agent.ReasonInterrupted:
		return fail(exitFailed, "the last input was interrupted, so the task is not finished%s", r.howToGoOn())
	case result.Reason == agent.ReasonRefused:
		return fail(exitFailed, "the model or its provider refused to answer (%s)", why)
	case result.Reason == agent.ReasonIncomplete && result.Finish.Reason == llm.FinishStop:
		return fail(exitFailed, "the model's last answer is empty (%s), so the task is not finished%s", why,
			r.howToGoOn())
	case result.Reason == agent.ReasonIncomplete:
		return fail(exitFailed, "the model's last answer was cut off (%s), so the task is not finished%s", why,
			r.howToGoOn())
	}
	return nil
}

// limitFlag returns the flag that sets a limit, in parentheses, and whether it counts what the
// session has used before.
func limitFlag(limit agent.Reason) string {
	switch limit {
	case agent.ReasonMaxToolRounds:
		return " (--max-rounds)"
	case agent.ReasonMaxTurns:
		return " (--max-turns, of the whole session: raise it to go on)"
	case agent.ReasonBudgetTokens:
		return " (--budget-tokens, of the whole session: raise it to go on)"
	case agent.ReasonBudgetUSD:
		return " (--budget-usd, of the whole session: raise it to go on)"
	}
	return ""
}

// refused returns the error of a session that could not start, with its exit code. It is a usage
// error if only the options can be wrong.
func (r *runner) refused(err error) error {
	var file *fs.PathError
	if unpriced := new(agent.UnpricedError); r.Resumed && !errors.As(err, &unpriced) || errors.Is(err, agent.ErrStuck) || errors.Is(err, agent.ErrFull) || errors.As(err, &file) {
		return r.outcome(err)
	}
	hint := ""
	if r.HasSettings() {
		hint = "\nFiles or variables choose something, too. To see what counts, run: attractor config"
	}
	return fail(exitUsage, "%w%s", err, hint)
}

// closeAll closes a session and waits until all its events are shown, because a reader may be slow
// or paused.
func closeAll(session *agent.Session) error {
	for {
		if err := session.Close(); !errors.Is(err, agent.ErrUndelivered) {
			return err
		}
	}
}

// work submits the prompt, or without one continues the session's input.
func (r *runner) work(ctx context.Context, session *agent.Session, prompt string) (*agent.Result, error) {
	var result *agent.Result
	var err error
	switch {
	case r.client != nil:
		result, err = r.client.run(ctx, session, r.terminal, prompt, !r.commands, r.images)
	case prompt == "":
		return session.Continue(ctx)
	case !r.commands:
		return session.Submit(ctx, prompt, agent.Attach(r.images...))
	default:
		result, err = r.Submit(ctx, session, prompt, r.images...)
	}
	if wrong := (*attractor.Error)(nil); errors.As(err, &wrong) {
		return nil, hostError(err)
	}
	return result, err
}

func (r *runner) howToGoOn() string {
	if r.Options.Journal == nil {
		return ""
	}
	return "\nTo continue the session, run: attractor run --resume " + sessions.ShortID(r.Options.ID) + r.server
}

// outcome returns the session's error with its exit code.
func (r *runner) outcome(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*exitError)):
		return err
	case errors.Is(err, protocol.ErrNoInput):
		return fail(exitUsage, "%w", err)
	case errors.Is(err, protocol.ErrClosed):
		return fail(exitFailed, "%w%s", err, r.howToGoOn())
	case errors.Is(err, errTimeout):
		return fail(exitLimit, "%w (--timeout); the task may be unfinished%s", err, r.howToGoOn())
	case errors.Is(err, agent.ErrFull):
		return fail(exitLimit, "%w\nIf the journal is full, resume with a higher --max-journal.%s", err, r.howToGoOn())
	case errors.Is(err, llm.ErrAuthentication), errors.Is(err, llm.ErrAccessDenied):
		if e, ok := errors.AsType[*llm.Error](err); ok && e.Status == 0 { // no server's: it says what is missing
			return fail(exitAccess, "%w%s", err, r.howToGoOn())
		}
		return fail(exitAccess, "%w\nCheck the API key in the environment.%s", err, r.howToGoOn())
	case llm.Retryable(err):
		return fail(exitLater, "%w%s%s", err, modelHint(err), r.howToGoOn())
	case errors.As(err, new(*llm.Error)):
		return fail(exitFailed, "%w%s%s", err, modelHint(err), r.howToGoOn())
	}
	return fail(exitFailed, "%w", err)
}

// notFoundHint returns a line that says what to do about a model or a URL that the server does not
// have.
func notFoundHint(err error) string {
	if kind, ok := localServer(err); ok {
		return "\nCheck the name of the model (attractor models --provider " + kind.Name +
			"), and the server's address (" + kind.BaseURLVar + " or --base-url)."
	}
	if name := namedServer(err); name != "" {
		return "\nCheck the name of the model, and base_url of the provider " + name + " in your config.json: attractor models --provider " + name
	}
	return "\nCheck the name of the model, and the URL: for openai and openai-compatible it ends in /v1."
}

// namedServer returns the name of the provider whose call failed, if it is one of the user's own,
// else "".
func namedServer(err error) string {
	var failed *llm.Error
	if errors.As(err, &failed) {
		for _, p := range namedProviders() {
			if p.Name == failed.Provider {
				return p.Name
			}
		}
	}
	return ""
}

// localServer returns the kind of the provider whose call failed, if its servers are the user's
// own.
func localServer(err error) (providers.Kind, bool) {
	var failed *llm.Error
	if !errors.As(err, &failed) {
		return providers.Kind{}, false
	}
	kind, err := providers.Find(failed.Provider)
	return kind, err == nil && kind.Local
}

// modelHint returns a line that says what to do about a failed model call, or "".
func modelHint(err error) string {
	switch {
	case errors.Is(err, llm.ErrNotFound):
		return notFoundHint(err)
	case errors.Is(err, llm.ErrQuota):
		return "\nThe account at the provider has no money or quota left. --fallback names another model that takes over."
	case errors.Is(err, llm.ErrRateLimit), errors.Is(err, llm.ErrOverloaded), errors.Is(err, llm.ErrServer):
		return "\nTry again later. --fallback names another model that takes over."
	case errors.Is(err, llm.ErrNetwork):
		if kind, ok := localServer(err); ok {
			return "\nStart the server (" + kind.Start + "), or check its address (" + kind.BaseURLVar + " or --base-url)."
		}
		if name := namedServer(err); name != "" {
			return "\nCheck that its server runs, the network, the proxy (HTTPS_PROXY), and base_url of the provider " + name +
				" in your config.json."
		}
		return "\nCheck the network, the proxy (HTTPS_PROXY), and the URL of the provider (--base-url)."
	case errors.Is(err, llm.ErrTimeout):
		return "\nFor a model that is slow to begin, pass a longer --idle-timeout."
	case errors.Is(err, llm.ErrInvalidRequest):
		if _, ok := localServer(err); ok {
			return "\nThe model has to support tools, and the server has to read its calls: docs/local.md says which options do that."
		}
	case errors.Is(err, llm.ErrContextLength):
		return "\nChoose a model with a larger window (attractor models), start a server of your own with a larger one, or go back: attractor run --fork ID@TURN."
	}
	return ""
}
