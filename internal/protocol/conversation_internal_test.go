package protocol

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
)

// Lines of a program and of a page that came between two inputs are taken when the next one begins,
// all of them.
func TestN2_LinesBetweenTwoInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(&attractor.Setup{}, nil, nil)
		c.running, c.rested = true, make(chan struct{})
		c.follow(&agent.ProcessingEnd{})
		settled := make(chan struct{}, 2)
		for range cap(settled) {
			go func() {
				c.giving.Lock()
				defer c.giving.Unlock()
				c.settle(context.Background())
				settled <- struct{}{}
			}()
		}
		synctest.Wait()
		if n := len(settled); n > 0 {
			t.Errorf("%d lines were taken between the inputs", n)
		}
		c.follow(&agent.UserInput{})
		synctest.Wait()
		if n := len(settled); n != cap(settled) {
			t.Errorf("%d lines were taken, and the others wait for the end of the input", n)
		}
		close(c.rested)
	})
}

// A line that comes when the session is ending is refused, and not left to nobody.
func TestN2_LateLinesAreRefused(t *testing.T) {
	c := New(&attractor.Setup{}, nil, nil)
	c.replies = nil // no reply is told any more
	close(c.over)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range maxLines {
		c.enqueue(ctx, &input{Type: TypeUser, fields: fields{Text: "late"}})
	}
	if n := len(c.queue); n > 0 {
		t.Errorf("%d of %d lines wait for somebody who takes them", n, maxLines)
	}
}

// What a host does alone right after the end of an input that it was told of waits until the worker
// is idle, but not longer than its context. It does not wait for an input that runs.
func TestN3_AloneRightAfterAnInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(&attractor.Setup{}, nil, nil)
		c.running, c.rested = true, make(chan struct{})
		if err := c.Alone(t.Context(), "undoing", func() error { return nil }); err == nil {
			t.Error("done beside an input")
		}
		c.follow(&agent.ProcessingEnd{})
		ended := make(chan error, 1)
		alone := func(ctx context.Context) { ended <- c.Alone(ctx, "undoing", func() error { return nil }) }
		ctx, cancel := context.WithCancel(t.Context())
		go alone(ctx)
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the end of the context gives %v", err)
		}
		go alone(t.Context())
		synctest.Wait()
		c.giving.Lock()
		c.running = false
		close(c.rested)
		c.giving.Unlock()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A compaction that a host asks for while it still works on the end of an input, as its checks do,
// waits for that: it would run beside the next input.
func TestN3_CompactAtTheEndOfAnInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(&attractor.Setup{}, nil, nil)
		close(c.started)
		c.running, c.rested = true, make(chan struct{})
		c.follow(&agent.ProcessingEnd{})
		ended := make(chan error, 1)
		go func() { ended <- c.Compact(t.Context()) }()
		synctest.Wait()
		if len(ended) > 0 {
			t.Errorf("it did not wait: %v", <-ended)
		}
		c.giving.Lock()
		c.running, c.finished = false, true
		close(c.rested)
		c.giving.Unlock()
		if err := <-ended; !errors.Is(err, errEnding) {
			t.Error(err)
		}
	})
}

// A host that wants the last input continued when the session has ended is told so, and does not
// wait for the end of work that nobody does.
func TestN3_ContinueAfterTheEnd(t *testing.T) {
	c := New(&attractor.Setup{}, nil, nil)
	close(c.started)
	c.finish(true)
	if err := c.ContinueLast(); !errors.Is(err, errEnding) || c.running {
		t.Errorf("%v, and there is work: %v", err, c.running)
	}
}
