//go:build unix && !linux

package contain

import (
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// Level is the process group, the only one here.
type Level struct{}

func Find(wanted, _ string) (Level, error) {
	if wanted != "" && wanted != Group {
		return Level{}, fmt.Errorf("containment %q: %w", wanted, errors.ErrUnsupported)
	}
	return Level{}, nil
}

func (Level) Name() string { return Group }

// start starts a command and returns what holds its processes together.
func (Level) Start(cmd *exec.Cmd, session bool, reaped <-chan struct{}) (*exec.Cmd, Tree, error) {
	cmd.ExtraFiles = inherited(cmd.ExtraFiles)
	if err := cmd.Start(); err != nil {
		return cmd, nil, err
	}
	return cmd, group{leader: cmd.Process.Pid, session: session, reaped: reaped}, nil
}

func (Level) Hides() bool { return false }

func (Level) Close(bool) error { return nil }

// endAbandoned finds nothing: where processes cannot be told by their environment, what a host has left is not known.
func (Level) EndAbandoned(time.Duration) ([]string, error) { return nil, nil }
