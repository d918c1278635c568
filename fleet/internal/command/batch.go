package command

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/workspace"
	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/cli"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// batch runs the tasks of a file.
type batch struct {
	*program
	placeFlags
	places workspace.Options
	flags  cli.SessionFlags
	file   string
	format string
	repos  string // of the format swe-bench
	tests  string // the same
	// environment is that of tasks that name none.
	environment string
	report      []string
	out         string
	state       string
	named       bool // by the user: the state
	jobs        int
	json        bool
	retry       bool
	budget      agent.Budget

	engine   fleet.Engine
	space    *fleet.Space
	sessions *sessions
	board    *board // nil with --json
	results  *results
	tasks    []fleet.Task
	byID     map[string]fleet.Task
	fresh    []fleet.Task // of tasks: those that were not submitted in an earlier run
	ended    map[string]resultLine
	spent    bool // the budget of the batch
}

const batchHelp = `Batch runs the tasks of a file, each a session of its own as attractor run has it, several at a time, in one process. It needs no server.

A task is a JSON object on a line of its own:

  {"id":"fix-1","prompt":"fix the failing test","repo":{"url":"https://github.com/acme/shop","ref":"main"}}
  {"id":"doc-2","prompt":"document the flags","dir":"/home/me/project","budget":{"usd":0.5},"artifacts":["docs/**"]}

id names the task, and prompt says what to do. It works in a clone of repo, in the directory dir, or in an empty one. Further fields are include,
artifacts, environment, agent (profile, provider, model, effort, max_turns, schema, checks, instructions), budget (tokens, usd, time), deadline,
labels, and eval (files, patch, check, answer, time), which judges what the agent has left. The flags hold for all tasks; --budget-usd and
--budget-tokens for all tasks together.

Nobody is asked: choose with --yes, --read-only, --mode, --rules or --allow-tool what becomes of calls that need permission.

The results are in the directory --out: results.jsonl has a line for each task, and tasks/ID the session, the patch and the artifacts.
Clones use your own git credentials. When it is interrupted or killed, the same command goes on where it was, and what is done stays done. --retry
runs those again that were not done.

` + placesHelp + `

A task that fails does not stop the others. The exit code is 0 when all tasks are done, 1 otherwise, 2 for a wrong command line or file, 4
without the key of a provider, and 128+n after the signal n.`

func (p *program) batch() *cobra.Command {
	b := &batch{program: p}
	cmd := &cobra.Command{
		Use:   "batch [flags] <tasks.jsonl | ->",
		Short: "Run the tasks of a file on this machine",
		Long:  batchHelp,
		Example: `  attractor-fleet batch tasks.jsonl --yes
  attractor-fleet batch tasks.jsonl --yes --jobs 8 --budget-usd 20 --sandbox workspace
  attractor-fleet batch tasks.jsonl --yes --json | jq -r 'select(.state=="done") | .id'
  attractor-fleet batch instances.jsonl --format swe-bench --yes --sandbox workspace --report model
  generate-tasks | attractor-fleet batch - --read-only --out review`,
		Args: takes(1, "the file of tasks"),
		RunE: func(cmd *cobra.Command, args []string) error {
			b.file = args[0]
			return b.run(cmd)
		},
	}
	flags := cmd.Flags()
	b.flags.Register(flags)
	flags.Lookup("budget-usd").Usage = "stop before all tasks together spend more than this `amount` of US dollars"
	flags.Lookup("budget-tokens").Usage = "stop before all tasks together use more than `n` tokens"
	b.placeFlags.register(flags)
	flags.IntVar(&b.jobs, "jobs", 4, "run `n` tasks at a time")
	flags.StringVar(&b.format, "format", formatTasks, "read the tasks in this `format`: "+strings.Join(formats, ", "))
	flags.StringVar(&b.environment, "environment", "", "run tasks that name no environment in the one of this `name`")
	flags.StringVar(&b.repos, "repos", "https://github.com/", "clone repositories of swe-bench from this `place`, "+
		"behind which their names follow")
	flags.StringVar(&b.tests, "tests", "",
		"judge a task of swe-bench by this `command`, in which {tests} stands for the names of its tests")
	flags.StringSliceVar(&b.report, "report", nil,
		"print how many tasks have passed, their cost and time, by these `keys`: model, provider, effort, profile, "+
			"environment, label:NAME; and write it to report.md")
	flags.StringVar(&b.out, "out", "",
		"write the results to this `directory` (default: the name of the file, with .results instead of .jsonl, in "+
			"the current directory)")
	flags.StringVar(&b.state, "state", "",
		"keep the state of the batch in this `directory` (default: state in that of the results)")
	flags.BoolVar(&b.retry, "retry", false,
		"run those tasks again, from the beginning, that were not done in an earlier run")
	flags.BoolVar(&b.json, "json", false, "print the status of a task as a line of JSON each time that it changes")
	return cmd
}

