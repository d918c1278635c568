//go:build unix

package remote_test

import (
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/env/remote"
)

// dial opens an environment on another machine until the end of the test.
func (m machine) dial(t *testing.T, o remote.Options) *remote.Env {
	t.Helper()
	e, err := remote.Dial(t.Context(), m.command, remote.DialOptions{Options: o, Helper: findHelper})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return e
}

// On every kind of machine the environment behaves as on this one.
func TestO1_PeersPassTheSuite(t *testing.T) {
	for name, start := range machines {
		t.Run(name, func(t *testing.T) {
			if !*more && (name == "pipe" || name == "namespace") {
				t.Skip("not run: -peers.more runs it")
			}
			t.Parallel()
			m := start(t)
			o := remote.Options{Dir: m.src, Grace: 300 * time.Millisecond}
			shared := m.dial(t, o)
			envtest.Suite(t, func(t *testing.T) env.Environment {
				if o.Dir = m.dir(t); *more {
					return m.dial(t, o)
				}
				return env.Sub(shared, o.Dir)
			})
		})
	}
}
