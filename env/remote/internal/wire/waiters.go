package wire

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

// rawStream is what a Stream needs of the multiplexer's streams.
type rawStream interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SetDeadline(time.Time) error
}

// waiters holds the streams of a link that are read or written at the moment. When a session ends,
// yamux wakes them at once and lets them go later, and meanwhile each asks for its state over and
// over. A few hundred of them keep the processors for seconds from the goroutine that would let
// them go. So they are let go here before yamux learns of the end.
type waiters struct {
	mu    sync.Mutex
	ended bool
	calls map[rawStream]int // reads and writes
}

// past is a deadline at which nothing waits any more. What has arrived can still be read.
func past() time.Time { return time.Unix(1, 0) }

// end lets all go, also those that come later.
func (w *waiters) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for s := range w.calls {
		_ = s.SetDeadline(past()) // it cannot fail
	}
}

func (w *waiters) enter(s rawStream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		_ = s.SetDeadline(past()) // it cannot fail
	}
	if w.calls == nil {
		w.calls = map[rawStream]int{}
	}
	w.calls[s]++
}

func (w *waiters) leave(s rawStream) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls[s]--; w.calls[s] <= 0 {
		delete(w.calls, s)
	}
}

// waiter is a stream whose reads and writes are among the waiters.
type waiter struct {
	rawStream
	all *waiters
}

func (w *waiter) Read(p []byte) (int, error) {
	w.all.enter(w.rawStream)
	defer w.all.leave(w.rawStream)
	n, err := w.rawStream.Read(p)
	if errors.Is(err, yamux.ErrTimeout) {
		n, err = w.rawStream.Read(p) // what has arrived: the first may have found nothing just before
	}
	return n, err
}

func (w *waiter) Write(p []byte) (int, error) {
	w.all.enter(w.rawStream)
	defer w.all.leave(w.rawStream)
	return w.rawStream.Write(p)
}
