//go:build !linux

package contain

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Level is the only level on this system: process groups, or none where there are no commands.
type Level struct{}

// Find returns the level. An error wraps errors.ErrUnsupported.
func Find(wanted, _ string, _ Limits, _ ...string) (Level, error) {
	if wanted != "" && wanted != only {
		return Level{}, fmt.Errorf("containment %q: %w", wanted, errors.ErrUnsupported)
	}
	return Level{}, nil
}

// Name returns the name of the level.
func (Level) Name() string { return cmp.Or(only, "unknown") }

// Limits returns no limits.
func (Level) Limits() Limits { return Limits{} }

// Hides reports whether commands cannot see the host's processes.
func (Level) Hides() bool { return false }

// Close does nothing.
func (Level) Close(bool) error { return nil }

// EndAbandoned does nothing: processes cannot be found by their environment here.
func (Level) EndAbandoned(time.Duration) ([]string, error) { return nil, nil }
