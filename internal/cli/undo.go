package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sessions"
	"github.com/attractor-go/attractor/undo"
)

// undoFlags holds the flags of undo.
type undoFlags struct {
	dir                                   string
	yes, dryRun, force, redo, git, asJSON bool
}

func newUndo(t terminal) *cobra.Command {
	f := new(undoFlags)
	cmd := &cobra.Command{
		Use:   "undo [id] [turn]",
		Short: "Take back what a session has changed in its directory",
		Long: `Undo puts the files of a session's directory back as they were: contents, permissions, links, empty directories and what was deleted. It
covers what commands did, too. Without an id it is about the newest session of the directory that has changed something, and without a turn
about everything since the last input that changed something. With a turn, undo takes back what was changed after that turn; 0 is the
beginning. attractor sessions show lists the turns, and attractor sessions diff shows the changes.

What somebody else has changed since is left alone and named, unless --force is given. Undo shows what it would do, and asks. What it replaces
is recorded before, so attractor undo --redo takes it back. An undo that was interrupted is finished by the next one.

Files that .gitignore names are not recorded and stay as they are, and so does .git: commits stay, and --git puts back only HEAD, its branch and
the index. docs/checkpoints.md says what else is not covered.`,
		Example: `  attractor undo --dry-run
  attractor undo 3f2c 4
  attractor undo --redo --yes`,
		Args:              takesUpTo(2),
		ValidArgsFunction: completeSession,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), t, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.dir, "dir", ".", "without an id: choose the newest session of this `directory`")
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only show what would be done")
	flags.BoolVar(&f.force, "force", false, "also put back what somebody else has changed since")
	flags.BoolVar(&f.redo, "redo", false, "take the last undo back")
	flags.BoolVar(&f.git, "git", false,
		"also put back HEAD, its branch and the index of the repository, where the session has moved them")
	flags.BoolVar(&f.asJSON, "json", false, "print the plan and the result as a JSON object; needs --yes or --dry-run")
	return cmd
}

// check returns an error if the flags and arguments do not fit together.
func (f *undoFlags) check(args []string) error {
	switch {
	case f.asJSON && !f.yes && !f.dryRun:
		return fail(exitUsage, "--json asks nobody; pass --yes or --dry-run with it")
	case f.redo && len(args) > 1:
		return fail(exitUsage, "--redo takes the last undo back, whatever turn it was about; leave the turn out")
	}
	return nil
}

// run takes changes back. A signal ends it between two files.
func (f *undoFlags) run(ctx context.Context, t terminal, args []string) error {
	if err := f.check(args); err != nil {
		return err
	}
	ctx, stop := newStopper(ctx, t.err)
	err := f.undo(ctx, t, args)
	if code := stop.stop(); code != 0 && err != nil {
		return &exitError{code: code, err: err}
	}
	return err
}

