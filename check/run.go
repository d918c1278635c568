package check

import (
	"context"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/sanitize"
)

// kept is how many bytes of a command's output are kept at its beginning and at its end.
const (
	keptHead = 4 << 10
	keptTail = 12 << 10
)

// look runs the checks, and says whether the tree was the same before and after. Commands that
// change the tree are run twice, because the second run may find nothing to change any more. The
// error is what kept the tree from being recorded.
func (c *Checks) look(ctx context.Context) (Report, error) {
	var report Report
	before, err := c.o.Tree(ctx)
	for range 2 {
		report = c.runAll(ctx)
		if err != nil || ctx.Err() != nil || report.Status != Verified {
			break
		}
		var after checkpoint.Tree
		if after, err = c.o.Tree(ctx); err != nil {
			break
		}
		if settled(before, after) {
			report.Tree = after.Root
			return report, nil
		}
		report.Why = "the checks, or something beside them, change the tree" + c.names(ctx, before.Root, after.Root)
		before = after
	}
	if report.Status == Verified {
		report.Status = Unverified
	}
	if err != nil && report.Status != Failed {
		report.Why = "the tree cannot be recorded: " + err.Error()
	}
	if err != nil {
		return report, fmt.Errorf("check: the tree cannot be recorded, so nothing can be verified: %w", err)
	}
	return report, nil
}

// settled reports whether two trees are the same and no file was changing while they were recorded.
func settled(before, after checkpoint.Tree) bool {
	return before.Root == after.Root && before.Left.Unsteady.Count == 0 && after.Left.Unsteady.Count == 0
}

// runAll runs the commands until one fails. The status is verified if all have passed.
func (c *Checks) runAll(ctx context.Context) Report {
	report := Report{Status: Verified, Commands: c.o.Commands}
	for _, command := range c.o.Commands {
		run := c.run(ctx, command)
		report.Runs = append(report.Runs, run)
		switch {
		case run.Error != "":
			report.Status, report.Why = Unverified, fmt.Sprintf("%q %s", command, run.outcome())
		case !run.passed():
			report.Status, report.Why = Failed, fmt.Sprintf("%q: %s", command, run.outcome())
		default:
			continue
		}
		break
	}
	return report
}

// run runs a command and ends what it leaves running.
func (c *Checks) run(ctx context.Context, command string) Run {
	output := capture.New(capture.Options{Head: keptHead, Tail: keptTail})
	result, err := env.Run(ctx, c.o.Env, env.Command{Script: command, Output: output.Write}, c.o.Timeout)
	run := Run{Command: command, Exit: result.Exit, TimedOut: result.TimedOut}
	if err == nil && result.Process != nil && !result.TimedOut {
		// a server that goes on would change the tree, or hold a port at the next run
		err = result.Process.Kill(context.WithoutCancel(ctx))
	}
	if err != nil {
		run.Error = err.Error()
	}
	run.Output = sanitize.Text(c.o.Mask(output.Text()))
	return run
}

// names returns the names that differ between two trees as the end of a sentence.
func (c *Checks) names(ctx context.Context, before, after env.Hash) string {
	if c.o.Changed == nil || before == after {
		return ""
	}
	list, err := c.o.Changed(ctx, before, after)
	if err != nil || len(list) == 0 {
		return ""
	}
	const most = 5
	if n := len(list) - most; n > 0 {
		list = append(list[:most:most], fmt.Sprintf("and %d more", n))
	}
	return ": " + strings.Join(list, ", ")
}
