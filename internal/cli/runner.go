package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os/signal"
	"syscall"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sessions"
)

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
	client   *client    // with --input json or --view; nil without
	lines    *protocol.Conversation
	last     *lastLine  // of the terminal; nil without one
	server   string     // the flag for the server of --base-url; "" without
	kept     *runResult // nil without --output and --result
	inMemory bool       // the journal ends with the process
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
	view.warnings, view.last = r.err, r.last
	r.Options.OnEvent = view.show
	r.OnOwnEvent = func(attractor.Event) {}
	if r.client != nil {
		r.client.listen(r, view)
	} else {
		r.lines = protocol.New(r.Setup, nil, keepRules)
	}
	r.last.start()
	defer r.last.stop()
	session, err := r.Start(ctx)
	if err != nil {
		closeErr := r.Close()
		return errors.Join(r.stopper.or(r.refusal(err)), closeErr)
	}
	view.onFailure(session.Abort)
	r.stopper.began(func() { r.StopCommand(); session.Abort() },
		func() error { err := r.KillNow(); r.last.stop(); return err })
	result, err := r.work(ctx, session, prompt)
	report, checkErr := r.endChecks(ctx, result, err)
	ended := result
	if result == nil { // no input was begun
		result = &agent.Result{Reason: agent.ReasonCompleted}
	}
	closeErr := errors.Join(checkErr, closeAll(session))
	r.keep(ctx, ended)
	closeErr = errors.Join(closeErr, r.checkAgain(ctx, report, view), r.Close())
	r.last.stop()
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
	unpriced := new(agent.UnpricedError)
	if r.Resumed && !errors.As(err, &unpriced) || errors.Is(err, agent.ErrStuck) || errors.Is(err, agent.ErrFull) ||
		errors.As(err, &file) {
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

// work works on the prompt, or without one on the session's last input, and on what a client says.
func (r *runner) work(ctx context.Context, session *agent.Session, prompt string) (*agent.Result, error) {
	in, stop, err := r.client.input(r.terminal, session)
	if err != nil {
		return nil, err
	}
	defer stop()
	r.lines.PlainPrompt = !r.commands
	result, err := r.lines.Run(ctx, session, in, prompt, r.images...)
	if wrong := (*attractor.Error)(nil); errors.As(err, &wrong) {
		return nil, hostError(err)
	}
	return result, err
}

// howToGoOn returns a line with the command that continues the session, or "" if it is not kept.
func (r *runner) howToGoOn() string {
	if r.Options.Journal == nil || r.inMemory {
		return ""
	}
	return "\nTo continue the session, run: attractor run --resume " + sessions.ShortID(r.Options.ID) +
		insteadOf(r.Worktree()) + r.server
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
	case errors.As(err, new(*llm.Error)):
		return fail(modelExit(err), "%w%s%s", err, modelHint(err), r.howToGoOn())
	}
	return fail(exitFailed, "%w", err)
}