// run reads the tasks and runs them.
func (b *batch) run(cmd *cobra.Command) error {
	if b.jobs < 1 {
		return cli.Usage(cmd, fmt.Errorf("--jobs must be at least 1, not %d", b.jobs))
	}
	if !slices.Contains(formats, b.format) {
		return cli.Usage(cmd, fmt.Errorf("--format: there is no %q; the formats are %s", b.format,
			strings.Join(formats, ", ")))
	}
	if err := checkKeys(b.report); err != nil {
		return cli.Usage(cmd, err)
	}
	config, err := b.flags.Config(cmd.Flags(), false)
	if err != nil {
		return err
	}
	if err := b.read(); err != nil {
		return cli.Fail(cli.ExitUsage, "%w", err)
	}
	if err := b.choosePlaces(); err != nil {
		return cli.Fail(cli.ExitUsage, "%w", err)
	}
	b.places = workspace.Options{Dir: filepath.Join(b.state, "workspaces"), AllowDir: true, OwnCredentials: true}
	if err := b.placeFlags.read(&b.places); err != nil {
		return cli.Fail(cli.ExitUsage, "%w", err)
	}
	b.budget = b.flags.Budget()
	b.sessions = &sessions{config: config, flags: &b.flags, shared: true, state: b.state}
	if err := b.sessions.check(cmd.Context()); err != nil {
		return err
	}
	if slices.ContainsFunc(b.tasks, func(t fleet.Task) bool { return t.Agent.Provider == "" }) {
		if err := config.CheckProvider(); err != nil {
			return cli.HostError(err)
		}
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write, which gives the tasks back
	stopper := cli.NewStopper(b.err, cancel, b.sessions.kill)
	defer stopper.Stop()
	err = b.runTasks(ctx)
	if code := stopper.Stop(); code != 0 {
		return cli.Fail(code, "%w", errors.Join(errors.New("stopped by a signal; to go on, run the same command again"),
			unlessCanceled(err)))
	}
	return err
}

// unlessCanceled returns an error that is not just the end of the context.
func unlessCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// read reads the tasks.
func (b *batch) read() (err error) {
	if b.format == formatTerminal {
		b.tasks, err = terminalBench(b.file, b.complete)
		return err
	}
	in, name := b.program.in, "standard input"
	if b.file != "-" {
		f, err := os.Open(b.file)
		if err != nil {
			return fmt.Errorf("cannot read the tasks: %w", err)
		}
		defer f.Close() // it was only read
		in, name = f, b.file
	}
	if b.format == formatSWE {
		instances := sweBench{repos: b.repos, tests: b.tests}
		b.tasks, err = readLines(in, name,
			func(line []byte) (fleet.Task, []error) { return instances.task(line, b.complete) })
		return err
	}
	b.tasks, err = readTasks(in, name, b.complete)
	return err
}

// complete completes a task for this machine, and checks it.
func (b *batch) complete(t *fleet.Task) error {
	t.Environment = cmp.Or(t.Environment, b.environment)
	return completeHere(t)
}

// completeHere completes a task for this machine, on which its directories are relative to the
// current one, and checks it.
func completeHere(t *fleet.Task) error {
	if err := placeHere(t); err != nil {
		return err
	}
	checked := *t
	if t.Repo != nil && isLocal(t.Repo.URL) {
		repo := *t.Repo
		repo.URL = "https://localhost/" // a fleet's tasks cannot have what is here
		checked.Repo = &repo
	}
	return checked.Check()
}

// placeHere makes the directories of a task absolute, and checks that they exist.
func placeHere(t *fleet.Task) (err error) {
	if t.Tenant != "" && t.Tenant != fleet.DefaultTenant {
		return fmt.Errorf("tenant: a batch has no tenants; leave it out, or submit the task to a queue with " +
			"attractor-fleet submit")
	}
	if t.Dir != "" {
		if t.Dir, err = filepath.Abs(t.Dir); err != nil {
			return err
		}
		if info, err := os.Stat(t.Dir); err != nil || !info.IsDir() {
			return fmt.Errorf("dir: there is no directory %s", t.Dir)
		}
	}
	if t.Repo != nil && isLocal(t.Repo.URL) && !strings.HasPrefix(t.Repo.URL, "file:") {
		if t.Repo.URL, err = filepath.Abs(t.Repo.URL); err != nil {
			return err
		}
		if _, err := os.Stat(t.Repo.URL); err != nil {
			return fmt.Errorf("repo.url: there is no repository at %s", t.Repo.URL)
		}
	}
	return nil
}

// isLocal reports whether the URL of a repository is on this machine: a file: URL, or a path by the
// rule of git, without a colon before the first slash.
func isLocal(url string) bool {
	first, _, _ := strings.Cut(url, "/")
	return url != "" && (first == "file:" || !strings.Contains(first, ":"))
}

// choosePlaces chooses the directories of the results and of the state, and makes them.
func (b *batch) choosePlaces() (err error) {
	if b.out == "" {
		base := strings.TrimSuffix(filepath.Base(b.file), ".jsonl")
		if b.file == "-" {
			base = "batch"
		}
		b.out = base + ".results"
	}
	if b.named = b.state != ""; !b.named {
		b.state = filepath.Join(b.out, "state")
	}
	for _, name := range []string{b.out, b.state, filepath.Join(b.state, lockName), b.mark()} {
		if err := cli.NoLink(name); err != nil {
			return err
		}
	}
	for _, dir := range []*string{&b.out, &b.state} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return fmt.Errorf("the directory of the results: %w", err)
	}
	if err := os.MkdirAll(b.state, 0o700); err != nil {
		return fmt.Errorf("the directory of the state: %w", err)
	}
	return nil
}

