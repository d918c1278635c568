//go:build unix && !linux

package env

import (
	"errors"
	"fmt"
	"os"
)

// terminal returns an error: terminals are not implemented on this platform.
func (p *process) terminal(Command) ([]*os.File, error) {
	return nil, fmt.Errorf("a terminal for commands: %w", errors.ErrUnsupported)
}
