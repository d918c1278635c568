package fleettest

import (
	"bytes"
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
	{name: "P2_LiveInOrder", run: liveInOrder},
	{name: "P2_SlowListener", run: slowListener},
	{name: "P2_Requests", run: requests},
	{name: "P2_RequestsAtOnce", run: requestsAtOnce},
	{name: "P2_NoOwner", run: noOwner},
	{name: "P2_StopWaits", run: stopWaits},
	{name: "P2_NextOwner", run: nextOwner},
}

// listen listens until the subscription holds. Next waits for a message.
func (t *tester) listen(s fleet.Space, id string) (next func() string, stop func()) {
	t.Helper()
	read, stop := follow(t, func(ctx context.Context) iter.Seq2[[]byte, error] { return s.Bus().Listen(ctx, id) })
	if m, ok := read(); !ok || m != nil {
		t.Fatalf("the first message is %q, %v, want nil, which says that the subscription holds", m, ok)
	}
	return func() string {
		t.Helper()
		m, ok := read()
		if !ok {
			t.Fatal("the listening has ended")
		}
		return string(m)
	}, stop
}

func (t *tester) publish(s fleet.Space, id, message string) {
	t.Helper()
	t.ok(s.Bus().Publish(t.ctx, id, []byte(message)))
}

func live(t *tester) {
	a, b := t.own(), t.own()
	one, stop := t.listen(b, "t")
	every, _ := t.listen(b, "")
	t.publish(a, "other", "for others")
	t.publish(a, "t.x", "for others, too")
	t.publish(a, "t", "for t")
	if got := one(); got != "for t" {
		t.Errorf("who listens to t hears %q", got)
	}
	for _, want := range []string{"for others", "for others, too", "for t"} {
		if got := every(); got != want {
			t.Errorf("who listens to all hears %q, want %q", got, want)
		}
	}
	large := strings.Repeat("x", 200_000)
	t.publish(b, "t", large)
	if got := one(); got != large {
		t.Errorf("of a large message there are %d bytes", len(got))
	}
	stop()
	t.publish(a, "t", "after the end")
}

func liveInOrder(t *tester) {
	a, b := t.own(), t.own()
	next, _ := t.listen(b, "t")
	for i := range 200 {
		t.publish(a, "t", fmt.Sprint(i))
		if got := next(); got != fmt.Sprint(i) {
			t.Fatalf("message %d is %q", i, got)
		}
	}
}

// slowListener checks that no publisher waits for a slow listener, and that the listener gets later
// messages again.
func slowListener(t *tester) {
	a, b := t.own(), t.own()
	slow, _ := t.listen(b, "t")
	message := strings.Repeat("x", 1000)
	for range 20_000 {
		t.publish(a, "t", message)
	}
	quick, _ := t.listen(t.own(), "t")
	t.publish(a, "t", "now")
	for quick() != "now" { // what was under way may come first
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for slow() != "again" {
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
func (t *tester) serve(s fleet.Space, id string, handle func(request string) string) (stop func()) {
	t.Helper()
	stop, err := s.Bus().Serve(t.ctx, id,
		func(_ context.Context, request []byte) []byte { return []byte(handle(string(request))) })
	t.ok(err)
	return stop
}

// request makes a request until it is answered: an engine may not know the owner at once.
func (t *tester) request(s fleet.Space, id, request string) string {
	t.Helper()
	var reply []byte
	t.eventually("somebody answers", func() bool {
		var err error
		reply, err = s.Bus().Request(t.ctx, id, []byte(request))
		return err == nil
	})
	return string(reply)
}

func requests(t *tester) {
	a, b := t.own(), t.own()
	stop := t.serve(a, "t", func(r string) string { return "t: " + r })
	defer stop()
	stopOther := t.serve(b, "t.x", func(r string) string { return "t.x: " + r })
	defer stopOther()
	for _, s := range []fleet.Space{a, b} {
		for _, id := range []string{"t", "t.x"} {
			if got := t.request(s, id, "hello"); got != id+": hello" {
				t.Errorf("a request for %s gets %q", id, got)
			}
		}
	}
	if got := t.request(b, "t", ""); got != "t: " {
		t.Errorf("an empty request gets %q", got)
	}
	large := bytes.Repeat([]byte("x"), 200_000)
	if got := t.request(b, "t", string(large)); got != "t: "+string(large) {
		t.Errorf("a large request gets %d bytes", len(got))
	}
}

// requestsAtOnce checks that no request waits for another one: each gets its reply once all have
// come.
func requestsAtOnce(t *tester) {
	a, b := t.own(), t.own()
	var came sync.WaitGroup
	came.Add(8)
	stop := t.serve(a, "t", func(r string) string { came.Done(); came.Wait(); return r })
	defer stop()
	t.in(8, func(i int) {
		want := fmt.Sprint(i)
		if got, err := b.Bus().Request(t.ctx, "t", []byte(want)); err != nil || string(got) != want {
			t.Errorf("request %s gets %q, %v", want, got, err)
		}
	})
}

func noOwner(t *tester) {
	a, b := t.own(), t.own()
	request := func(id, when string) {
		t.Helper()
		_, err := b.Bus().Request(t.ctx, id, []byte("x"))
		t.is(err, fleet.ErrNoOwner, "Request "+when)
	}
	request("t", "before anybody serves")
	stop := t.serve(a, "t", func(string) string { return "t" })
	request("other", "for another task")
	t.request(b, "t", "x")
	stop()
	request("t", "after stop")
	stop()
}

// stopWaits checks that stop waits for a request that is being answered, which gets its reply, and
// that a request ends with its context.
func stopWaits(t *tester) {
	a, b := t.own(), t.own()
	began, goOn := make(chan struct{}), make(chan struct{})
	var handled atomic.Bool
	stop := t.serve(a, "t", func(request string) string {
		if request != "slow" {
			return ""
		}
		close(began)
		<-goOn
		handled.Store(true)
		return "late"
	})
	replied := make(chan string, 1)
	go func() {
		reply, err := b.Bus().Request(t.ctx, "t", []byte("slow"))
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
	t.eventually("nobody serves any more", func() bool {
		ctx, cancel := context.WithTimeout(t.ctx, 2*t.Unit)
		defer cancel()
		_, err := b.Bus().Request(ctx, "t", nil)
		return err != nil
	})
	close(goOn)
	if !<-stopped {
		t.Error("stop does not wait for a request that is being answered")
	}
	if got := <-replied; got != "late" {
		t.Errorf("the request gets %q", got)
	}

	blocked := make(chan struct{})
	stop = t.serve(a, "slow", func(string) string { <-blocked; return "" })
	_, err := b.Bus().Request(t.short(), "slow", nil)
	t.is(err, context.DeadlineExceeded, "Request that nobody answers in time")
	close(blocked)
	stop()
}

func nextOwner(t *tester) {
	a, b, c := t.own(), t.own(), t.own()
	for i, s := range []fleet.Space{a, b, a} {
		stop := t.serve(s, "t", func(string) string { return fmt.Sprint("owner ", i) })
		if got := t.request(c, "t", ""); got != fmt.Sprint("owner ", i) {
			t.Errorf("owner %d: the request gets %q", i, got)
		}
		stop()
	}
}