func (f *undoFlags) undo(ctx context.Context, t terminal, args []string) (err error) {
	store, err := sessionStore()
	if err != nil {
		return err
	}
	points, err := f.points(ctx, store, args)
	if err != nil {
		return err
	}
	log, err := store.Open(ctx, points.Session) // nobody else can have the session now
	if errors.Is(err, journal.ErrLocked) {
		return fail(exitFailed, "%w; end it first, or undo where it runs: with /undo in its conversation, or on "+
			"its page", err)
	} else if err != nil {
		return fail(exitFailed, "%w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	place, closeIt, err := attractor.OpenPoints(ctx, points, attractor.EnvHelper,
		func(text string) { warn(t.err, text) })
	if err != nil {
		return hostError(err)
	}
	defer func() { err = errors.Join(err, closeIt()) }()
	u, err := f.plan(ctx, place, points, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	return f.carryOut(ctx, t, u, points, func(ctx context.Context, kind string, data json.RawMessage,
		text string) error {
		return agent.AddNote(ctx, log, kind, data, environmentSecrets().String(text))
	})
}

// points returns the points of the session that the arguments choose.
func (f *undoFlags) points(ctx context.Context, store *journal.Dir, args []string) (*undo.Points, error) {
	if len(args) == 0 {
		points, err := undo.Newest(ctx, store, f.dir)
		if err != nil {
			return nil, hostError(err)
		}
		return points, nil
	}
	var points *undo.Points
	err := readSession(ctx, args[0], func(r journal.Reader) (err error) {
		if points, err = undo.Read(ctx, r); err != nil {
			return fail(exitFailed, "%w", err)
		}
		return nil
	})
	return points, err
}

// plan plans the undo that the flags and arguments choose.
func (f *undoFlags) plan(ctx context.Context, e env.Environment, points *undo.Points,
	args []string) (*undo.Undo, error) {
	dir, err := undo.UserDir(os.Getenv)
	if err != nil {
		return nil, hostError(err)
	}
	c := undo.Options{Checkpoints: dir, Points: points, Env: e, Redo: f.redo, Force: f.force, Git: f.git}
	if len(args) > 1 {
		if c.Turn, err = undo.ParseTurn(args[1]); err != nil {
			return nil, hostError(err)
		}
	}
	u, err := undo.New(ctx, c)
	if err != nil {
		return nil, hostError(err)
	}
	return u, nil
}

// undone holds what undo --json prints.
type undone struct {
	Session string             `json:"session"`
	Since   string             `json:"since"`
	Plan    *checkpoint.Plan   `json:"plan"`
	Result  *checkpoint.Result `json:"result,omitempty"`
}

// mostPlanned limits the paths of each kind that a person is shown.
const mostPlanned = 20

// carryOut shows the plan, asks, carries it out and reports what it did.
func (f *undoFlags) carryOut(ctx context.Context, t terminal, u *undo.Undo, points *undo.Points, note noteFunc) error {
	report := undone{Session: points.Session, Since: u.Since, Plan: u.Plan}
	if !f.asJSON {
		fmt.Fprint(t.out, u.Text(mostPlanned))
	}
	if f.dryRun || u.Plan.Empty() && !u.Resumed {
		if f.asJSON {
			return printJSON(t, report)
		}
		return nil
	}
	if !f.yes {
		if ok, err := confirmed(ctx, t, "Do this? [y/N] ",
			", or --dry-run to only see what would be done"); err != nil || !ok {
			return err
		}
	}
	result, err := u.Run(ctx, note)
	if err != nil {
		return fail(exitFailed, "%w\nTo go on, run: attractor undo %s", err, sessions.ShortID(points.Session))
	}
	if f.asJSON {
		report.Result = &result
		return printJSON(t, report)
	}
	fmt.Fprint(t.out, undo.Report(&result, mostPlanned))
	back := " --redo"
	if u.Redo {
		back = ""
	}
	fmt.Fprintf(t.out, "To take this back, run: attractor undo %s%s\n", sessions.ShortID(points.Session), back)
	return nil
}

// noteFunc adds a note to a session.
type noteFunc = func(ctx context.Context, kind string, data json.RawMessage, text string) error

// confirmed asks the person at the terminal a question that y answers. Without a terminal it is an
// error, which ends in what else can be done.
func confirmed(ctx context.Context, t terminal, question, otherwise string) (bool, error) {
	c := openConsole(t)
	if c == nil {
		return false, fail(exitUsage,
			"there is no terminal to ask on; pass --yes to go on without a question%s", otherwise)
	}
	defer c.Close() // nothing is written to it
	line, err := c.ask(ctx, question)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errNobody) {
		return false, fail(exitFailed, "%w", err)
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return true, nil
	}
	fmt.Fprintln(t.err, "Nothing was changed.")
	return false, nil
}

func newSessionsDiff(t terminal) *cobra.Command {
	var stat, asJSON bool
	cmd := &cobra.Command{
		Use:   "diff <id> [turn]",
		Short: "Show what a session has changed in its directory, after a turn or in all",
		Long: `Diff shows what a session has changed in its directory as a unified diff: all its changes, also those of commands, from before the first to
after the last. With a turn it shows those after the turn. What others have changed in between is not shown, except in files that the session
has changed, too. attractor undo takes changes back.`,
		Args:              cobra.MatchAll(takesUpTo(2), takesSome(sessionID())),
		ValidArgsFunction: completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			diff, err := diffOf(cmd.Context(), args)
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return printMaskedJSON(t, diff)
			case len(diff.Files) == 0:
				fmt.Fprintln(t.err, "The session has changed nothing that is recorded.")
				return nil
			case stat:
				return printText(t, undo.Stat(diff))
			}
			return printText(t, render.UnifiedDiff(styleOf(t.out, os.Getenv), environmentSecrets().String(diff.Text())))
		},
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "show only the names, and how many lines were added and removed")
	cmd.Flags().BoolVar(&asJSON, "json", false,
		"print a JSON object with the changes: files, each with path, before, after and text")
	return cmd
}

func printText(t terminal, text string) error {
	if _, err := io.WriteString(t.out, text); err != nil {
		return fail(exitFailed, "%w", err)
	}
	return nil
}

// diffOf returns the changes of a session, after a turn if there is one in the arguments.
func diffOf(ctx context.Context, args []string) (diff *checkpoint.Diff, err error) {
	turn := new(int)
	if len(args) > 1 {
		if turn, err = undo.ParseTurn(args[1]); err != nil {
			return nil, hostError(err)
		}
	}
	dir, err := undo.UserDir(os.Getenv)
	if err != nil {
		return nil, hostError(err)
	}
	store, err := checkpoint.OpenDir(dir, checkpoint.DirOptions{})
	if err != nil {
		return nil, fail(exitFailed, "%w", err)
	}
	err = readSession(ctx, args[0], func(r journal.Reader) error {
		points, err := undo.Read(ctx, r)
		if err == nil {
			diff, err = points.Diff(ctx, store, *turn, 0)
		}
		if err != nil {
			return hostError(err)
		}
		return nil
	})
	return diff, err
}
