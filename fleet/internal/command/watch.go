package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/cli"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/sanitize"
)

func (p *program) watch() *cobra.Command {
	var f clientFlags
	var all, asJSON bool
	var from int64
	cmd := &cobra.Command{
		Use:   "watch [flags] <id | --all>",
		Short: "Show what happens in a task",
		Long: `Watch shows a task from its beginning to its end, as attractor run shows a session, whichever workers it has. With --all it shows each change of
the status of all tasks. When the connection was lost it says so on standard error, and goes on. The exit code is 0 when the task is done, and 1 otherwise.

With --json each line is an object: with event and n, the number of the record in the session's journal, or with status. An event without n is a
piece of one that comes later. After a line with n and without more, --from N+1 goes on behind it.

` + connectHelp,
		Example: `  attractor-fleet watch fix-1
  attractor-fleet watch --all --json | jq -c '[.id, .state]'`,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) == 1) || len(args) > 1 {
				return errors.New("pass the id of a task, or --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if from < 1 {
				return cli.Usage(cmd, fmt.Errorf("--from must be at least 1, not %d", from))
			}
			ctx := cmd.Context()
			f.changed = p.tellConnection
			return f.connected(ctx, func(c *connection) error {
				if all {
					return taskError(p.watchAll(ctx, c, asJSON))
				}
				return taskError(p.watchTask(ctx, c, args[0], from, asJSON))
			})
		},
	}
	f.register(cmd.Flags())
	cmd.Flags().BoolVar(&all, "all", false, "show the changes of all tasks, until Ctrl-C")
	cmd.Flags().Int64Var(&from, "from", 1, "begin with the record `n` of the session's journal")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print everything as lines of JSON")
	return cmd
}

// tellConnection tells that the connection was lost, or that it is back.
func (p *program) tellConnection(lost bool) {
	if lost {
		p.warn("the connection to the servers is lost; trying again until it is back, or until Ctrl-C")
		return
	}
	p.warn("the connection to the servers is back")
}

// watchTask shows one task.
func (p *program) watchTask(ctx context.Context, c *connection, id string, from int64, asJSON bool) error {
	s := p.newScreen()
	for u, err := range c.Watch(ctx, id, from) {
		switch {
		case err != nil:
			return err
		case asJSON:
			err = p.printJSON(u)
		default:
			err = s.update(u)
		}
		if err != nil {
			return err
		}
		if u.Status != nil && u.Status.State.Final() && !succeeded(*u.Status) {
			return cli.Silent(cli.ExitFailed)
		}
	}
	return nil
}

// screen shows a session of the fleet as attractor run shows one.
type screen struct {
	out     io.Writer
	style   render.Style
	session *render.Session
	last    string         // the line about the last status
	live    map[int]string // the text of each block of the answer that was shown before its fact came
}

func (p *program) newScreen() *screen {
	style, file := cli.Look(p.out)
	style.Rich = file != nil
	return &screen{out: cli.In(p.out, sanitize.Coloured), style: style, session: render.NewSession(style),
		live: map[int]string{}}
}

// update shows an update.
func (s *screen) update(u fleet.Update) error {
	if u.Status != nil {
		return s.status(*u.Status)
	}
	ev, err := agent.UnmarshalEvent(u.Event)
	if errors.Is(err, agent.ErrUnknownKind) { // of a newer worker
		return nil
	}
	if err != nil {
		return fmt.Errorf("an event of the task: %w", err)
	}
	for _, ev := range s.unseen(ev, u.N == 0) {
		if _, err := io.WriteString(s.out, s.session.Event(ev)); err != nil {
			return err
		}
	}
	return nil
}

// unseen returns an event without the text that was shown live. If another text was shown, such as
// that of an answer that broke off, or if pieces were lost, an event that discards it comes first.
func (s *screen) unseen(ev agent.Event, live bool) []agent.Event {
	switch e := ev.(type) {
	case *agent.AssistantTextDelta:
		if live {
			s.live[e.Block] += e.Text
			return []agent.Event{ev}
		}
		rest, ok := strings.CutPrefix(e.Text, s.live[e.Block])
		delete(s.live, e.Block)
		if !ok {
			return []agent.Event{&agent.AssistantTextEnd{Discarded: true}, ev}
		}
		unseen := *e
		unseen.Text = rest
		return []agent.Event{&unseen}
	case *agent.StepEnd:
		clear(s.live)
	}
	return []agent.Event{ev}
}

// status prints a line about a status, unless it is the same as the last one.
func (s *screen) status(status fleet.Status) error {
	line := statusLine(s.style, status)
	if line == s.last {
		return nil
	}
	s.last = line
	_, err := fmt.Fprintln(s.out, line)
	return err
}

// statusLine returns a line about a status, with more of it unless it is final. Without more, it
// changes only with the status, and not with time.
func statusLine(style render.Style, s fleet.Status, more ...string) string {
	if s.State.Final() {
		return endLine(style, s)
	}
	text := fmt.Sprintf("· %s  %s", s.ID, s.State)
	if s.State == fleet.Running {
		text += " on " + s.Worker
	}
	for _, part := range more {
		text += " · " + part
	}
	if s.Waits {
		text += " · waits for an answer: attractor-fleet asks " + s.ID
	}
	if s.State == fleet.Paused && !s.NotBefore.IsZero() {
		text += " until " + s.NotBefore.Local().Format(time.TimeOnly)
	}
	if s.Reason != "" {
		text += " · " + render.OneLine(s.Reason)
	}
	if style.Width > 0 {
		text = render.Fit(text, style.Width)
	}
	return text
}

// watchAll shows the changes of all tasks until ctx ends.
func (p *program) watchAll(ctx context.Context, c *connection, asJSON bool) error {
	style, _ := cli.Look(p.out)
	last := map[string]string{} // by task: a status may come again
	for s, err := range c.Statuses(ctx, "") {
		line := statusLine(style, s)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case asJSON:
			err = p.printJSON(s)
		case last[s.ID] != line:
			last[s.ID] = line
			_, err = fmt.Fprintln(p.out, line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *program) view() *cobra.Command {
	var port int
	cmd := p.client(&cobra.Command{
		Use:   "view [flags] [id]",
		Short: "Show the sessions of tasks in a browser",
		Long: `View serves a page on this machine that shows the sessions of the tenant's tasks, while they run and afterwards: each step, tool call, output and
change, what they cost and where their time went. It is the page of attractor view. It prints its URL and serves until Ctrl-C.`,
		Example: `  attractor-fleet view fix-1`,
		Args:    cobra.MaximumNArgs(1),
	}, func(ctx context.Context, c *connection, args []string) error {
		return cli.View(ctx, p.out, p.err, c.space.Journals, port, strings.Join(args, ""))
	})
	cmd.Flags().IntVar(&port, "port", 0, "listen on this `port`; 0 takes any that is free")
	return cmd
}
