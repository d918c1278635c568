package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/cli"
)

// submitFlags holds a task as flags describe it.
type submitFlags struct {
	clientFlags
	task       fleet.Task
	file       string
	repo       fleet.Repo
	labels     []string
	wait, json bool
}

func (p *program) submit() *cobra.Command {
	f := new(submitFlags)
	cmd := &cobra.Command{
		Use:   "submit [flags] [prompt | -]",
		Short: "Submit tasks to the queue",
		Long: `Submit adds a task to the queue, or with --file all tasks of a file, which has a JSON object a line as that of batch (attractor-fleet batch --help),
and says all that a task can say. The prompt - is read from standard input.

--id names the task: a task that is submitted twice runs once, so that a command whose outcome is unknown can be repeated. It prints the ids. With
--wait it waits for the ends of the tasks, and its exit code is 1 unless all are done.

` + connectHelp,
		Example: `  attractor-fleet submit --id fix-1 --repo https://github.com/acme/shop --check "make test" "fix the failing test"
  attractor-fleet submit --file tasks.jsonl --wait
  echo '{"id":"fix-2","prompt":"fix it","deadline":"2030-01-02T15:04:05Z"}' | attractor-fleet submit --file -
  attractor-fleet submit --label team=red --budget-usd 0.50 "write a haiku into haiku.txt" --artifact '*.txt'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			tasks, err := f.tasks(cmd, args, p.in)
			if err != nil {
				return err
			}
			return f.connected(cmd.Context(), func(c *connection) error {
				return p.submitTasks(cmd.Context(), c, f, tasks)
			})
		},
	}
	f.register(cmd.Flags())
	return cmd
}

// taskFlags names the flags that describe a task.
var taskFlags = []string{"id", "repo", "ref", "credential", "dir", "artifact", "environment", "provider", "model",
	"check", "budget-usd", "label"}

func (f *submitFlags) register(flags *pflag.FlagSet) {
	f.clientFlags.register(flags)
	t := &f.task
	flags.StringVar(&f.file, "file", "", "submit the tasks of this JSON lines `file`; - is standard input")
	flags.BoolVar(&f.wait, "wait", false, "wait for the ends of the tasks")
	flags.BoolVar(&f.json, "json", false, "print the status of each task as a line of JSON")
	flags.StringVar(&t.ID, "id", "", "name the task with this `id` (default: a random one)")
	flags.StringVar(&f.repo.URL, "repo", "", "work in a clone of the repository at this `URL`, by https or ssh")
	flags.StringVar(&f.repo.Ref, "ref", "",
		"clone this `branch`, tag or commit (default: the repository's default branch)")
	flags.StringVar(&f.repo.Credential, "credential", "", "workers know what the repository needs by this `name`")
	flags.StringVar(&t.Dir, "dir", "", "work in this `directory` of the worker's machine, if it allows that")
	flags.StringArrayVar(&t.Artifacts, "artifact", nil,
		"keep files that match this `pattern` when the task has ended; can be repeated")
	flags.StringVar(&t.Environment, "environment", "",
		"run commands in the environment with this `name` (default: local)")
	flags.StringVar(&t.Agent.Provider, "provider", "", "use the provider with this `name` (default: the worker's)")
	flags.StringVar(&t.Agent.Model, "model", "", "use the model with this `name` (default: the worker's)")
	flags.StringArrayVar(&t.Agent.Checks, "check", nil,
		"let the task count as done only when this `command` succeeds; can be repeated")
	flags.Float64Var(&t.Budget.USD, "budget-usd", 0,
		"stop before the task spends more than this `amount` of US dollars")
	flags.StringArrayVar(&f.labels, "label", nil, "give the task a label, `name=value`; can be repeated")
}

// tasks returns the tasks that the flags and arguments describe.
func (f *submitFlags) tasks(cmd *cobra.Command, args []string, in io.Reader) ([]fleet.Task, error) {
	if f.file != "" {
		for _, name := range taskFlags {
			if cmd.Flags().Changed(name) {
				return nil, cli.Usage(cmd, fmt.Errorf("--%s describes one task; the tasks of --file have their own",
					name))
			}
		}
		if len(args) > 0 {
			return nil, cli.Usage(cmd, errors.New("the tasks of --file have their prompts"))
		}
		return f.ofFile(in)
	}
	if len(args) != 1 {
		return nil, cli.Usage(cmd, errors.New("pass one prompt, in quotes, or --file"))
	}
	t, err := f.described(args[0], in)
	if err == nil {
		err = t.Check()
	}
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, "%w", err)
	}
	return []fleet.Task{t}, nil
}

// ofFile returns the tasks of --file.
func (f *submitFlags) ofFile(in io.Reader) (tasks []fleet.Task, err error) {
	name := "standard input"
	if f.file != "-" {
		file, err := os.Open(f.file)
		if err != nil {
			return nil, cli.Fail(cli.ExitUsage, "%w", err)
		}
		defer file.Close() // it was only read
		in, name = file, f.file
	}
	if tasks, err = readTasks(in, name, func(t *fleet.Task) error { return t.Check() }); err != nil {
		return nil, cli.Fail(cli.ExitUsage, "%w", err)
	}
	return tasks, nil
}

// described returns the task of the flags.
func (f *submitFlags) described(prompt string, in io.Reader) (t fleet.Task, err error) {
	t = f.task
	if t.Prompt = prompt; prompt == "-" {
		data, err := io.ReadAll(io.LimitReader(in, maxTaskLine))
		if err != nil {
			return t, fmt.Errorf("the prompt: %w", err)
		}
		t.Prompt = string(data)
	}
	t.ID = cmp.Or(t.ID, "t-"+strings.ToLower(rand.Text()[:10]))
	if f.repo != (fleet.Repo{}) {
		if f.repo.URL == "" {
			return t, errors.New("--ref and --credential need --repo")
		}
		t.Repo = &f.repo
	}
	t.Labels, err = parseLabels(f.labels)
	return t, err
}

// submitTasks submits tasks, and with --wait waits for their ends.
func (p *program) submitTasks(ctx context.Context, c *connection, f *submitFlags, tasks []fleet.Task) error {
	for _, t := range tasks {
		s, _, err := c.Submit(ctx, t)
		if err != nil {
			return cli.Fail(cli.ExitFailed, "task %s: %w", t.ID, plain(err))
		}
		if err := p.print(f.json, s, t.ID); err != nil {
			return err
		}
	}
	if !f.wait {
		return nil
	}
	good := true
	for _, t := range tasks {
		s, err := c.Wait(ctx, t.ID)
		if err != nil {
			return cli.Fail(cli.ExitFailed, "task %s: %w", t.ID, err)
		}
		good = good && succeeded(s)
		if f.json {
			err = p.printJSON(s)
		} else {
			style, _ := cli.Look(p.err)
			_, err = fmt.Fprintln(p.err, endLine(style, s))
		}
		if err != nil {
			return err
		}
	}
	if !good {
		return cli.Silent(cli.ExitFailed)
	}
	return nil
}
