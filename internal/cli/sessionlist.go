package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sessions"
)

// sessionFilter chooses sessions.
type sessionFilter struct {
	dir   string
	state string
}

// register adds the flags of the filter.
func (f *sessionFilter) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "dir", "", "only sessions of this `directory`, and of those in it")
}

// check completes the filter and returns an error for a value that it cannot have.
func (f *sessionFilter) check(cmd *cobra.Command) error {
	if cmd.Flags().Changed("dir") && f.dir == "" { // a variable that is not set, and not all sessions
		return fail(exitUsage, "--dir needs a directory, such as --dir .")
	}
	if f.state != "" && !slices.Contains(sessions.States(), sessions.State(f.state)) {
		return fail(exitUsage, "there is no state %q; the states are %s", f.state, texts.Or(stateNames()))
	}
	if f.dir == "" {
		return nil
	}
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return fail(exitUsage, "--dir: %w", err)
	}
	f.dir = dir
	return nil
}

// stateNames returns the names of the states.
func stateNames() (names []string) {
	for _, s := range sessions.States() {
		names = append(names, string(s))
	}
	return names
}

// within reports whether a session began in the directory of the filter, or below it.
func (f *sessionFilter) within(s *sessions.Summary) bool {
	if f.dir == "" {
		return true
	}
	below, err := filepath.Rel(f.dir, s.Home())
	return err == nil && s.Home() != "" && filepath.IsLocal(below)
}

// of returns the sessions of a store that pass the filter, the newest first. inspect reads all of
// each, for its state and cost.
func (f *sessionFilter) of(ctx context.Context, store journal.Store, inspect bool) ([]sessions.Summary, error) {
	list, err := sessions.List(ctx, store, 0)
	if err != nil {
		return nil, fail(exitFailed, "%w", err)
	}
	list = slices.DeleteFunc(list, func(s sessions.Summary) bool { return !f.within(&s) })
	if !inspect && f.state == "" {
		return list, nil
	}
	for i := range list {
		if err := list[i].Inspect(ctx, store); err != nil {
			return nil, fail(exitFailed, "%w", err)
		}
	}
	return slices.DeleteFunc(list, func(s sessions.Summary) bool {
		return f.state != "" && s.State != sessions.State(f.state)
	}), nil
}

func newSessionsList(t terminal) *cobra.Command {
	var asJSON, cost bool
	f := new(sessionFilter)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions, newest first",
		Long: `List shows sessions, the newest first, each with the beginning of its first message.

With --cost and --state all of each session is read, which takes longer, and the list has its state and what it has cost,
with subagents and failed attempts, and the model that it has now; without them it is the one with which it began. The
states are ` + texts.Or(stateNames()) + `. One that a process
has open is running, also while it rests.`,
		Example: `  attractor sessions list --dir . --cost
  attractor sessions list --state failed`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("state") && f.state == "" {
				return fail(exitUsage, "--state needs a state: %s", texts.Or(stateNames()))
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			store, err := sessionStore()
			if err != nil {
				return err
			}
			list, err := f.of(cmd.Context(), store, cost)
			if err != nil {
				return err
			}
			if asJSON {
				return printMaskedJSON(t, list)
			}
			if len(list) == 0 && (f.dir != "" || f.state != "") {
				fmt.Fprintln(t.err, "There are no such sessions.")
				return nil
			}
			return maskedOut(t, func(t terminal) error { return printSessions(t, list) })
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.state, "state", "", "only sessions in this `state`; implies --cost")
	cmd.Flags().BoolVar(&cost, "cost", false, "also show the state of each session and what it has cost")
	cmd.Flags().BoolVar(&asJSON, "json", false,
		"print a JSON array of sessions, with id, dir, model, task, modified and others, and with --cost state and "+
			"cost_usd")
	return cmd
}

// printSessions prints a table of sessions, with the columns that they have.
func printSessions(t terminal, list []sessions.Summary) error {
	if len(list) == 0 {
		fmt.Fprintln(t.err, "There are no sessions yet. To start one, run: attractor run \"<task>\"")
		return nil
	}
	out := bufio.NewWriter(t.out) // a tabwriter writes each cell by itself
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	inspected := list[0].State != ""
	more := ""
	if inspected {
		more = "STATE\tCOST\t"
	}
	fmt.Fprintln(w, "ID\tMODIFIED\t"+more+"MODEL\tDIRECTORY\tTASK")
	for i := range list {
		s := &list[i]
		if inspected {
			more = string(s.State) + "\t" + costColumn(s.CostUSD) + "\t"
		}
		fmt.Fprintf(w, "%s\t%s\t%s%s\t%s\t%s\n", render.OneLine(sessions.ShortID(s.ID)),
			s.Modified.Local().Format("2006-01-02 15:04"), more, render.OneLine(s.Model), render.OneLine(s.Where()),
			taskColumn(s))
	}
	return errors.Join(w.Flush(), out.Flush())
}

// costColumn returns an amount, or a dash for one that is not known.
func costColumn(usd float64) string {
	if usd == 0 {
		return "-"
	}
	return render.Money(usd)
}

// taskColumn returns the beginning of the first message of a session, and what is special about it.
func taskColumn(s *sessions.Summary) string {
	if s.Problem != "" {
		return "! " + render.Shorten(s.Problem, 80)
	}
	special := ""
	if s.Locked {
		special = fmt.Sprintf("(open in process %d) ", s.PID)
	}
	switch {
	case s.Parent != "":
		special += "(subagent of " + render.OneLine(sessions.ShortID(s.Parent)) + ") "
	case s.ForkOf != "":
		special += "(fork of " + render.OneLine(sessions.ShortID(s.ForkOf)) + ") "
	}
	return special + render.Shorten(s.Task, 60)
}