// runTasks runs all tasks to their ends, or until ctx ends, and writes the results.
func (b *batch) runTasks(ctx context.Context) (err error) {
	unlock, err := lockDir(b.state)
	if err != nil {
		return cli.Fail(cli.ExitFailed, "%w", err)
	}
	defer unlock()
	if err := b.claim(); err != nil {
		return cli.Fail(cli.ExitUsage, "%w", err)
	}
	if err := b.openEngine(ctx); err != nil {
		return cli.Fail(cli.ExitFailed, "the state in %s: %w", b.state, err)
	}
	defer func() { err = errors.Join(err, b.engine.Close()) }()
	if b.results, err = openResults(b.out, b.space); err != nil {
		return cli.Fail(cli.ExitFailed, "the results: %w", err)
	}
	defer func() { err = errors.Join(err, b.results.close()) }()
	if err := b.prepare(ctx); err != nil {
		return err
	}
	return b.work(ctx)
}

// claim returns an error for a state that this user's batches have not begun here and that the user
// has not named. A repository may bring one, whose tasks and sessions would count. A number in the
// state, and among the user's own files, says which are theirs.
func (b *batch) claim() error {
	home, err := userfiles.StateDir(os.Getenv)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(b.state)
	if err != nil {
		return err
	}
	mark := b.mark()
	own := filepath.Join(home, "attractor", "batches", string(env.HashOf([]byte(b.state))))
	if len(entries) == 1 { // the lock
		number := []byte(rand.Text())
		if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
			return err
		}
		return errors.Join(atomicfile.Write(own, number), atomicfile.Write(mark, number))
	}
	here, err := userfiles.Read(mark, maxMark)
	known, errKnown := userfiles.Read(own, maxMark)
	if !b.named && (err != nil || errKnown != nil || !bytes.Equal(here, known)) {
		return fmt.Errorf("the state in %[1]s was not begun here by you, and may be the repository's: remove it, or "+
			"pass another directory with --out; if you know it, go on with --state %[1]s", b.state)
	}
	return nil
}

