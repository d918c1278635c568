//go:build !unix

package workspace

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// tryLock fails: workspaces need locks that end with their process.
func tryLock(*os.File) error {
	return fmt.Errorf("workspace: there are no workspaces on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
