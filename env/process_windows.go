package env

import (
	"context"
	"errors"
	"fmt"
)

// findShell returns no shell: commands are not supported on Windows.
func findShell([]string) (string, error) { return "", nil }

func (l *Local) start(context.Context, string, string, Command) (Process, error) {
	return nil, fmt.Errorf("commands on Windows: %w", errors.ErrUnsupported)
}
