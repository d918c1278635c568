package natsfleet

import (
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/fleettest"
)

// listening starts a server that listens, always at the same address.
func listening(t *testing.T, limits []fleet.SlotLimit, tenants ...fleet.Tenant) *hosted {
	h := host(t, limits, tenants...)
	h.stop()
	h.config.Listen = "127.0.0.1:0"
	h.start()
	h.config.Listen = strings.TrimPrefix(h.server.URL(), "nats://")
	return h
}

func TestP1_Suite(t *testing.T) {
	fleettest.Suite(t, func(t *testing.T, o fleettest.Options) fleettest.Fleet {
		h := listening(t, o.Limits, o.Tenants...)
		return fleettest.Fleet{
			Engine: func(t *testing.T) fleet.Engine {
				e, err := Open(t.Context(), h.server.URL(), OpenOptions{Token: testToken})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = e.Close() }) // the check may have closed it
				return e
			},
			Unit:    100 * time.Millisecond,
			Restart: func(t *testing.T) { h.stop(); h.start() },
		}
	})
}
