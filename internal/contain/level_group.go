//go:build unix && !linux

package contain

import (
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// Level starts commands in process groups, the only level on this system.
type Level struct{}

// Find returns the level. An error wraps errors.ErrUnsupported.
func Find(wanted, _ string, _ Limits, _ ...string) (Level, error) {
	if wanted != "" && wanted != Group {
		return Level{}, fmt.Errorf("containment %q: %w", wanted, errors.ErrUnsupported)
	}
	return Level{}, nil
}

// Name returns the name of the level.
func (Level) Name() string { return Group }

// Start starts a command and returns it and its tree. See Level.Start on Linux.
func (Level) Start(cmd *exec.Cmd, session bool, reaped <-chan struct{}, before func() error) (*exec.Cmd, Tree, error) {
	if before != nil {
		return cmd, nil, fmt.Errorf("a thread for a command: %w", errors.ErrUnsupported)
	}
	cmd.ExtraFiles = inherited(cmd.ExtraFiles)
	if err := cmd.Start(); err != nil {
		return cmd, nil, err
	}
	return cmd, group{leader: cmd.Process.Pid, session: session, reaped: reaped}, nil
}

// Limits returns no limits.
func (Level) Limits() Limits { return Limits{} }

// Hides reports whether commands cannot see the host's processes.
func (Level) Hides() bool { return false }

// Close does nothing.
func (Level) Close(bool) error { return nil }

// EndAbandoned does nothing: processes cannot be found by their environment here.
func (Level) EndAbandoned(time.Duration) ([]string, error) { return nil, nil }
