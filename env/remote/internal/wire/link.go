package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/yamux"
)

// Link is one connection, over which streams are opened by the near side and accepted by the far
// side. All methods are safe for concurrent use.
type Link struct {
	line    *line
	session *yamux.Session
	answers budget
	done    chan struct{}
	end     sync.Once
	pinging atomic.Bool

	mu    sync.Mutex
	cause error
}

// ErrSilent is wrapped by the reason for the end of a link over which nothing was heard for too
// long.
var ErrSilent = errors.New("nothing was heard from the other side")

// Near returns a link for the side that opens streams, which [Link.Watch] watches. The link owns
// the stream of bytes.
func Near(stream io.ReadWriteCloser, silence time.Duration) (*Link, error) {
	l, err := newLink(stream, yamux.Client)
	if err == nil {
		go l.refuse()
		l.Watch(silence)
	}
	return l, err
}

// Far returns a link for the side that accepts streams.
func Far(stream io.ReadWriteCloser) (*Link, error) { return newLink(stream, yamux.Server) }

func newLink(stream io.ReadWriteCloser,
	mux func(io.ReadWriteCloser, *yamux.Config) (*yamux.Session, error)) (*Link, error) {
	c := yamux.DefaultConfig()
	c.AcceptBacklog = MaxOperations
	// watch does it: it counts everything that is heard, not only answers to pings
	c.EnableKeepAlive = false
	c.ConnectionWriteTimeout = 24 * time.Hour // watch ends a link that is stuck
	c.StreamOpenTimeout = 0
	c.LogOutput = io.Discard // what it has to say is in the reason for the end
	l := &Link{line: newLine(stream), answers: budget{left: maxAnswers}, done: make(chan struct{})}
	session, err := mux(l.line, c)
	if err != nil {
		return nil, errors.Join(err, l.line.Close())
	}
	l.session = session
	go l.follow()
	return l, nil
}

// follow ends the link with the session.
func (l *Link) follow() {
	<-l.session.CloseChan()
	var err error
	// AcceptStream returns why the session has ended, or a stream that nobody has accepted yet
	for range 4 * MaxOperations {
		if _, err = l.session.AcceptStream(); err != nil && !errors.Is(err, yamux.ErrSessionShutdown) {
			break
		}
	}
	for _, misuse := range []error{yamux.ErrInvalidVersion, yamux.ErrInvalidMsgType, yamux.ErrRecvWindowExceeded,
		yamux.ErrUnexpectedFlag, yamux.ErrDuplicateStream} {
		if errors.Is(err, misuse) {
			err = fmt.Errorf("%w: %w", ErrProtocol, err)
		}
	}
	l.fail(err)
}

// fail ends the link for a reason.
func (l *Link) fail(err error) {
	l.end.Do(func() {
		if reason := l.line.reason(); reason != nil {
			err = reason
		}
		if err == nil {
			err = io.EOF
		}
		l.mu.Lock()
		l.cause = err
		l.mu.Unlock()
		_ = l.line.Close() // it returns nil; Close has the error of the stream
		close(l.done)
		go func() { _ = l.session.Close() }() // it waits for the line
	})
}

// Done is closed when the link has ended.
func (l *Link) Done() <-chan struct{} { return l.done }

// Reason returns why the link has ended.
func (l *Link) Reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// Fail ends the link because the other side does not keep to the protocol, or for another reason.
func (l *Link) Fail(reason error) { l.fail(reason) }

// Broke ends the link after an error of a stream, and returns the reason for the end. That is
// another one if the link has ended before.
func (l *Link) Broke(err error) error {
	if l.session.IsClosed() {
		<-l.done // follow is about to say why
	}
	l.fail(err)
	return l.Reason()
}

// Close ends the link and returns the error of closing the stream of bytes. The context bounds the
// waiting for that.
func (l *Link) Close(ctx context.Context) error {
	l.fail(io.EOF)
	select {
	case <-l.line.gone:
		l.line.mu.Lock()
		defer l.line.mu.Unlock()
		return l.line.failed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Open opens a stream. It may wait for the connection.
func (l *Link) Open() (*Stream, error) {
	s, err := l.session.OpenStream()
	if err != nil {
		return nil, &Broken{err}
	}
	return newStream(s, &l.line.waiters, &l.answers), nil
}

// Accept waits for the next stream of the other side. It ends the link if the other side keeps too
// many open.
func (l *Link) Accept() (*Stream, error) {
	s, err := l.session.AcceptStream()
	if err == nil && l.session.NumStreams() > 3*MaxOperations {
		err = fmt.Errorf("more than %d streams: %w", 3*MaxOperations, ErrProtocol)
	}
	if err != nil {
		return nil, &Broken{l.Broke(err)}
	}
	return newStream(s, &l.line.waiters, &l.answers), nil
}

// refuse ends the link if the far side opens a stream.
func (l *Link) refuse() {
	if _, err := l.session.AcceptStream(); err == nil {
		l.fail(fmt.Errorf("it has opened a stream: %w", ErrProtocol))
	}
}

// minSilence is the shortest time of silence. Less would end links that are only slow.
const minSilence = 100 * time.Millisecond

// Watch ends the link when nothing was heard for the time of silence, and asks for a sign of life
// before. Zero means DefaultSilence. It is called once, and returns at once.
func (l *Link) Watch(silence time.Duration) {
	if silence <= 0 {
		silence = DefaultSilence
	}
	silence = max(silence, minSilence)
	go func() {
		if err := watch(l.done, silence, l.line.heard.Load, l.ping); err != nil {
			l.fail(err)
		}
	}()
}

// watch returns an error when count has not changed for the time of silence. It calls ping several
// times in that time, and returns nil when done is closed.
func watch(done <-chan struct{}, silence time.Duration, count func() int64, ping func()) error {
	last, since := count(), time.Now()
	tick := time.NewTicker(silence / 6)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-done:
			return nil
		case <-tick.C:
		}
		switch now := count(); {
		case now != last:
			last, since = now, time.Now()
		case time.Since(since) >= silence:
			return fmt.Errorf("%w for %s", ErrSilent, silence)
		}
		if n%2 == 0 {
			ping()
		}
	}
}

// ping asks the other side for a sign of life, unless it is being asked.
func (l *Link) ping() {
	if l.pinging.CompareAndSwap(false, true) {
		go func() {
			defer l.pinging.Store(false)
			_, _ = l.session.Ping() // watch hears the answer
		}()
	}
}
