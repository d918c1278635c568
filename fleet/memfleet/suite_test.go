package memfleet_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/fleettest"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/internal/parallel"
)

func TestMain(m *testing.M) {
	parallel.Tests(8)
	goleak.VerifyTestMain(m)
}

// fresh returns a fleet in memory.
func fresh(_ *testing.T, o fleettest.Options) fleettest.Fleet {
	first := memfleet.New(memfleet.Options{Tenants: o.Tenants, Limits: o.Limits})
	return fleettest.Fleet{Unit: 10 * time.Millisecond, Engine: func(t *testing.T) fleet.Engine {
		e := first.Share()
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		return e
	}}
}

// TestP1_Contract checks that a fleet in memory is one.
func TestP1_Contract(t *testing.T) { fleettest.Suite(t, fresh) }
