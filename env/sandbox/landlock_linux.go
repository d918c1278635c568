package sandbox

import (
	"errors"
	"fmt"
)

// newLandlock returns the mechanism of WorkspaceWeak.
func newLandlock(_ string, _ *Options) (mechanism, error) {
	return nil, fmt.Errorf("the level needs the program attractor-env: %w", errors.ErrUnsupported)
}
