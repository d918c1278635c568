package env

import (
	"context"
	"errors"
	"time"

	"github.com/attractor-go/attractor/env/capture"
)

// The default and the maximum time of a command.
const (
	DefaultTimeout = 10 * time.Second
	MaxTimeout     = 600 * time.Second
)

// Result describes a command that Run has run to its end or killed.
type Result struct {
	Exit
	// TimedOut reports that the command was killed because its time was over.
	TimedOut bool `json:"timed_out,omitempty"`
	// Timeout is the time that it had.
	Timeout time.Duration `json:"timeout"`
	// Process is the command itself, for killing the processes that it left running. It is nil if
	// the command did not start.
	Process Process `json:"-"`
}

// Run starts a command and waits for its end. If its time is over or ctx ends, Run kills all its
// processes and returns when they are gone. A timeout of zero or less means DefaultTimeout; the
// maximum is MaxTimeout.
//
// A command that fails, is killed by a signal or runs out of time is not an error. An error comes
// from starting or waiting, or is the cause of ctx's end; then the result still has the exit.
func Run(ctx context.Context, e Environment, cmd Command, timeout time.Duration) (Result, error) {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	result := Result{Timeout: min(timeout, MaxTimeout)}
	p, err := e.Start(ctx, cmd)
	if err != nil {
		return result, err
	}
	result.Process = p
	timed, cancel := context.WithTimeout(ctx, result.Timeout)
	defer cancel()
	if result.Exit, err = p.Wait(timed); err == nil {
		return result, nil
	}
	if errors.Is(err, ErrLost) { // whoever has started the processes ends them
		return result, err
	}
	// Kill the processes even if ctx has ended.
	unhurried := context.WithoutCancel(ctx)
	killErr := p.Kill(unhurried)
	if timed.Err() == nil { // the environment failed, so there is no exit
		return result, errors.Join(err, killErr)
	}
	if killErr != nil { // a process that could not be killed may never end
		return result, errors.Join(context.Cause(ctx), killErr)
	}
	if result.Exit, err = p.Wait(unhurried); err != nil {
		return result, errors.Join(context.Cause(ctx), err)
	}
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	result.TimedOut = true
	return result, nil
}

// Output runs a command as [Run] does, and returns what it has printed on both streams, as valid
// UTF-8. Long output is cut to its first and last 4 MiB, around a line that says how much is
// omitted. To keep another part, or to see output as it comes, give [Run] a command with an Output,
// such as the Write of a [capture.Buffer]. Cmd.Output is not called.
func Output(ctx context.Context, e Environment, cmd Command, timeout time.Duration) (string, Result, error) {
	var output capture.Buffer
	cmd.Output = output.Write
	result, err := Run(ctx, e, cmd, timeout)
	return output.Text(), result, err
}
