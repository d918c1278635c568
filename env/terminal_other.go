//go:build unix && !linux

package env

import (
	"errors"
	"fmt"
	"os"
)

// terminal is not written for this platform yet.
func (p *process) terminal(Command) ([]*os.File, error) {
	return nil, fmt.Errorf("a terminal for commands: %w", errors.ErrUnsupported)
}
