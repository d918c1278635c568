package fleettest

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/attractor-go/attractor/fleet"
)

var busChecks = []check{
	{name: "P2_Live", run: live},
	{name: "P2_SlowListener", run: slowListener},
	{name: "P2_Requests", run: requests},
	{name: "P2_NoOwner", run: noOwner},
	{name: "P2_StopWaits", run: stopWaits},
}

// listen listens until the subscription holds. Next waits for a message.
func (t *tester) listen(s *fleet.Space, id string) (next func() string) {
	t.Helper()
	read, _ := follow(t, func(ctx context.Context) iter.Seq2[[]byte, error] { return s.Bus.Listen(ctx, id) })
	if m, ok := read(); !ok || m != nil {
		t.Fatalf("the first message is %q, %v, want nil, which says that the subscription holds", m, ok)
	}
	return func() string {
		m, ok := read()
		if !ok {
			t.Error("the listening has ended")
		}
		return string(m)
	}
}

func (t *tester) publish(s *fleet.Space, id, message string) {
	t.Helper()
	t.ok(s.Bus.Publish(t.ctx, id, []byte(message)))
}

// live checks who hears what, in order.
func live(t *tester) {
	a, b := t.own(), t.own()
	one, every := t.listen(b, "t"), t.listen(b, "")
	t.publish(a, "other", "for others")
	t.publish(a, "t.x", "for others, too")
	if got := every() + every(); got != "for othersfor others, too" {
		t.Errorf("who listens to all hears %q", got)
	}
	for i := range 200 {
		message := fmt.Sprint(i)
		if i == 100 {
			message = strings.Repeat("x", 200_000)
		}
		t.publish(a, "t", message)
		if got, same := one(), every(); got != message || same != message {
			t.Fatalf("message %d is %.100q, and %.100q", i, got, same)
		}
	}
}

// slowListener checks that no publisher waits for a slow listener, and that the listener gets later
// messages again.
func slowListener(t *tester) {
	a, b := t.own(), t.own()
	slow := t.listen(b, "t")
	message := strings.Repeat("x", 1000)
	for range 20_000 {
		t.publish(a, "t", message)
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for slow() == message {
		}
	}()
	t.eventually("the slow listener hears again", func() bool {
		t.publish(a, "t", "again")
		select {
		case <-heard:
			return true
		default:
			return false
		}
	})
}

// serve answers requests.
func (t *tester) serve(s *fleet.Space, id string, handle func(request string) string) (stop func()) {
	t.Helper()
	stop, err := s.Bus.Serve(t.ctx, id,
		func(_ context.Context, request []byte) []byte { return []byte(handle(string(request))) })
	t.ok(err)
	return stop
}

// request makes a request until it is answered: an engine may not know the owner at once.
func (t *tester) request(s *fleet.Space, id, request string) string {
	t.Helper()
	var reply []byte
	t.eventually("somebody answers", func() bool {
		var err error
		reply, err = s.Bus.Request(t.ctx, id, []byte(request))
		return err == nil
	})
	return string(reply)
}

// requests checks that the owner of a task gets its requests, none of which waits for another one:
// each gets its reply once all have come.
func requests(t *tester) {
	a, b := t.own(), t.own()
	defer t.serve(b, "t.x", func(r string) string { return "t.x: " + r })()
	stop := t.serve(a, "t", func(r string) string { return "t: " + r })
	for _, id := range []string{"t", "t.x"} {
		for _, text := range []string{"hello", "", strings.Repeat("x", 200_000)} {
			if got := t.request(b, id, text); got != id+": "+text {
				t.Errorf("a request of %d bytes for %s gets %.100q", len(text), id, got)
			}
		}
	}
	stop()
	var came sync.WaitGroup
	came.Add(8)
	defer t.serve(b, "many", func(r string) string { came.Done(); came.Wait(); return r })()
	t.in(8, func(i int) {
		want := fmt.Sprint(i)
		if got, err := a.Bus.Request(t.ctx, "many", []byte(want)); err != nil || string(got) != want {
			t.Errorf("request %s gets %q, %v", want, got, err)
		}
	})
}

// noOwner checks that who asks learns that nobody owns a task, and reaches its next owner.
func noOwner(t *tester) {
	a, b, c := t.own(), t.own(), t.own()
	for i, s := range []*fleet.Space{a, b, a} {
		_, err := c.Bus.Request(t.ctx, "t", []byte("x"))
		t.is(err, fleet.ErrNoOwner, "Request between two owners")
		stop := t.serve(s, "t", func(string) string { return fmt.Sprint("owner ", i) })
		if got := t.request(c, "t", ""); got != fmt.Sprint("owner ", i) {
			t.Errorf("owner %d: the request gets %q", i, got)
		}
		_, err = c.Bus.Request(t.ctx, "other", []byte("x"))
		t.is(err, fleet.ErrNoOwner, "Request for another task")
		stop()
		stop()
	}
}

// stopWaits checks that stop waits for a request that is being answered, which gets its reply, and
// that a request ends with its context.
func stopWaits(t *tester) {
	a, b := t.own(), t.own()
	began, goOn := make(chan struct{}), make(chan struct{})
	var handled atomic.Bool
	stop := t.serve(a, "t", func(request string) string {
		close(began)
		<-goOn
		handled.Store(true)
		return "late"
	})
	replied := make(chan string, 1)
	go func() {
		reply, err := b.Bus.Request(t.ctx, "t", nil)
		if err != nil {
			t.Error(err)
		}
		replied <- string(reply)
	}()
	<-began
	stopped := make(chan bool)
	go func() {
		stop()
		stopped <- handled.Load()
	}()
	close(goOn)
	if !<-stopped {
		t.Error("stop does not wait for a request that is being answered")
	}
	if got := <-replied; got != "late" {
		t.Errorf("the request gets %q", got)
	}
	blocked := make(chan struct{})
	stop = t.serve(a, "slow", func(string) string { <-blocked; return "" })
	_, err := b.Bus.Request(t.short(), "slow", nil)
	t.is(err, context.DeadlineExceeded, "Request that nobody answers in time")
	close(blocked)
	stop()
}
