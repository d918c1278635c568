package env

import (
	"errors"
	"fmt"
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

func (level) close() error { return nil }

// findShell finds none: Windows has no commands yet.
func findShell() (string, error) { return "", nil }

func (l *Local) start(string, string, Command) (Process, error) {
	return nil, fmt.Errorf("commands on Windows: %w", errors.ErrUnsupported)
}
