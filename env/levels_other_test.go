//go:build unix && !linux

package env_test

import (
	"strconv"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// atLevels runs a test at every level of containment that works on this machine.
func atLevels(t *testing.T, test func(t *testing.T, level string)) {
	t.Helper()
	t.Run(env.ContainGroup, func(t *testing.T) { test(t, env.ContainGroup) })
}

// survivors lists the process if it still runs.
func survivors(t *testing.T, _ string, pid int) []string {
	t.Helper()
	if runs(t, pid) {
		return []string{strconv.Itoa(pid)}
	}
	return nil
}
