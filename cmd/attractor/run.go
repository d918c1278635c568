package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/profile"
)

// runFlags are the flags of run.
type runFlags struct {
	dir, provider, model, profile, baseURL, effort, instructions string
	maxRounds, maxTurns                                          int
	yes, ask, readOnly, json                                     bool
	timeout, idleTimeout                                         time.Duration
}

func newRun(t terminal) *cobra.Command {
	f := new(runFlags)
	cmd := &cobra.Command{
		Use:   "run [flags] PROMPT|-",
		Short: "Run a session on a task",
		Long: "run gives a model a task and the tools to do it in a directory, and prints its final answer.\n\n" +
			"Standard output has the answer only, or with --json one event a line; progress goes to standard error.\n" +
			"Without --yes, --ask or --read-only it asks on the terminal before anything is changed or run.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 usage, 3 limit or timeout, 4 no key or a refused one, 130 and 143 after a signal.",
		Example: `  attractor run "fix the failing test"
  attractor run --yes --json --dir ~/project "update the changelog" | jq .kind
  git diff | attractor run --read-only -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := readPrompt(args, t.in)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), t, prompt)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", ".", "`DIR` to work in")
	flags.StringVar(&f.provider, "provider", "", "`PROVIDER` of the model: "+strings.Join(providers.Names(), ", ")+" (default: the one whose key is set)")
	flags.StringVar(&f.model, "model", "", "`MODEL` to ask (default: the profile's)")
	flags.StringVar(&f.profile, "profile", "", "`PROFILE` that gives the prompt and the tools (default: the provider's)")
	flags.StringVar(&f.baseURL, "base-url", "", "`URL` of the provider's API; for openai and openai-compatible with /v1, for the others without a version")
	flags.StringVar(&f.effort, "effort", "", "reasoning `EFFORT`, such as low, medium or high (default: the provider's)")
	flags.StringVar(&f.instructions, "instructions", "", "`TEXT|@FILE` that goes last into the system prompt")
	flags.IntVar(&f.maxRounds, "max-rounds", 200, "stop after `N` tool rounds, 0 for no limit")
	flags.IntVar(&f.maxTurns, "max-turns", 0, "stop after `N` answers of the model, 0 for no limit")
	flags.BoolVar(&f.yes, "yes", false, "allow every call")
	flags.BoolVar(&f.ask, "ask", false, "ask before anything is changed or run")
	flags.BoolVar(&f.readOnly, "read-only", false, "refuse whatever changes or runs something")
	flags.DurationVar(&f.timeout, "timeout", 0, "stop after `DUR`, such as 10m")
	flags.DurationVar(&f.idleTimeout, "idle-timeout", 300*time.Second, "give up when the model is silent for `DUR`")
	flags.BoolVar(&f.json, "json", false, "print events, one JSON object a line")
	return cmd
}

func (f *runFlags) run(ctx context.Context, t terminal, prompt string) error {
	if f.maxRounds < 0 || f.maxTurns < 0 || f.timeout < 0 || f.idleTimeout < 0 {
		return fail(exitUsage, "--max-rounds, --max-turns, --timeout and --idle-timeout cannot be negative")
	}
	perm, err := f.permission(t)
	if err != nil {
		return err
	}
	model, err := f.connect(os.Getenv)
	if err != nil {
		return err
	}
	prof, err := f.chooseProfile(model.provider)
	if err != nil {
		return err
	}
	instructions, err := readInstructions(f.instructions)
	if err != nil {
		return err
	}
	local, err := openDir(f.dir)
	if err != nil {
		return err
	}
	opts := agent.Options{Client: model.client, Profile: prof, Env: local, Provider: model.provider, Model: f.model, Effort: f.effort,
		Authorize: perm.authorize, MaxToolRounds: f.maxRounds, MaxTurns: f.maxTurns, Instructions: instructions}
	opts.System = systemPrompt(ctx, prof, local, opts)
	if f.readOnly {
		opts.Env = env.ReadOnly(local)
	}
	r := runner{terminal: t, local: local, json: f.json, timeout: f.timeout}
	return r.run(ctx, opts, prompt)
}

// systemPrompt is rendered before the environment is made read-only: looking at the repository runs git.
func systemPrompt(ctx context.Context, p profile.Profile, local *env.Local, o agent.Options) string {
	return agent.SystemPrompt(ctx, p, local, first(o.Model, p.Model), o.Instructions, time.Now())
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
	local   *env.Local
	json    bool
	timeout time.Duration
}

var errTimeout = errors.New("the time is over")

// run runs the session to its end and closes everything. Its error carries the exit code.
func (r *runner) run(ctx context.Context, opts agent.Options, prompt string) error {
	if r.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.timeout, errTimeout)
		defer cancel()
	}
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write, which aborts the session
	view := newView(r.terminal, r.json)
	opts.OnEvent = view.show
	session, err := agent.New(ctx, opts)
	if err != nil {
		return errors.Join(fail(exitFailed, "%w", err), r.local.Close())
	}
	view.onFailure(session.Abort)
	stopped := r.onSignal(session)
	result, err := session.Submit(ctx, prompt)
	closeErr := errors.Join(session.Close(), r.local.Close())
	if code := stopped(); code != 0 {
		return &exitError{code: code, err: errors.New("stopped by a signal")}
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
	return limited(result)
}

// outcome gives a session's failure its exit code.
func outcome(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errTimeout):
		return fail(exitLimit, "%w (--timeout); the task may be unfinished", err)
	case errors.Is(err, llm.ErrAuthentication), errors.Is(err, llm.ErrAccessDenied):
		return fail(exitAccess, "%w\nCheck the API key in the environment.", err)
	}
	return fail(exitFailed, "%w", err)
}

func limited(result *agent.Result) error {
	if result.Reason.Limit() {
		return fail(exitLimit, "stopped at the limit %s; the task may be unfinished", result.Reason)
	}
	return nil
}

// onSignal aborts the session at the first SIGINT or SIGTERM; a second one kills what runs and exits at once. The function that
// it returns stops listening and tells the exit code, 0 without a signal.
func (r *runner) onSignal(session *agent.Session) (stopped func() int) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
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
					if err := r.local.KillNow(); err != nil {
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

func signalCode(sig os.Signal) int {
	if sig == syscall.SIGTERM {
		return exitSIGTERM
	}
	return exitSIGINT
}
