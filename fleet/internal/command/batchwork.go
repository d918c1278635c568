package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/natsfleet"
	"github.com/attractor-go/attractor/fleet/workspace"
	"github.com/attractor-go/attractor/internal/cli"
	"github.com/attractor-go/attractor/internal/render"
)

// openEngine starts the queue in this process. The caller closes the engine.
func (b *batch) openEngine(ctx context.Context) (err error) {
	budget := fleet.Budget{Tokens: b.budget.Tokens, USD: b.budget.USD}
	if b.engine, err = natsfleet.OpenEmbedded(ctx, filepath.Join(b.state, "queue"), budget); err != nil {
		return err
	}
	if b.space, err = b.engine.Open(ctx, fleet.DefaultTenant); err != nil {
		return errors.Join(err, b.engine.Close())
	}
	return nil
}

// work runs a worker until all tasks have ended.
func (b *batch) work(ctx context.Context) error {
	b.ended = map[string]resultLine{}
	if !b.json {
		b.board = b.newBoard(len(b.tasks))
		b.sessions.events = b.board.event
		defer b.board.close()
	}
	work, stop := context.WithCancel(ctx)
	defer stop()
	worked, submitted, watched := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { worked <- b.runWorker(work) }()
	go func() {
		err := b.submit(work)
		if err != nil {
			stop()
		}
		submitted <- err
	}()
	// The watch ends after the worker, so that it sees the last status of tasks that are given
	// back.
	watch, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	defer unwatch()
	go func() { watched <- b.watch(watch, stop) }()
	err := unlessCanceled(<-worked)
	stop()
	err = errors.Join(err, unlessCanceled(<-submitted))
	unwatch()
	err = errors.Join(err, unlessCanceled(<-watched))
	if b.board != nil {
		b.board.close()
	}
	return b.conclude(context.WithoutCancel(ctx), err)
}

// runWorker runs workers until ctx ends. A worker that has lost its lease, because the machine was
// asleep, is followed by another one.
func (b *batch) runWorker(ctx context.Context) error {
	places, err := workspace.New(b.places)
	if err != nil {
		return err
	}
	for {
		w := &fleet.Worker{Engine: b.engine, Slots: b.jobs, Host: b.sessions.Open, Judge: b.sessions.Judge,
			Workspaces: places, Grace: batchGrace, TTL: batchTTL, MaxDeaths: batchDeaths}
		err := w.Run(ctx)
		if ctx.Err() != nil || !errors.Is(err, fleet.ErrLost) {
			return err
		}
	}
}

const (
	// batchGrace is how long running calls may go on after the first Ctrl-C.
	batchGrace = 20 * time.Second
	// batchTTL is how long the next run waits for the tasks of one that was killed.
	batchTTL = 5 * time.Second
	// batchDeaths is how often a task may be cut off, also by a machine that goes to sleep.
	batchDeaths = 10
)

// watch shows what becomes of the tasks, until all have ended; then it calls done.
func (b *batch) watch(ctx context.Context, done func()) error {
	defer done()
	for s, err := range fleet.NewClient(b.space).Statuses(ctx, "") {
		if err != nil {
			return err
		}
		if _, is := b.byID[s.ID]; !is {
			continue
		}
		if err := b.status(ctx, s); err != nil {
			return err
		}
		if len(b.ended) == len(b.tasks) {
			return nil
		}
		if b.spent {
			done()
		}
	}
	return ctx.Err()
}

// status shows the status of a task. If it is final, status writes the results of the task first.
func (b *batch) status(ctx context.Context, s fleet.Status) error {
	if _, over := b.ended[s.ID]; over {
		return nil
	}
	if s.State.Final() {
		line, err := b.results.write(ctx, s)
		if err != nil {
			b.warn("warning: not all results could be written: %v", err)
		}
		b.ended[s.ID] = line
		b.spent = b.spent || b.overspends(s)
	}
	if b.json {
		return b.printJSON(s)
	}
	b.board.status(s)
	return nil
}

// overspends reports whether a task was stopped by the budget of the batch, and not by one of its
// own.
func (b *batch) overspends(s fleet.Status) bool {
	if s.Result == nil {
		return false
	}
	own := b.byID[s.ID].Budget
	return s.Result.Reason == agent.ReasonBudgetUSD && b.budget.USD > 0 && own.USD == 0 ||
		s.Result.Reason == agent.ReasonBudgetTokens && b.budget.Tokens > 0 && own.Tokens == 0
}

// conclude writes the list of the results, and returns how the batch has ended.
func (b *batch) conclude(ctx context.Context, failed error) error {
	lines := make([]resultLine, 0, len(b.tasks))
	good := 0
	for _, t := range b.tasks {
		line, over := b.ended[t.ID]
		if !over {
			_, s, err := b.space.Tasks.Get(ctx, t.ID)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, err)
			}
			line = resultLine{Status: s}
			line.ID = t.ID
		}
		if line.Done {
			good++
		}
		lines = append(lines, line)
	}
	if err := putLines(b.results, "results.jsonl", lines); err != nil {
		failed = errors.Join(failed, fmt.Errorf("the results: %w", err))
	}
	if err := b.evaluate(lines); err != nil {
		failed = errors.Join(failed, fmt.Errorf("the report: %w", err))
	}
	if !b.json {
		b.warn("%s", b.outcome(good))
	}
	switch {
	case failed != nil:
		return cli.Fail(cli.ExitFailed, "%w", failed)
	case b.spent && len(b.ended) < len(b.tasks):
		return cli.Fail(cli.ExitFailed,
			"the budget of the batch is spent; to go on, run it again with a higher --budget-usd or --budget-tokens, "+
				"and with --retry for those that were stopped")
	case good < len(b.tasks):
		return cli.Silent(cli.ExitFailed)
	}
	return nil
}

// evaluate writes the files of an evaluation: the patches for the harness of SWE-bench, and the
// report.
func (b *batch) evaluate(lines []resultLine) error {
	if b.format == formatSWE {
		if err := b.results.predictions(lines, cmp.Or(b.sessions.config.Model, "attractor")); err != nil {
			return err
		}
	}
	if len(b.report) == 0 {
		return nil
	}
	r := newReport(b.report, b.tasks, b.ended)
	if err := b.results.put("report.md", r.write); err != nil || b.json {
		return err
	}
	return r.write(b.program.out)
}

// outcome returns a line that says how the batch has ended.
func (b *batch) outcome(good int) string {
	parts := []string{fmt.Sprintf("%d of %s done", good, render.Count(len(b.tasks), "task"))}
	if bad := len(b.ended) - good; bad > 0 {
		parts = append(parts, fmt.Sprintf("%d not; to run those again, add --retry", bad))
	}
	if waiting := len(b.tasks) - len(b.ended); waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d unfinished; to go on, run the same command", waiting))
	}
	if usd := b.board.counts().usd; usd > 0 {
		parts = append(parts, render.Money(usd))
	}
	return strings.Join(append(parts, "results in "+b.out), " · ")
}
