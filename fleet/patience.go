package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/internal/guard"
)

// patience is how long code of the host may go on after its context has ended, or may take to close
// something. Then it is left behind, so that it does not hold a worker's slot, or the worker's end,
// forever.
const patience = 30 * time.Second

// inTime calls code of the host that may panic, hang or ignore its context. A value that comes too
// late goes to late.
func inTime[T any](ctx context.Context, what string, code func() (T, error), late func(T)) (T, error) {
	result := guard.Start(what, code)
	select {
	case r := <-result:
		return r.Value, r.Err
	case <-ctx.Done():
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-result:
		return r.Value, r.Err
	case <-timer.C:
	}
	go func() { // ends with the code
		if r := <-result; r.Err == nil {
			late(r.Value)
		}
	}()
	var none T
	return none, fmt.Errorf("%s has not returned within %v and was left behind", what, patience)
}

// closeInTime closes something of the host's.
func closeInTime(what string, code func() error) error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := inTime(ended, what, func() (struct{}, error) { return struct{}{}, code() }, func(struct{}) {})
	return err
}
