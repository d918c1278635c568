package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/secret/masked"
	"github.com/attractor-go/attractor/sessions"
	"github.com/attractor-go/attractor/sessions/costs"
	"github.com/attractor-go/attractor/undo"
)

func newSessions(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, show and remove sessions",
		Long: `Work with the sessions that were kept. To continue one, run: attractor run --resume <id>. For the newest one of the
directory, run: attractor run --continue

An id can be shortened to its first characters. Sessions are kept in $XDG_STATE_HOME/attractor/sessions, or in
~/.local/state/attractor/sessions if XDG_STATE_HOME is not set. Each is a file of JSON lines.`,
	}
	read := func(ctx context.Context, id string, run shower) error {
		return readSession(ctx, id, func(r journal.Reader) error {
			tellTorn(t, r)
			if err := run(ctx, t, r); err != nil {
				return fail(exitFailed, "%w", err)
			}
			return nil
		})
	}
	one := func(use, short string, run shower) *cobra.Command {
		return &cobra.Command{Use: use + " <id>", Short: short, Args: takes(sessionID()),
			ValidArgsFunction: completeSession, RunE: func(cmd *cobra.Command, args []string) error {
				return read(cmd.Context(), args[0], run)
			}}
	}
	cmd.AddCommand(newSessionsList(t), newSessionsDiff(t), newSessionsRm(t), newSessionsClean(t),
		newSessionsShow(t, read),
		one("events", "Print the events of a session as JSON, one per line", printEvents),
		newSessionsExport(t, func(ctx context.Context, id string) error {
			return read(ctx, id, ofMasked(exportSession))
		}),
		one("replay", "Replay a session from its journal and report the first difference", replaySession))
	return cmd
}

// shower prints something about the session of a journal.
type shower func(ctx context.Context, t terminal, r journal.Reader) error

// ofMasked returns a function that shows a session without the secrets of the environment: answers
// of the model are kept as they were.
func ofMasked(show shower) shower {
	return func(ctx context.Context, t terminal, r journal.Reader) error {
		return maskedOut(t, func(t terminal) error { return show(ctx, t, r) })
	}
}

// sessionID returns the argument that names a session.
func sessionID() argument {
	return argument{"id", "to list sessions, run: attractor sessions list"}
}

// tellTorn warns if a journal's end is broken and was ignored.
func tellTorn(t terminal, r journal.Reader) {
	if torn := journal.TornEnd(r); torn != nil {
		warn(t.err, torn.String()+
			"; they are left out. If the session is not running, attractor run --resume cuts them off.")
	}
}

func newSessionsRm(t terminal) *cobra.Command {
	return &cobra.Command{
		Use:               "rm <id>...",
		Short:             "Remove sessions, and what was recorded of their changes",
		Args:              takesSome(sessionID()),
		ValidArgsFunction: completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := sessionStore()
			if err != nil {
				return err
			}
			var ids []string
			for _, prefix := range args {
				id, err := findSession(cmd.Context(), dir, prefix)
				if err == nil {
					ids = append(ids, id)
				} else if dir.Remove(cmd.Context(), prefix) != nil {
					// it may be the whole id of an empty file, which is not a session
					return err
				}
			}
			err = dir.Remove(cmd.Context(), ids...)
			if errors.Is(err, journal.ErrLocked) {
				return fail(exitFailed, "%w; end it first", err)
			} else if err != nil {
				return fail(exitFailed, "%w", err)
			}
			if err := undo.Release(cmd.Context(), os.Getenv, dir); err != nil {
				warn(t.err, "what was recorded of the changes of removed sessions is still there: "+err.Error())
			}
			return nil
		},
	}
}

// newSessionsShow returns the command that shows a session or what it has cost.
func newSessionsShow(t terminal, read func(context.Context, string, shower) error) *cobra.Command {
	var cost bool
	cmd := &cobra.Command{Use: "show <id>", Short: "Show a session and its turns, with the turn numbers for run --fork",
		Args: takes(sessionID()), ValidArgsFunction: completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cost {
				return read(cmd.Context(), args[0], ofMasked(showCosts))
			}
			return read(cmd.Context(), args[0], ofMasked(showSession))
		}}
	cmd.Flags().BoolVar(&cost, "cost", false,
		"show what the session has cost instead, by model and by part of its prompt, which is paid again with "+
			"each request")
	return cmd
}

// showCosts prints what a session has cost.
func showCosts(ctx context.Context, t terminal, r journal.Reader) error {
	known, err := userCatalog()
	if err != nil {
		return err
	}
	sum, err := costs.Read(ctx, r, known.Get)
	if err == nil {
		_, err = fmt.Fprint(t.out, render.Costs(sum))
	}
	return err
}

