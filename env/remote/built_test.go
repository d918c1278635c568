package remote_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// built is the directory that helperPath has made, or "". TestMain removes it.
var built string

// helperPath builds attractor-remote once and returns its path.
var helperPath = sync.OnceValues(func() (path string, err error) {
	if built, err = os.MkdirTemp("", "attractor-helper-"); err != nil {
		return "", err
	}
	path = filepath.Join(built, "attractor-remote")
	build := exec.Command("go", "build", "-o", path, "github.com/attractor-go/attractor/cmd/attractor-remote")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// removeBuilt removes what helperPath has built, and returns the exit code of the tests.
func removeBuilt(code int) int {
	if built == "" {
		return code
	}
	if err := os.RemoveAll(built); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
