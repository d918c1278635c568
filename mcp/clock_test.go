package mcp

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// limitOf returns how long a call may take while during runs beside it.
func limitOf(t *testing.T, during func(s *server, r *running)) (limit time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(nil, Server{Name: "lab", CallTimeout: time.Minute}, "lab")
		began := time.Now()
		ctx, r := s.begin(t.Context(), &tool.Call{})
		defer s.over(r)
		var beside sync.WaitGroup
		defer beside.Wait()
		beside.Go(func() { during(s, r) })
		<-ctx.Done()
		if context.Cause(ctx) != errNoAnswer {
			t.Errorf("the call ended with %v", context.Cause(ctx))
		}
		limit = time.Since(began)
	})
	return limit
}

// Progress begins the time of a call again, and time in which a person answers does not count.
func TestM1_CallTime(t *testing.T) {
	steps := func(n int, of time.Duration) func(*server, *running) {
		return func(s *server, r *running) {
			for i := range n {
				time.Sleep(of)
				s.progressed(&sdk.ProgressNotificationParams{ProgressToken: r.token, Progress: float64(i)})
			}
		}
	}
	if got := limitOf(t, func(*server, *running) {}); got != time.Minute {
		t.Errorf("a silent call may take %v", got)
	}
	if got := limitOf(t, steps(3, 50*time.Second)); got != 210*time.Second {
		t.Errorf("a call with three reports of progress may take %v", got)
	}
	if got := limitOf(t, steps(200, 50*time.Second)); got != time.Hour {
		t.Errorf("a call whose progress goes on may take %v", got)
	}
	answered := func(s *server, r *running) {
		r.wait(1)
		time.Sleep(2 * time.Hour)
		r.wait(-1)
		time.Sleep(30 * time.Second)
		s.progressed(&sdk.ProgressNotificationParams{ProgressToken: r.token})
	}
	if got := limitOf(t, answered); got != 2*time.Hour+90*time.Second {
		t.Errorf("a call that goes on after people answered for long may take %v", got)
	}
	people := func(_ *server, r *running) {
		time.Sleep(30 * time.Second)
		r.wait(1)
		r.wait(1)
		time.Sleep(3 * time.Hour)
		r.wait(-1)
		time.Sleep(time.Hour)
		r.wait(-1)
	}
	if got := limitOf(t, people); got != 4*time.Hour+90*time.Second {
		t.Errorf("a call during which people answered may take %v", got)
	}
}

// Calls that wait for one start of a server that died cause no second one when it fails.
func TestM1_OneStartForManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var starts atomic.Int64
		owner := Start(t.Context(), Options{Env: func(Server) (env.Environment, error) {
			starts.Add(1)
			time.Sleep(time.Second)
			return nil, errors.New("there is no room")
		}})
		s := newServer(owner, Server{Name: "lab", Command: "lab"}, "lab")
		dead := &conn{cut: func() {}, ended: make(chan struct{}), began: time.Now()}
		close(dead.ended)
		var all sync.WaitGroup
		all.Go(func() { s.again(dead) })
		synctest.Wait()
		for range 3 {
			all.Go(func() {
				if _, err := s.connected(t.Context()); err == nil {
					t.Error("a server without room was started")
				}
			})
		}
		time.Sleep(time.Minute)
		if n := starts.Load(); n != 1 {
			t.Errorf("it was started %d times for calls that came together", n)
		}
		if err := owner.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
	})
}

// Progress is shown at most five times a second, and that of other calls not at all.
func TestM1_ProgressIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(nil, Server{Name: "lab"}, "lab")
		shown := 0
		_, r := s.begin(t.Context(), &tool.Call{Live: func(int, []byte) { shown++ }})
		defer s.over(r)
		for range 10_000 {
			s.progressed(&sdk.ProgressNotificationParams{ProgressToken: r.token})
			s.progressed(&sdk.ProgressNotificationParams{ProgressToken: "other"})
			s.progressed(&sdk.ProgressNotificationParams{ProgressToken: 1.0})
			time.Sleep(time.Millisecond)
		}
		if shown != 50 {
			t.Errorf("ten seconds of progress are shown %d times", shown)
		}
	})
}

// A server that says all the time that its list has changed is asked at intervals.
func TestM2_ListsThatChangeAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := &server{owner: Start(t.Context(), Options{})}, &conn{ended: make(chan struct{})}
		began := time.Now()
		if s.pace(c); time.Since(began) != 0 {
			t.Error("the first list has to wait")
		}
		for range 3 {
			s.read = time.Now()
			time.Sleep(changeEvery / 4)
			s.pace(c)
		}
		if took := time.Since(began); took != 3*changeEvery {
			t.Errorf("three lists took %v", took)
		}
		s.read = time.Now()
		if err := s.owner.Close(); err != nil {
			t.Error(err)
		}
		if s.pace(c); time.Since(began) != 3*changeEvery {
			t.Error("the end has to wait")
		}
	})
}
