package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/attractor-go/attractor/internal/chat"
)

// notifyOfEnd relays the signals that end a session, which come from terminals and service
// managers. SIGHUP stays ignored if it was ignored at the start, as under nohup. SIGINT and SIGQUIT
// do not, because shells ignore them for background jobs.
func notifyOfEnd(signals chan<- os.Signal) {
	// Package os tries once whether it can make a pidfd, by a process that shares this one's memory
	// and does not block signals: a ^C that it gets as well would come here as a second one. It
	// tries now.
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Release() // never fails
	}
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
}

// stopper ends a session in order at the first SIGINT, SIGQUIT, SIGTERM or SIGHUP, and kills what
// runs and exits at a second one. It never waits for the reader of its messages: one that is
// paused, such as less at the end of a pipe, must not keep the process alive.
type stopper struct {
	out        io.Writer
	signals    chan os.Signal
	quit, done chan struct{}
	once       sync.Once
	saying     sync.WaitGroup // what is being written to out

	cancel func() // ends the context

	mu   sync.Mutex
	code int          // the exit code for the first signal; 0 before
	end  func()       // ends in order what runs
	kill func() error // kills what runs; may be nil
}

// newStopper begins to listen, and returns a context that the first signal ends, and stop. The
// caller must call stop.
func newStopper(ctx context.Context, out io.Writer) (context.Context, *stopper) {
	ctx, cancel := context.WithCancel(ctx)
	e := &stopper{out: out, cancel: cancel, end: cancel, signals: make(chan os.Signal, 2), quit: make(chan struct{}),
		done: make(chan struct{})}
	notifyOfEnd(e.signals)
	go e.listen()
	return ctx, e
}

// listen handles signals until stop is called.
func (e *stopper) listen() {
	defer close(e.done)
	for {
		select {
		case <-e.quit:
			return
		case sig := <-e.signals:
			e.handle(sig)
		}
	}
}

// handle acts on a signal.
func (e *stopper) handle(sig os.Signal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.code == 0:
		e.code = chat.ExitCode(sig)
		e.saying.Go(func() { fmt.Fprintln(e.out, "\nattractor: stopping; a second signal stops at once") })
		e.end()
	case sig == syscall.SIGHUP && e.code == chat.ExitCode(sig):
		// A terminal that goes away sends it to the leader of its session and to the process group
		// in front.
	default:
		if e.kill != nil {
			if err := e.kill(); err != nil {
				time.AfterFunc(lastWordsTime, func() { os.Exit(e.code) })
				fmt.Fprintln(e.out, "attractor:", err)
			}
		}
		os.Exit(e.code)
	}
}

// lastWordsTime bounds how long a process that exits waits until its last error is written.
const lastWordsTime = time.Second

// kills sets what the second signal does.
func (e *stopper) kills(kill func() error) { e.began(e.cancel, kill) }

// began sets what the signals do from now on. If the first one has come already, began calls end.
func (e *stopper) began(end func(), kill func() error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.end, e.kill = end, kill; e.code != 0 {
		end()
	}
}

// stop stops listening and returns the exit code, 0 if there was no signal. Until what the stopper
// says is written, a second signal counts.
func (e *stopper) stop() int {
	e.once.Do(func() {
		e.mu.Lock()
		said := e.code != 0
		e.mu.Unlock()
		if said {
			e.saying.Wait()
		}
		close(e.quit)
		<-e.done
		if e.code == chat.ExitCode(syscall.SIGHUP) {
			signal.Ignore(syscall.SIGHUP) // the one that a terminal sends beside the first
		}
		signal.Stop(e.signals)
		e.cancel()
	})
	return e.code
}

// or returns the error for the signal that came, or err if there was none. It stops listening.
func (e *stopper) or(err error) error {
	if code := e.stop(); code != 0 {
		return &exitError{code: code, err: errors.New("stopped by a signal")}
	}
	return err
}
