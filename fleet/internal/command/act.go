package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/cli"
	"github.com/attractor-go/attractor/sanitize"
)

// actTime bounds how long commands wait for a task that has no worker at the moment. It is the
// default of --wait.
const actTime = time.Minute

// client completes a command of a tenant that calls do.
func (p *program) client(cmd *cobra.Command,
	do func(ctx context.Context, c *connection, args []string) error) *cobra.Command {
	var f clientFlags
	cmd.Long += "\n\n" + connectHelp
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.connected(cmd.Context(), func(c *connection) error { return taskError(do(cmd.Context(), c, args)) })
	}
	f.register(cmd.Flags())
	return cmd
}

// act completes a command of a tenant that calls do for a task. Its first argument is the task's
// id.
func (p *program) act(cmd *cobra.Command,
	do func(ctx context.Context, c *connection, args []string) error) *cobra.Command {
	var wait time.Duration
	p.client(cmd, func(ctx context.Context, c *connection, args []string) error {
		ctx, cancel := context.WithTimeoutCause(ctx, wait,
			fmt.Errorf("no worker has answered within %v (--wait)", wait))
		defer cancel()
		return do(ctx, c, args)
	})
	cmd.Flags().DurationVar(&wait, "wait", actTime, "wait this `duration` for a worker that has the task")
	return cmd
}

// plainError is an error without the name of its package, and without the text of the kind that it
// wraps.
type plainError struct{ err error }

// plain returns err as a plainError.
func plain(err error) error { return plainError{err} }

func (e plainError) Error() string {
	text := strings.TrimPrefix(e.err.Error(), "fleet: ")
	for _, kind := range []error{fs.ErrNotExist, fs.ErrClosed} {
		text = strings.TrimSuffix(text, ": "+kind.Error())
	}
	return text
}

func (e plainError) Unwrap() error { return e.err }

// taskError adds to the error of a call about a task what to do about it, and its exit code.
func taskError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return cli.Fail(cli.ExitUsage, "%w\nTo see the tasks, run: attractor-fleet list", plain(err))
	case errors.Is(err, fs.ErrClosed), errors.Is(err, fleet.ErrAnswered):
		return cli.Fail(cli.ExitFailed, "%w", plain(err))
	}
	return err
}

func (p *program) steer() *cobra.Command {
	var key string
	cmd := p.act(&cobra.Command{
		Use:   "steer [flags] <id> <text>",
		Short: "Give a running task a message",
		Long: `Steer gives a task a message, which the model reads before its next step. If nobody works on the task at the moment, it waits for a worker. With
--key, a message that was given already is not given again, so that a command whose outcome is unknown can be repeated.`,
		Example: `  attractor-fleet steer fix-1 "the test is in pkg/auth, not in pkg/login"`,
		Args:    takes(2, "the id of the task", "the text"),
	}, func(ctx context.Context, c *connection, args []string) error {
		if strings.TrimSpace(args[1]) == "" {
			return cli.Fail(cli.ExitUsage, "the text is empty")
		}
		return c.Steer(ctx, args[0], args[1], key)
	})
	cmd.Flags().StringVar(&key, "key", "", "a message with this `name` is given once, however often the command is run")
	return cmd
}

func (p *program) interrupt() *cobra.Command {
	return p.act(&cobra.Command{
		Use:   "interrupt [flags] <id>",
		Short: "End what a task is doing",
		Long:  `Interrupt ends what a task is doing. The task ends as interrupted and keeps what it has done.`,
		Args:  takes(1, "the id of the task"),
	}, func(ctx context.Context, c *connection, args []string) error { return c.Interrupt(ctx, args[0]) })
}

func (p *program) cancel() *cobra.Command {
	return p.act(&cobra.Command{
		Use:     "cancel [flags] <id>...",
		Short:   "End tasks for good",
		Long:    `Cancel ends tasks for good, whether they run or wait. A task that has ended stays as it is.`,
		Example: `  attractor-fleet cancel fix-1 fix-2`,
		Args:    atLeastOne("the id of a task"),
	}, func(ctx context.Context, c *connection, args []string) error {
		var errs []error
		for _, id := range args {
			if err := c.Cancel(ctx, id); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", id, plain(err)))
			}
		}
		return errors.Join(errs...)
	})
}

