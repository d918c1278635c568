package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sessions"
	"github.com/attractor-go/attractor/undo"
)

// cleanFlags holds the flags of sessions clean.
type cleanFlags struct {
	sessionFilter
	older       string
	failed, yes bool
}

func newSessionsClean(t terminal) *cobra.Command {
	f := new(cleanFlags)
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove old or failed sessions, and what was recorded of their changes",
		Long: `Clean shows the sessions that it would remove, and asks. It removes those that match all the flags, and their subagents with them.

It leaves alone the sessions that a process has open, those whose last input is open, interrupted or waits for an answer, subagents of sessions that stay, and what cannot be
read: attractor sessions rm removes these one by one.`,
		Example: `  attractor sessions clean --older 30d
  attractor sessions clean --failed --older 7d --yes`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, t, time.Now()) },
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.older, "older", "", "only sessions that were written last before this `age`, such as "+
		"30d, 2w or 12h")
	cmd.Flags().BoolVar(&f.failed, "failed", false,
		"only sessions whose last input failed, was refused or is incomplete")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "remove them without a question")
	return cmd
}

// ageOf returns the duration of a text such as 30d, 2w or 12h.
func ageOf(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	unit := map[string]time.Duration{"d": day, "w": 7 * day}[text[max(len(text)-1, 0):]]
	if n, err := strconv.Atoi(strings.TrimRight(text, "dw")); unit > 0 && err == nil && n >= 0 && n < 100_000 {
		return time.Duration(n) * unit, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	return 0, fail(exitUsage, "--older %s is no age; write it as 30d, 2w or 12h", strconv.Quote(text))
}

func (f *cleanFlags) run(cmd *cobra.Command, t terminal, now time.Time) error {
	ctx := cmd.Context()
	if cmd.Flags().Changed("older") && f.older == "" { // a variable that is not set, and not any age
		return fail(exitUsage, "--older needs an age, such as --older 30d")
	}
	if f.older == "" && !f.failed {
		return fail(exitUsage, "sessions clean needs --older or --failed, which say what to remove, such as "+
			"--older 30d")
	}
	if err := f.check(cmd); err != nil {
		return err
	}
	before := now
	if f.older != "" {
		age, err := ageOf(f.older)
		if err != nil {
			return err
		}
		before = now.Add(-age)
	}
	store, err := sessionStore()
	if err != nil {
		return err
	}
	all, err := sessions.List(ctx, store, 0)
	if err != nil {
		return fail(exitFailed, "%w", err)
	}
	list, open, err := f.choose(ctx, store, all, before)
	if err != nil {
		return err
	}
	if open > 0 {
		fmt.Fprintf(t.err, "Kept, because a process has them open or they can be continued: %s.\n",
			render.Count(open, "session"))
	}
	if len(list) == 0 {
		fmt.Fprintln(t.err, "There is nothing to remove.")
		return nil
	}
	if err := maskedOut(t, func(t terminal) error { return printSessions(t, list) }); err != nil {
		return err
	}
	if !f.yes {
		question := fmt.Sprintf("Remove %s? [y/N] ", render.Count(len(list), "session"))
		if ok, err := confirmed(ctx, t, question, ""); err != nil || !ok {
			return err
		}
	}
	return removeSessions(ctx, t, store, list)
}

// choose returns the sessions to remove, subagents after the sessions that have begun them, and how
// many would match but are open.
func (f *cleanFlags) choose(ctx context.Context, store journal.Store, all []sessions.Summary,
	before time.Time) (list []sessions.Summary, open int, err error) {
	known, gone, busy := map[string]bool{}, map[string]bool{}, withNewer(all, before)
	for i := range all {
		known[all[i].ID] = true
	}
	for i := range all {
		s := &all[i]
		if s.Parent != "" && known[s.Parent] || !f.within(s) || busy[s.ID] {
			continue
		}
		if err := s.Inspect(ctx, store); err != nil {
			return nil, 0, fail(exitFailed, "%w", err)
		}
		switch {
		case s.State == sessions.Unreadable || f.failed && s.State != sessions.Failed:
		case slices.Contains([]sessions.State{sessions.Running, sessions.Open, sessions.Waiting,
			sessions.Interrupted}, s.State):
			open++
		default:
			list, gone[s.ID] = append(list, *s), true
		}
	}
	for grew := true; grew; { // subagents have subagents
		grew = false
		for i := range all {
			s := &all[i]
			if gone[s.ID] || !gone[s.Parent] || s.Locked {
				continue
			}
			if err := s.Inspect(ctx, store); err != nil {
				return nil, 0, fail(exitFailed, "%w", err)
			}
			list, gone[s.ID], grew = append(list, *s), true, true
		}
	}
	return list, open, nil
}

// withNewer returns the sessions that were written after a time, or have a subagent that was.
func withNewer(all []sessions.Summary, before time.Time) map[string]bool {
	parents, newer := map[string]string{}, map[string]bool{}
	for i := range all {
		parents[all[i].ID] = all[i].Parent
	}
	for i := range all {
		if !all[i].Modified.After(before) {
			continue
		}
		for id := all[i].ID; id != "" && !newer[id]; id = parents[id] {
			newer[id] = true
		}
	}
	return newer
}

// removeSessions removes sessions. One that somebody has gone on with since it was listed stays.
func removeSessions(ctx context.Context, t terminal, store *journal.Dir, list []sessions.Summary) error {
	entries, err := store.List(ctx)
	if err != nil {
		return fail(exitFailed, "%w", err)
	}
	now := map[string]journal.Entry{}
	for _, e := range entries {
		now[e.ID] = e
	}
	removed := 0
	var failed error
	for i := range list {
		e, is := now[list[i].ID]
		if !is {
			continue
		}
		err := journal.ErrLocked
		if !e.Locked && e.Modified.Equal(list[i].Modified) {
			err = store.Remove(ctx, e.ID)
		}
		switch {
		case err == nil:
			removed++
		case errors.Is(err, journal.ErrLocked):
			warn(t.err, "session "+sessions.ShortID(e.ID)+" stays, because somebody has gone on with it meanwhile")
		default:
			failed = errors.Join(failed, err)
		}
	}
	if err := undo.Release(ctx, os.Getenv, store); err != nil {
		warn(t.err, "what was recorded of the changes of removed sessions is still there: "+err.Error())
	}
	fmt.Fprintf(t.err, "Removed %s.\n", render.Count(removed, "session"))
	if failed != nil {
		return fail(exitFailed, "%w", failed)
	}
	return nil
}
