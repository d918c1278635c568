package remote_test

import (
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/env/remote"
)

// The environment behaves as package env documents, over the system's pipes.
func TestO1_Suite(t *testing.T) {
	envtest.SuiteWith(t, func(t *testing.T) env.Environment {
		return beside(t, remote.Options{Dir: t.TempDir()})
	}, envtest.Options{Parallel: true})
}