// mark returns the name of the file in the state that says whose the state is.
func (b *batch) mark() string { return filepath.Join(b.state, "mark") }

// maxMark is the most bytes of a mark that are read.
const maxMark = 100

// prepare compares the tasks with those of an earlier run. It sets fresh to the new ones.
func (b *batch) prepare(ctx context.Context) error {
	b.byID = map[string]fleet.Task{}
	for _, t := range b.tasks {
		b.byID[t.ID] = t
	}
	var others, again []string
	known := map[string]bool{}
	for s, err := range b.space.Tasks.List(ctx) {
		_, is := b.byID[s.ID]
		switch {
		case err != nil:
			return cli.Fail(cli.ExitFailed, "the tasks of the earlier run: %w", err)
		case !is && !s.State.Final():
			others = append(others, s.ID)
		case is && b.retry && s.State.Final() && !succeeded(s):
			again = append(again, s.ID)
		case is:
			known[s.ID] = true
		}
	}
	if len(others) > 0 {
		slices.Sort(others)
		return cli.Fail(cli.ExitUsage,
			"%s has %s that %s does not have: %s\nAdd them, or pass another directory with --out.", b.state,
			render.Count(len(others), "unfinished task"), b.file, shortList(others))
	}
	if len(again) > 0 {
		if err := errors.Join(b.results.remove(again), b.space.Tasks.Remove(ctx, again...)); err != nil {
			return cli.Fail(cli.ExitFailed, "--retry: %w", err)
		}
	}
	var different []string
	for _, t := range b.tasks {
		if !known[t.ID] {
			b.fresh = append(b.fresh, t)
			continue
		}
		_, _, err := b.space.Tasks.Submit(ctx, t)
		if errors.Is(err, fleet.ErrDifferent) {
			different = append(different, t.ID)
		} else if err != nil {
			return cli.Fail(cli.ExitFailed, "task %s: %w", t.ID, err)
		}
	}
	if len(different) > 0 {
		return cli.Fail(cli.ExitUsage,
			"other tasks with these ids were run before, with results in %s: %s\nAdd --retry if they were not done, "+
				"give them new ids, or pass another directory with --out.", b.out, shortList(different))
	}
	return nil
}

// submit submits the new tasks in the order of the file, while the first of them run: each waits
// for the disk. It uses no fleet.Client, which refuses a task whose deadline is over: such a task
// fails, and does not stop the others.
func (b *batch) submit(ctx context.Context) error {
	for _, t := range b.fresh {
		if _, _, err := b.space.Tasks.Submit(ctx, t); err != nil {
			return fmt.Errorf("task %s: %w", t.ID, err)
		}
	}
	return nil
}

// shortList returns the first words of a list, with commas.
func shortList(list []string) string {
	const most = 10
	if more := len(list) - most; more > 0 {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(list, ", ")
}
