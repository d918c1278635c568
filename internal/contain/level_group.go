//go:build unix && !linux

package contain

import (
	"errors"
	"fmt"
	"os/exec"
)

// only is the name of the level on this system.
const only = Group

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
