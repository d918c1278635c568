package env

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// level is unknown where there are no commands.
type level struct{}

func findLevel(wanted, _ string) (level, error) {
	if wanted != "" {
		return level{}, fmt.Errorf("containment %q: %w", wanted, errors.ErrUnsupported)
	}
	return level{}, nil
}

func (level) name() string { return "unknown" }

func (level) hides() bool { return false }

func (level) close(bool) error { return nil }

// endAbandoned finds nothing: where processes cannot be told by their environment, what a host has left is not known.
func (level) endAbandoned(time.Duration) ([]string, error) { return nil, nil }

// findShell finds none: Windows has no commands yet.
func findShell() (string, error) { return "", nil }

func (l *Local) start(context.Context, string, string, Command) (Process, error) {
	return nil, fmt.Errorf("commands on Windows: %w", errors.ErrUnsupported)
}
