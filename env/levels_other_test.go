//go:build unix && !linux

package env_test

import (
	"strconv"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// atLevels runs a test at every level of containment that this machine can reach.
func atLevels(t *testing.T, test func(t *testing.T, level string)) {
	t.Helper()
	t.Run(env.ContainGroup, func(t *testing.T) { test(t, env.ContainGroup) })
}

// survivors are the processes that still run of those that were started with an environment entry and one of them named itself.
func survivors(t *testing.T, _ string, pid int) []string {
	t.Helper()
	if runs(t, pid) {
		return []string{strconv.Itoa(pid)}
	}
	return nil
}
