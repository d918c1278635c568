package cli

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm/providers"
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

One of these variables chooses the provider: ` + texts.Or(providers.Variables()) + `.
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
			files, err := f.create(cmd.Flags().Changed)
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
			"starting, so that the first request has their tools; 0 means not to wait, which is the default "+
			"with --view")
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
func (f *runFlags) client(ctx context.Context, person *console, config *attractor.Config,
	limited bool) (*client, error) {
	if f.input != inputJSON && !f.view {
		return nil, nil
	}
	limit := f.answerTimeout
	if f.input != inputJSON && person == nil && !limited {
		limit = unwatchedTimeout
	}
	c := newClient(f.input == inputJSON, limit)
	if person != nil {
		c.asks.Beside(person.approve, person.reply)
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
	if err := f.check(given); err != nil {
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
	t, last := withLastLine(t, !f.json, os.Getenv)
	person, err := f.person(t, &config, f.input == inputJSON, f.view)
	if err != nil {
		return err
	}
	if person != nil {
		defer person.Close() // nothing is written to it
		config.Ask = person.approve
	}
	c, err := f.client(ctx, person, &config, given("answer-timeout"))
	if err != nil {
		return err
	}
	defer c.close()
	ctx, stopper := newStopper(ctx, t.err) // until the session has begun: what starts with it may wait
	defer stopper.stop()
	setup, err := attractor.Prepare(ctx, config)
	if err != nil {
		return stopper.or(hostError(err))
	}
	if f.schema != nil {
		setup.Options.Policy.Result = &agent.ResultPolicy{Schema: f.schema}
	}
	switch {
	case c != nil:
		c.join(setup)
	case person != nil:
		setup.Options.Questions = &agent.Questions{Answer: person.reply}
	}
	tellOpened(t, setup)
	tellPlan(t, setup)
	r := runner{terminal: t, Setup: setup, stopper: stopper, json: f.json, timeout: f.timeout, commands: f.typed,
		images: images, client: c, last: last, kept: kept, server: f.serverFlag(given) + f.windowFlag(given)}
	return r.run(ctx, prompt)
}
