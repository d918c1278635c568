package main

import (
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

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providers"
)

// runFlags are the flags of run.
type runFlags struct {
	dir, provider, model, profile, baseURL, effort, instructions string
	resume, fork, onLimit, outputSchema                          string
	maxRounds, maxTurns, budgetTokens, diffs                     int
	maxJournal, keepOutputs                                      int64
	budgetUSD                                                    float64
	yes, ask, readOnly, json, noJournal, native                  bool
	timeout, idleTimeout                                         time.Duration
	schema                                                       json.RawMessage // what outputSchema names
}

func newRun(t terminal) *cobra.Command {
	f := new(runFlags)
	cmd := &cobra.Command{
		Use:   "run [flags] PROMPT|-",
		Short: "Run a session on a task",
		Long: "run gives a model a task and the tools to do it in a directory, and prints its final answer.\n\n" +
			"Standard output has the answer only, or with --json one event a line; progress goes to standard error.\n" +
			"Where both come out together, as on a terminal or after 2>&1, the answer is there once.\n" +
			"Without --yes, --ask or --read-only it asks on the terminal before anything is changed or run.\n\n" +
			"Exit codes: 0 done, 1 failed, refused or unfinished, 2 usage, 3 limit or timeout, 4 no key or a refused one, 128 and its number after a signal.",
		Example: `  attractor run "fix the failing test"
  attractor run --yes --json --dir ~/project "update the changelog" | jq .kind
  git diff | attractor run --read-only -
  attractor run --resume 3f2c "and now the documentation"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt := ""
			if len(args) > 0 || f.resume == "" { // a session that is resumed may go on without one
				var err error
				if prompt, err = readPrompt(args, t.in); err != nil {
					return err
				}
			}
			return f.run(cmd.Context(), t, prompt, cmd.Flags().Changed)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", ".", "`DIR` to work in (of a session that is resumed: its own)")
	flags.StringVar(&f.provider, "provider", "", "`PROVIDER` of the model: "+strings.Join(providers.Names(), ", ")+" (default: the one whose key is set)")
	flags.StringVar(&f.model, "model", "", "`MODEL` to ask (default: the profile's)")
	flags.StringVar(&f.profile, "profile", "", "`PROFILE` that gives the prompt and the tools (default: the provider's)")
	flags.BoolVar(&f.native, "native", false, "offer the tools by the names and in the formats of the vendor's own agent")
	flags.StringVar(&f.baseURL, "base-url", "", "`URL` of the provider's API; for openai and openai-compatible with /v1, for the others without a version")
	flags.StringVar(&f.effort, "effort", "", "reasoning `EFFORT`, such as low, medium or high (default: the provider's)")
	flags.StringVar(&f.instructions, "instructions", "", "`TEXT|@FILE` that goes last into the system prompt")
	flags.IntVar(&f.maxRounds, "max-rounds", 200, "stop after `N` tool rounds, 0 for no limit")
	flags.IntVar(&f.maxTurns, "max-turns", 0, "stop after `N` answers of the model, 0 for no limit")
	flags.StringVar(&f.onLimit, "on-limit", "stop", "at one of these limits: stop, or summarize, a last text of the model (`WHAT`)")
	flags.Float64Var(&f.budgetUSD, "budget-usd", 0, "stop before more than `X` US dollars are spent, subagents included")
	flags.IntVar(&f.budgetTokens, "budget-tokens", 0, "stop before more than `N` tokens are used, subagents included")
	flags.StringVar(&f.resume, "resume", "", "go on with the session `ID`, without a prompt with its interrupted input")
	flags.StringVar(&f.fork, "fork", "", "begin a new session from the session `ID[@TURN]`")
	flags.BoolVar(&f.noJournal, "no-journal", false, "do not keep the session")
	flags.Int64Var(&f.keepOutputs, "keep-outputs", 0, "keep up to `BYTES` of the whole outputs of commands with the session, for --resume and --fork")
	flags.Int64Var(&f.maxJournal, "max-journal", 1<<30, "end the session before its journal has more than `BYTES`")
	flags.IntVar(&f.diffs, "diffs", 0, "keep unified diffs of what a call changes, at most `BYTES` a call; --json shows them")
	flags.StringVar(&f.outputSchema, "output-schema", "", "answer with JSON that fits the JSON Schema in `FILE`, and print nothing else")
	flags.BoolVar(&f.yes, "yes", false, "allow every call")
	flags.BoolVar(&f.ask, "ask", false, "ask before anything is changed or run")
	flags.BoolVar(&f.readOnly, "read-only", false, "refuse whatever changes or runs something")
	flags.DurationVar(&f.timeout, "timeout", 0, "stop after `DUR`, such as 10m")
	flags.DurationVar(&f.idleTimeout, "idle-timeout", 300*time.Second, "give up when the model is silent for `DUR`")
	flags.BoolVar(&f.json, "json", false, "print events, one JSON object a line")
	return cmd
}

func (f *runFlags) run(ctx context.Context, t terminal, prompt string, given func(flag string) bool) error {
	if err := f.check(); err != nil {
		return err
	}
	config, err := f.config(given)
	if err != nil {
		return err
	}
	if err := config.Check(ctx); err != nil {
		return hostError(err)
	}
	perm, err := f.permission(t)
	if err != nil {
		return err
	}
	config.Permission = perm.Permission
	setup, err := host.Open(ctx, config)
	if err != nil {
		return hostError(err)
	}
	opts := &setup.Options
	opts.Policy, opts.Questions = f.policy(), perm.questions()
	if perm.Permission == host.Ask {
		opts.Approve = perm.approve
	}
	opts.Limits = agent.Limits{MaxJournal: f.maxJournal, KeepOutputs: f.keepOutputs, Diffs: f.diffs}
	f.warn(t, opts.Provider, first(opts.Model, opts.Profile.Model))
	tellAbandoned(t, setup.Local)
	r := runner{terminal: t, Setup: setup, json: f.json, timeout: f.timeout}
	return r.run(ctx, prompt)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// runner runs one session and shows it.
type runner struct {
	terminal
	*host.Setup
	json    bool
	timeout time.Duration
}

var errTimeout = errors.New("the time is over")

// run runs the session to its end and closes everything. Its error carries the exit code.
func (r *runner) run(ctx context.Context, prompt string) error {
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.timeout, errTimeout)
		defer cancel()
	}
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write, which aborts the session
	view := newView(r.terminal, r.json)
	r.Options.OnEvent = view.show
	session, err := r.Start(ctx)
	if err != nil {
		return errors.Join(r.refused(err), r.Close())
	}
	view.onFailure(session.Abort)
	stopped := r.onSignal(session)
	result, err := work(ctx, session, prompt)
	closeErr := errors.Join(closeAll(session), r.Close())
	if code := stopped(); code != 0 {
		return &exitError{code: code, err: errors.New("stopped by a signal" + r.howToGoOn())}
	}
	if view.failed != nil {
		return fail(exitFailed, "cannot write the events: %w", view.failed)
	}
	if err := outcome(err); err != nil {
		return err
	}
	if closeErr != nil {
		return fail(exitFailed, "%w", closeErr)
	}
	if err := view.answer(result); err != nil {
		return fail(exitFailed, "cannot write the answer: %w", err)
	}
	return r.ended(result)
}

// ended returns the error that an end of the work without a failure stands for: only what is done is a success.
func (r *runner) ended(result *agent.Result) error {
	why := first(result.Finish.Raw, string(result.Finish.Reason))
	switch {
	case result.Reason.Limit():
		return fail(exitLimit, "stopped at the limit %s; the task may be unfinished%s", result.Reason, r.howToGoOn())
	case result.Reason == agent.Refused:
		return fail(exitFailed, "the model or its provider refused to answer (%s)", why)
	case result.Reason == agent.Incomplete && result.Finish.Reason == llm.FinishStop:
		return fail(exitFailed, "the model's last answer is empty (%s), so the task is not finished%s", why, r.howToGoOn())
	case result.Reason == agent.Incomplete:
		return fail(exitFailed, "the model's last answer was cut off (%s), so the task is not finished%s", why, r.howToGoOn())
	}
	return nil
}

// refused gives a session that could not begin its exit code: where nothing but the options can be wrong it is a mistake of usage.
func (r *runner) refused(err error) error {
	var file *fs.PathError
	if r.Resumed || errors.Is(err, agent.ErrStuck) || errors.Is(err, agent.ErrFull) || errors.As(err, &file) {
		return outcome(err)
	}
	return fail(exitUsage, "%w", err)
}

// closeAll closes a session and waits until all its events are shown: a reader may be slow, or have paused.
func closeAll(session *agent.Session) error {
	for {
		if err := session.Close(); !errors.Is(err, agent.ErrUndelivered) {
			return err
		}
	}
}

// work gives the session its task, or has it go on with the one that it has.
func work(ctx context.Context, session *agent.Session, prompt string) (*agent.Result, error) {
	if prompt == "" {
		return session.Continue(ctx)
	}
	return session.Submit(ctx, prompt)
}

func (r *runner) howToGoOn() string {
	if r.Options.Journal == nil {
		return ""
	}
	return "; attractor run --resume " + shortID(r.Options.ID) + " goes on"
}

// outcome gives a session's failure its exit code.
func outcome(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTimeout):
		return fail(exitLimit, "%w (--timeout); the task may be unfinished", err)
	case errors.Is(err, agent.ErrFull):
		return fail(exitLimit, "%w\nattractor run --resume goes on with the session; give it a higher --max-journal if it is the journal.", err)
	case errors.Is(err, llm.ErrAuthentication), errors.Is(err, llm.ErrAccessDenied):
		return fail(exitAccess, "%w\nCheck the API key in the environment.", err)
	}
	return fail(exitFailed, "%w", err)
}

// onSignal aborts the session at the first SIGINT, SIGQUIT, SIGTERM or SIGHUP; a second one kills what runs and exits at once. The function that
// it returns stops listening and tells the exit code, 0 without a signal.
func (r *runner) onSignal(session *agent.Session) (stopped func() int) {
	signals := make(chan os.Signal, 2)
	notifyOfEnd(signals)
	code := 0
	done, quit := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case sig := <-signals:
				if code != 0 {
					if err := r.Local.KillNow(); err != nil {
						fmt.Fprintln(r.err, "attractor:", err)
					}
					os.Exit(code)
				}
				code = signalCode(sig)
				fmt.Fprintln(r.err, "\nattractor: stopping; once more to stop at once")
				session.Abort()
			}
		}
	}()
	return func() int {
		signal.Stop(signals)
		close(quit)
		<-done
		return code
	}
}
