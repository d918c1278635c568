package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/texts"
)

// The exit codes. After a signal, [chat.ExitCode] returns it.
const (
	exitFailed = 1 // the session or the tool call failed
	exitUsage  = 2 // the command line, or a file that it names, is wrong
	exitLimit  = 3 // a limit or a timeout ended the session
	exitAccess = 4 // there is no key, or the provider rejected it
	exitLater  = 5 // the provider failed in a way that may pass
)

// Program is the command as a main function runs it. The zero value is attractor.
type Program struct {
	// Configure, if set, changes the configuration of sessions that a command has made of its
	// flags. All sessions of the process have it.
	Configure func(*attractor.Config)
}

// configure changes the configuration of sessions as the program wants it.
func (p Program) configure(c *attractor.Config) error {
	if p.Configure == nil {
		return nil
	}
	if p.Configure(c); c.Ask != nil || c.Inbox != nil || c.OnEvent != nil || c.ID != "" {
		return fail(exitUsage, "this program sets Ask, Inbox, OnEvent or ID of its sessions, which the command does "+
			"itself: use Options or Instrument")
	}
	return nil
}

// Main runs the command line of the process and returns its exit code.
func (p Program) Main() int {
	if err := env.Conceal(); err != nil && hasSecrets(os.Environ()) { // a sandbox forbids it, and gives none
		fmt.Fprintln(os.Stderr, "attractor: warning: commands may be able to read the keys in this process's "+
			"environment:", err)
	}
	useOtherVars(os.Args[1:])
	return execute(os.Args[1:], terminal{in: os.Stdin, out: throughDoor(os.Stdout), err: throughDoor(os.Stderr),
		program: p})
}

// terminal holds the standard streams of a command, and the program that it belongs to. Those that
// are real terminals are cleaned; see throughDoor.
type terminal struct {
	in  io.Reader
	out io.Writer
	err io.Writer

	program Program
}

// exitError is an error with its exit code. One without a text has been reported already.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// fail returns an error with an exit code.
func fail(code int, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

// execute runs the command line and returns the exit code.
func execute(args []string, t terminal) int {
	return run(newRoot(t), withChat(args, t), t.err)
}

// withChat puts chat in front of no arguments, and of those that begin with a flag or a task, where
// a person can type. A task is told from a command by its blanks.
func withChat(args []string, t terminal) []string {
	if in, _ := bothTerminals(t); in == nil {
		return args
	}
	if len(args) > 0 && (!strings.HasPrefix(args[0], "-") && !strings.ContainsAny(args[0], " \n") ||
		slices.Contains([]string{"-h", "--help", "--version"}, args[0])) {
		return args
	}
	return slices.Concat([]string{"chat"}, args)
}

// run runs a command line, prints its error, and returns the exit code.
func run(root *cobra.Command, args []string, stderr io.Writer) int {
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return 0
	}
	if text := strings.TrimSpace(err.Error()); text != "" { // which may join others to the coded one
		fmt.Fprintln(stderr, root.Name()+": "+render.Error(environmentSecrets().String(text)))
	}
	var broken *agent.HostError
	if errors.As(err, &broken) { // a bug in this program: a report needs the stack
		fmt.Fprintln(stderr, plainStack(broken.Stack))
	}
	return exitCode(err)
}

// exitCode returns the exit code of a command that ended with an error.
func exitCode(err error) int {
	var coded *exitError
	if !errors.As(err, &coded) {
		return exitFailed
	}
	return coded.code
}

// Command returns the command attractor without streams, for what describes it.
func Command() *cobra.Command {
	return newRoot(terminal{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
}

func newRoot(t terminal) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "attractor",
		Short: "Run coding agents",
		Long: "Attractor runs coding agents: language models with tools that read and edit files and run commands in " +
			"a directory.\nWithout a command, on a terminal, it is attractor chat, with its flags and the task that " +
			"it begins with.",
		Example: `  attractor demo                                                 without an API key: a scripted model fixes a failing test
  ANTHROPIC_API_KEY=... attractor run "fix the failing test"     with one
  ANTHROPIC_API_KEY=... attractor chat                           a conversation on this terminal`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(cmd, unknownCommand(cmd, args[0]))
			}
			if version {
				return printVersion(t)
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version")
	root.SetFlagErrorFunc(usage)
	root.SetIn(t.in)
	root.SetOut(t.out)
	root.SetErr(t.err)
	root.SetHelpCommand(newHelp())
	root.SetHelpFunc(foldedHelp(t, root.HelpFunc()))
	for _, cmd := range []*cobra.Command{newRun(t), newChat(t), newACP(t), newDemo(t), newTools(t), newTool(t),
		newPrompt(t), newPatch(t), newModels(t), newSessions(t), newUndo(t), newViewer(t), newServe(t), newConfig(t),
		newDoctor(t), newTrust(t), newRules(t), newMCP(t), newHooks(t), newCommands(t), newAgents(t), newEnv(t),
		newFleet(),
		newVersion(t)} {
		strict(cmd)
		complete(cmd, flagValues(cmd))
		root.AddCommand(cmd)
	}
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		strict(completion)
	}
	return root
}

// unknownCommand returns the error for a word that is no command of parent, with the commands that
// it resembles.
func unknownCommand(parent *cobra.Command, name string) error {
	if here := otherCommand(parent, name); here != "" {
		return fmt.Errorf("unknown command %q; here it is %s", name, here)
	}
	parent.SuggestionsMinimumDistance = 2
	if near := parent.SuggestionsFor(name); len(near) > 0 {
		return fmt.Errorf("unknown command %q; do you mean %s?", name, texts.Or(near))
	}
	if !parent.HasParent() {
		return fmt.Errorf(`unknown command %q; a task needs run in front of it: attractor run "..."`, name)
	}
	return fmt.Errorf("unknown command %q", name)
}

// strict makes wrong arguments of a command and its subcommands usage errors. A command that only
// groups others gets a RunE that shows its help.
func strict(cmd *cobra.Command) {
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(cmd, unknownCommand(cmd, args[0]))
			}
			return cmd.Help()
		}
	}
	if args := cmd.Args; args != nil {
		cmd.Args = func(cmd *cobra.Command, given []string) error {
			if err := args(cmd, given); err != nil {
				return usage(cmd, err)
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		strict(sub)
	}
}

// usage returns an error about the command line.
func usage(cmd *cobra.Command, err error) error {
	return fail(exitUsage, "%w\nRun '%s --help' for usage.", unknownFlagError(cmd, plainFlagError(err)),
		cmd.CommandPath())
}

// plainFlagError returns an error that says what the value of a flag must be. The parser's own text
// names its Go function.
func plainFlagError(err error) error {
	if missing := (*pflag.ValueRequiredError)(nil); errors.As(err, &missing) && missing.GetSpecifiedName() == "debug" {
		return errors.New(wantsFile)
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	flag := invalid.GetFlag()
	want, ok := map[string]string{"int": "a whole number", "int64": "a whole number", "float64": "a number",
		"bool": "true or false", "duration": "a duration such as 90s or 10m"}[flag.Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("--%s must be %s, not %q", flag.Name, want, invalid.GetValue())
}
