//go:build unix && !linux

package env

import (
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// level is the process group, the only one here.
type level struct{}

func findLevel(wanted, _ string) (level, error) {
	if wanted != "" && wanted != ContainGroup {
		return level{}, fmt.Errorf("containment %q: %w", wanted, errors.ErrUnsupported)
	}
	return level{}, nil
}

func (level) name() string { return ContainGroup }

// start starts a command and returns what holds its processes together.
func (level) start(cmd *exec.Cmd, session bool, reaped <-chan struct{}) (*exec.Cmd, tree, error) {
	cmd.ExtraFiles = inherited(cmd.ExtraFiles)
	if err := cmd.Start(); err != nil {
		return cmd, nil, err
	}
	return cmd, group{leader: cmd.Process.Pid, session: session, reaped: reaped}, nil
}

func (level) hides() bool { return false }

func (level) close(bool) error { return nil }

// endAbandoned finds nothing: where processes cannot be told by their environment, what a host has left is not known.
func (level) endAbandoned(time.Duration) ([]string, error) { return nil, nil }
