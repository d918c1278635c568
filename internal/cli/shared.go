package cli

import (
	"context"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/web"
)

// The exit codes of other commands are those of attractor.
const (
	ExitFailed = exitFailed
	ExitUsage  = exitUsage
)

// Fail returns an error that ends a command with an exit code.
func Fail(code int, format string, args ...any) error { return fail(code, format, args...) }

// Silent returns an error that ends a command with an exit code and prints nothing.
func Silent(code int) error { return &exitError{code: code} }

// Usage returns an error about the command line of a command.
func Usage(cmd *cobra.Command, err error) error { return usage(cmd, err) }

// HostError returns an error of package attractor with its exit code, and with a hint about the
// flag or command that helps.
func HostError(err error) error { return hostError(err) }

// Strict makes wrong arguments and flags of a command and its subcommands usage errors.
func Strict(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(usage)
	strict(cmd)
}

// Run runs the command line of a program other than attractor, prints its error, and returns its
// exit code.
func Run(root *cobra.Command, args []string, stderr io.Writer) int { return run(root, args, stderr) }

// Through returns a writer to a file. If that is a terminal, the writer removes from texts what
// would act on it.
func Through(f *os.File) io.Writer { return throughDoor(f) }

// In returns a writer to the same place that cleans in another form, for texts that are clean in
// part.
func In(w io.Writer, as sanitize.Form) io.Writer { return inForm(w, as) }

// Look returns how text looks on a stream, and the terminal behind the stream if text can move
// there, else nil.
func Look(stream io.Writer) (render.Style, *os.File) {
	style := styleOf(stream, os.Getenv)
	if !hasScreen(stream, os.Getenv) {
		return style, nil
	}
	style.Width = widthOf(stream)
	return style, terminalFile(stream)
}

// Stopper ends a program in order at the first signal that ends programs, and at once at the
// second. Stop returns the exit code, 0 if there was no signal.
type Stopper struct{ *stopper }

// NewStopper begins to listen. The first signal calls end, and the second one kill, which may be
// nil. The caller must call Stop.
func NewStopper(stderr io.Writer, end func(), kill func() error) Stopper {
	_, s := newStopper(context.Background(), stderr)
	s.began(end, kill)
	return Stopper{s}
}

// Stop stops listening.
func (s Stopper) Stop() int { return s.stop() }

// SessionFlags holds the flags of attractor run that hold for every session, for commands that run
// the sessions of a fleet: the provider, the model, permissions, limits.
type SessionFlags struct{ sessionFlags }

// ofOneSession names the flags that make no sense for many sessions.
var ofOneSession = map[string]bool{"no-journal": true, "no-checkpoints": true, "env-command": true, "debug": true,
	"add-dir": true, "ask": true}

// Register adds the flags to those of a command.
func (f *SessionFlags) Register(flags *pflag.FlagSet) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.register(all)
	all.VisitAll(func(flag *pflag.Flag) {
		if !ofOneSession[flag.Name] {
			flags.AddFlag(flag)
		}
	})
}

// Config returns the configuration of sessions that the flags choose, and the files and variables
// for those that are not given. It has no store. Nobody is at hand who could be asked: unless ask
// is set, the flags have to choose what becomes of calls that would need it.
func (f *SessionFlags) Config(flags *pflag.FlagSet, ask bool) (attractor.Config, error) {
	if err := f.readSettings(flags, false); err != nil {
		return attractor.Config{}, err
	}
	if err := f.check(flags.Changed); err != nil {
		return attractor.Config{}, err
	}
	switch mode := f.mode(); {
	case ask || mode == permit.ModeFull || mode == permit.ModeReadOnly:
	case mode == permit.ModeAsk:
		return attractor.Config{},
			fail(exitUsage, "%s: nobody is asked here; choose another mode, such as --mode accept-edits, or let a "+
				"worker ask those who submit its tasks (attractor fleet worker --ask-clients)", f.askedBy())
	case mode == "" && len(f.settings.List("rules"))+len(f.settings.List("allow_tool")) == 0:
		return attractor.Config{},
			fail(exitUsage, "nobody is there to ask for permission; pass --yes to allow what the rules ask about, "+
				"--read-only to refuse what changes or runs anything, --mode accept-edits for something between, or "+
				"--rules or --allow-tool to refuse what they do not allow")
	}
	c, err := f.config(flags.Changed)
	c.Ignore = []string{"add_dir", "no_checkpoints"} // as there are no flags for them
	return c, err
}

// Confines reports whether the flags, or files and variables, choose a sandbox.
func (f *SessionFlags) Confines() bool { return f.settings.Text("sandbox") != string(sandbox.Off) }

// Budget returns --budget-tokens and --budget-usd.
func (f *SessionFlags) Budget() agent.Budget {
	tokens, _ := strconv.Atoi(f.settings.Text("budget_tokens")) // which have been checked
	usd, _ := strconv.ParseFloat(f.settings.Text("budget_usd"), 64)
	return agent.Budget{Tokens: tokens, USD: usd}
}

// NoLink returns an error for a place that a link of a repository may lead elsewhere.
func NoLink(name string) error {
	if at := ledAway(name); at != "" {
		return fail(exitUsage, "%s", followsNoLink(name, at))
	}
	return nil
}

// View serves the page of attractor view for the sessions of a store, until a signal, and shows the
// one with the id first, if there is one.
func View(ctx context.Context, stdout, stderr io.Writer, store journal.Store, port int, id string) error {
	if port < 0 || port > maxPort {
		return fail(exitUsage, "--port must be from 1 to %d, or 0 for any that is free, not %d", maxPort, port)
	}
	return serveViewer(ctx, terminal{out: stdout, err: stderr}, web.New(viewerOptions(store, environmentSecrets())),
		port, id, false)
}

// Same reports whether two streams write to the same terminal, file or pipe.
func Same(a, b any) bool { return samePlace(a, b) }
