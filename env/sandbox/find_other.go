//go:build !linux

package sandbox

import (
	"errors"
	"fmt"
	"runtime"
)

// find returns an error: this system has no sandbox.
func find(string, *Options) (mechanism, error) {
	return nil, fmt.Errorf("there is no sandbox on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
