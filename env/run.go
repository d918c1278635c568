package env

import (
	"context"
	"errors"
	"time"
)

// How long one command may take: unless told otherwise, and at most.
const (
	DefaultTimeout = 10 * time.Second
	MaxTimeout     = 600 * time.Second
)

// Result is how a command that was run to its end, or to the end of its time, came out.
type Result struct {
	Exit
	// TimedOut says that the command was killed because its time was over.
	TimedOut bool `json:"timed_out,omitempty"`
	// Timeout is the time that it was given.
	Timeout time.Duration `json:"timeout"`
	// Process is the command itself, by which what it left running can be killed; nil when it did not start.
	Process Process `json:"-"`
}

// Run starts a command and waits for its end. When its time is over or ctx ends, its whole tree is killed, and Run is back
// when it is gone. A timeout of zero or less means DefaultTimeout, and MaxTimeout is the most.
//
// A command that fails, is killed by a signal or runs out of time is no error. An error is one of starting or waiting, or,
// with the exit in the result, the cause of ctx's end.
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
	// The tree has to go also when nobody waits for the result any more.
	unhurried := context.WithoutCancel(ctx)
	killErr := p.Kill(unhurried)
	if timed.Err() == nil { // the environment failed, so there is no exit to wait for
		return result, errors.Join(err, killErr)
	}
	if killErr != nil { // what would not die may never end
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