// decide returns the commands approve and deny.
func (p *program) decide(name, short, long string, allow bool) *cobra.Command {
	var reason string
	cmd := p.act(&cobra.Command{
		Use:   name + " [flags] <id> [ask]",
		Short: short,
		Long: long + " Without the id of the ask, it is the only one that the task waits with. attractor-fleet " +
			"asks lists them.",
		Example: "  attractor-fleet " + name + " fix-1",
		Args:    takes(1, "the id of the task", "the id of the ask"),
	}, func(ctx context.Context, c *connection, args []string) error {
		ask, err := c.find(ctx, fleet.AskApproval, args)
		if err != nil {
			return err
		}
		return c.Answer(ctx, args[0], ask.ID, fleet.Answer{Allow: allow, Text: reason, By: user()})
	})
	if !allow {
		cmd.Flags().StringVar(&reason, "reason", "", "tell the model this `text`")
	}
	return cmd
}

func (p *program) approve() *cobra.Command {
	return p.decide("approve", "Allow a call that a task asks about",
		"Approve lets a call run that needs a person's approval.", true)
}

func (p *program) deny() *cobra.Command {
	return p.decide("deny", "Refuse a call that a task asks about",
		"Deny refuses a call that needs a person's approval. The task goes on without it.", false)
}

func (p *program) answer() *cobra.Command {
	var value, ask string
	var decline bool
	cmd := p.act(&cobra.Command{
		Use:   "answer [flags] <id> [text]",
		Short: "Answer a question of a task",
		Long: `Answer answers a question of the model. A question with a form takes a JSON object with --value. Without --ask, it is the only question that the
task waits with. attractor-fleet asks lists them.`,
		Example: `  attractor-fleet answer fix-1 "use the second one"
  attractor-fleet answer fix-1 --value '{"version":"2.1"}'`,
		Args: takes(1, "the id of the task", "the text"),
	}, func(ctx context.Context, c *connection, args []string) error {
		a := fleet.Answer{Decline: decline, By: user()}
		if value != "" {
			if a.Value = json.RawMessage(value); !json.Valid(a.Value) {
				return cli.Fail(cli.ExitUsage, "--value is not valid JSON")
			}
		}
		if len(args) > 1 {
			a.Text = args[1]
		}
		if a.Text == "" && a.Value == nil && !decline {
			return cli.Fail(cli.ExitUsage, "there is no answer: pass a text, --value or --decline")
		}
		find := args[:1]
		if ask != "" {
			find = []string{args[0], ask}
		}
		found, err := c.find(ctx, fleet.AskQuestion, find)
		if err != nil {
			return err
		}
		return c.Answer(ctx, args[0], found.ID, a)
	})
	cmd.Flags().StringVar(&ask, "ask", "", "answer the question with this `id`")
	cmd.Flags().StringVar(&value, "value", "", "answer with this `JSON`")
	cmd.Flags().BoolVar(&decline, "decline", false, "refuse to answer")
	return cmd
}

// user returns the name of the user who answers.
func user() string { return cmp.Or(os.Getenv("USER"), "somebody") }

// find returns the ask that the arguments name: a task, and the id of an ask or nothing.
func (c *connection) find(ctx context.Context, kind fleet.AskKind, args []string) (fleet.Ask, error) {
	var found []fleet.Ask
	for ask, err := range c.Asked(ctx, args[0]) {
		if err != nil {
			return fleet.Ask{}, err
		}
		if len(args) > 1 && ask.ID == args[1] {
			return ask, nil
		}
		if len(args) == 1 && ask.Kind == kind {
			found = append(found, ask)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(args) > 1:
		return fleet.Ask{}, cli.Fail(cli.ExitUsage,
			"the task %s does not wait with the ask %s; to see what waits, run: attractor-fleet asks %s", args[0],
			args[1], args[0])
	case len(found) == 0:
		return fleet.Ask{}, cli.Fail(cli.ExitUsage, "the task %s waits with no %s", args[0], kind)
	}
	return fleet.Ask{}, cli.Fail(cli.ExitUsage,
		"the task %s waits with %d asks; name one of those that this lists: attractor-fleet asks %s", args[0],
		len(found), args[0])
}

func (p *program) asks() *cobra.Command {
	var asJSON bool
	cmd := p.act(&cobra.Command{
		Use:     "asks [flags] [id]",
		Short:   "List what tasks ask of people",
		Long:    `Asks lists what tasks wait for: calls that need an approval (approve, deny), and questions of the model (answer).`,
		Example: `  attractor-fleet asks --json | jq -r '.task + " " + .id'`,
		Args:    cobra.MaximumNArgs(1),
	}, func(ctx context.Context, c *connection, args []string) error {
		for ask, err := range c.Asked(ctx, strings.Join(args, "")) {
			if err != nil {
				return err
			}
			text := fmt.Sprintf("%s  %s  %s\n%s", ask.Task, ask.ID, ask.Kind, indent(sanitize.Text(ask.Text)))
			if err := p.print(asJSON, ask, text); err != nil {
				return err
			}
		}
		return nil
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each ask as a line of JSON")
	return cmd
}

// indent indents each line of a text.
func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
