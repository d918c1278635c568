//go:build !linux

package sandbox

import (
	"errors"
	"runtime"
)

// find returns an error: this system has no sandbox.
func find(string, *Options) (mechanism, error) {
	return nil, lacking{errors.New("there is no sandbox on " + runtime.GOOS)}
}