// showSession prints the facts of a session and a line for each turn.
func showSession(ctx context.Context, t terminal, r journal.Reader) error {
	state, err := agent.Load(ctx, r)
	if err != nil {
		return err
	}
	writer, err := writerOf(ctx, state.Header.ID)
	if err != nil {
		return err
	}
	h := state.Header
	out := bufio.NewWriter(t.out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s:\t%s\n", name, render.OneLine(value))
		}
	}
	row("session", h.ID)
	row("directory", state.Dir())
	if place := sessions.PlaceOf(state.Notes); place != nil {
		row("environment", place.String())
	}
	row("model", state.Model+" ("+state.Provider+")")
	row("effort", state.Effort)
	row("state", stateWord(state, writer))
	row("parent", h.Parent)
	row("fork of", h.ForkOf)
	row("checks", checksWord(state))
	row("usage", render.Spent(state.Usage, state.Steps, state.Cost))
	for _, c := range state.Children {
		row("subagent "+c.ID, fmt.Sprintf("%s · %s · session %s", c.Status, render.Shorten(c.Task, 60), c.Session))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, turn := range state.Turns {
		fmt.Fprintf(out, "%4d  %-12s  %s\n", turn.Number, turn.Kind,
			render.Shorten(describeTurn(turn.Message.Parts), 120))
	}
	return out.Flush()
}

// writerOf returns the name of the process that has a session open, or "" if there is none.
func writerOf(ctx context.Context, id string) (string, error) {
	dir, err := sessionStore()
	if err != nil {
		return "", err
	}
	entries, err := dir.List(ctx)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		switch {
		case e.ID != id || !e.Locked:
		case e.PID == 0:
			return "another process", nil
		default:
			return fmt.Sprintf("process %d", e.PID), nil
		}
	}
	return "", nil
}

// stateWord returns the state of a session for a person. writer is the process that has it open.
func stateWord(s *agent.State, writer string) string {
	switch {
	case writer != "" && s.Input == nil:
		return "at rest in " + writer
	case writer != "":
		return "running in " + writer
	case s.Input != nil:
		return "interrupted; to continue it, run: attractor run --resume " + sessions.ShortID(s.Header.ID)
	case s.Last == nil:
		return "no input yet"
	}
	return "idle; last input: " + string(s.Last.Reason)
}

// describeTurn returns the parts of a turn as one text.
func describeTurn(parts llm.Parts) string {
	var all []string
	for _, part := range parts {
		switch p := part.(type) {
		case llm.Text:
			all = append(all, p.Text)
		case llm.ToolCall:
			all = append(all, p.Name+" "+render.Subject(json.RawMessage(p.Args)))
		case llm.ToolResult:
			mark := "✓ "
			if p.IsError {
				mark = "✗ "
			}
			all = append(all, mark+p.Content.Text())
		case llm.Media:
			all = append(all, "[media "+p.MIME+"]")
		}
	}
	return strings.Join(all, " · ")
}

// printEvents prints the events of a session as lines of JSON.
func printEvents(ctx context.Context, t terminal, r journal.Reader) error {
	out := bufio.NewWriter(inForm(t.out, sanitize.JSON))
	v := newView(terminal{out: out, err: t.err}, true, false)
	return errors.Join(agent.Project(ctx, r, masked.Events(environmentSecrets(), v.show)), v.failure(), out.Flush())
}

// replaySession replays a session and shows it as run did.
func replaySession(ctx context.Context, t terminal, r journal.Reader) error {
	v := newView(t, false, true)
	if err := agent.Replay(ctx, r, agent.ReplayOptions{OnEvent: masked.Events(environmentSecrets(),
		v.show)}); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "The replay produced the same %d records.\n", r.Len())
	return nil
}

// exportSession prints a session as Markdown.
func exportSession(ctx context.Context, t terminal, r journal.Reader) error {
	state, err := agent.Load(ctx, r)
	if err != nil {
		return err
	}
	var b strings.Builder
	h := state.Header
	fmt.Fprintf(&b, "# Session %s\n\n- directory: %s\n- model: %s (%s)\n- usage: %s\n", h.ID, state.Dir(), state.Model,
		state.Provider, render.Spent(state.Usage, state.Steps, state.Cost))
	for _, turn := range state.Turns {
		fmt.Fprintf(&b, "\n## %d · %s\n\n", turn.Number, turn.Kind)
		for _, part := range turn.Message.Parts {
			exportPart(&b, part)
		}
	}
	_, err = fmt.Fprint(t.out, b.String())
	return err
}

// exportPart writes a part of a message as Markdown.
func exportPart(b *strings.Builder, part llm.Part) {
	switch p := part.(type) {
	case llm.Text:
		fmt.Fprintf(b, "%s\n\n", strings.TrimSpace(p.Text))
	case llm.Thinking:
		if p.Text != "" {
			fmt.Fprintf(b, "> %s\n\n", strings.ReplaceAll(strings.TrimSpace(p.Text), "\n", "\n> "))
		}
	case llm.ToolCall:
		fmt.Fprintf(b, "**%s**\n\n%s\n\n", p.Name, fenced("", p.Args))
	case llm.ToolResult:
		word := "result"
		if p.IsError {
			word = "error"
		}
		fmt.Fprintf(b, "%s of %s\n\n%s\n\n", word, p.Name, fenced("", p.Content.Text()))
	case llm.Media:
		fmt.Fprintf(b, "[media %s]\n\n", p.MIME)
	}
}

// fenced returns a text in a Markdown fence that is longer than any fence in it. The language may
// be empty.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}
