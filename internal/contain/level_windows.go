package contain

import (
	"errors"
	"fmt"
	"time"
)

// Level stands for no containment: there are no commands on Windows yet.
type Level struct{}

// Find returns the level. An error wraps errors.ErrUnsupported.
func Find(wanted, _ string, _ Limits, _ ...string) (Level, error) {
	if wanted != "" {
		return Level{}, fmt.Errorf("containment %q: %w", wanted, errors.ErrUnsupported)
	}
	return Level{}, nil
}

// Name returns the name of the level.
func (Level) Name() string { return "unknown" }

// Limits returns no limits.
func (Level) Limits() Limits { return Limits{} }

// Hides reports whether commands cannot see the host's processes.
func (Level) Hides() bool { return false }

// Close does nothing.
func (Level) Close(bool) error { return nil }

// EndAbandoned does nothing, because no command can have been started.
func (Level) EndAbandoned(time.Duration) ([]string, error) { return nil, nil }
