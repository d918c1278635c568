package natsfleet

import (
	"errors"
	"testing"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/await"
)

// By the server's clock the lease has ended, although the holder's stood still.
func TestP4_LeaseOfAStoppedClock(t *testing.T) {
	t.Parallel()
	h := host(t, nil, one(0, 0))
	a := h.engine().Leases()
	l, err := a.Acquire(t.Context(), fleet.WorkerInfo{Name: "w"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	await.For(t, "the end of the lease", func() bool {
		list, err := a.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(list) == 0
	})
	l.(interface{ StopClock() }).StopClock()
	for range 2 {
		if err := l.Renew(t.Context(), fleet.WorkerInfo{}); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("renewed: %v", err)
		}
	}
}
