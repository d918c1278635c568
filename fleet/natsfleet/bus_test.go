package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/fleet"
)

func TestP2_BusRequests(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("", func(t *testing.T) {
		b := embedded(t).Bus
		if _, err := b.Request(t.Context(), "a.b", nil); !errors.Is(err, fleet.ErrNoOwner) {
			t.Errorf("without an owner: %v", err)
		}
		var running sync.WaitGroup // all requests have to run at once
		running.Add(serveAtOnce)
		stop, err := b.Serve(t.Context(), "a.b", func(_ context.Context, request []byte) []byte {
			running.Done()
			running.Wait()
			return append([]byte("re: "), request...)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Request(t.Context(), "a~b", nil); err == nil {
			t.Error("an id that is none was asked")
		}
		var g sync.WaitGroup
		for i := range serveAtOnce {
			g.Go(func() {
				got, err := b.Request(t.Context(), "a.b", fmt.Append(nil, i))
				if want := fmt.Sprint("re: ", i); err != nil || string(got) != want {
					t.Errorf("%q, %v; not %s", got, err, want)
				}
			})
		}
		g.Wait()
		stop()
		stop()
		if _, err := b.Request(t.Context(), "a.b", nil); !errors.Is(err, fleet.ErrNoOwner) {
			t.Errorf("after its owner: %v", err)
		}
	})
}

func TestP2_BusStopWaits(t *testing.T) {
	t.Parallel()
	b := embedded(t).Bus
	begun, end := make(chan struct{}), make(chan struct{})
	stop, err := b.Serve(t.Context(), "a", func(context.Context, []byte) []byte {
		close(begun)
		<-end
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var g sync.WaitGroup
	g.Go(func() {
		if _, err := b.Request(t.Context(), "a", nil); err != nil {
			t.Error(err)
		}
	})
	<-begun
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	select {
	case <-stopped:
		t.Error("stop did not wait for a handler")
	case <-time.After(50 * time.Millisecond): // stop has had time to end too early
	}
	close(end)
	<-stopped
	g.Wait()
}

func TestP2_BusListeners(t *testing.T) {
	t.Parallel()
	b := embedded(t).Bus
	var ready, g sync.WaitGroup
	ready.Add(2)
	for _, id := range []string{"", "a"} {
		g.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var got []string
			var last error
			for data, err := range b.Listen(ctx, id) {
				switch {
				case err != nil:
					last = err
				case data == nil:
					ready.Done()
				default:
					if got = append(got, string(data)); string(data) == "end" {
						cancel()
					}
				}
			}
			want := "[1  3 end]"
			if id == "" {
				want = "[1 2  3 end]"
			}
			if fmt.Sprint(got) != want || !errors.Is(last, context.Canceled) {
				t.Errorf("%q: %q, not %s; %v", id, got, want, last)
			}
		})
	}
	ready.Wait()
	for _, m := range [][2]string{{"a", "1"}, {"b", "2"}, {"a", ""}, {"a", "3"}, {"a", "end"}} {
		if err := b.Publish(t.Context(), m[0], []byte(m[1])); err != nil {
			t.Error(err)
		}
	}
	g.Wait()
}

// A listener that does not read for a while loses messages, and hears the later ones.
func TestP2_BusSlowListener(t *testing.T) {
	t.Parallel()
	s := embedded(t)
	n := 0
	for data, err := range s.Bus.Listen(t.Context(), "a") {
		if err != nil {
			t.Fatal(err)
		}
		if data == nil {
			for range 2 * listenMessages {
				if err := s.Bus.Publish(t.Context(), "a", []byte("x")); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.account.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if n++; n == listenMessages { // what was kept has been read: there is room again
			if err := s.Bus.Publish(t.Context(), "a", []byte("end")); err != nil {
				t.Fatal(err)
			}
		}
		if string(data) == "end" {
			break
		}
	}
	if n != listenMessages+1 {
		t.Errorf("%d messages", n)
	}
}
