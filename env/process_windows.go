package env

import (
	"errors"
	"fmt"
)

// containment is unknown where there are no commands.
const containment = "unknown"

// findShell finds none: Windows has no commands yet.
func findShell() (string, error) { return "", nil }

func (l *Local) start(string, string, Command) (Process, error) {
	return nil, fmt.Errorf("commands on Windows: %w", errors.ErrUnsupported)
}
