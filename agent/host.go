package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// HostError is the error of code that the session was given, such as OnEvent, a hook, a provider or a journal, and that panicked
// or called runtime.Goexit. It is a bug in that code.
type HostError struct {
	// What names the code, such as "OnEvent".
	What string
	// Value is what it panicked with, nil for runtime.Goexit.
	Value any
	// Stack is the goroutine's stack at that moment. The error's text does without it, because it may reach a model.
	Stack string

	err error
}

// Error says what the code did.
func (e *HostError) Error() string { return "agent: " + strings.TrimPrefix(e.err.Error(), "agent: ") }

// Unwrap returns what else went wrong with it.
func (e *HostError) Unwrap() error { return e.err }

// ErrStuck means that code of the host, such as OnEvent or a provider, did not return in time when it was asked to end. It was
// left behind: its goroutine ends when it returns.
var ErrStuck = errors.New("agent: code of the host does not return")

// ErrUndelivered means that OnEvent does not return, so that it has not got all events. It gets them when it returns. It comes
// with an [ErrStuck].
var ErrUndelivered = errors.New("agent: OnEvent has not taken all events")

// stuckError names the code.
type stuckError struct {
	what  string
	after time.Duration
}

func (e *stuckError) Error() string {
	return fmt.Sprintf("agent: %s did not return within %v of being asked to end, and was left behind", e.what, e.after)
}

func (e *stuckError) Unwrap() error { return ErrStuck }

// host runs code of the host on a goroutine of its own, so that neither its panic nor its runtime.Goexit ends a goroutine of the
// session or leaves a lock behind. Once ctx or the session has ended it waits for patience more, and then no longer: the error is
// an [ErrStuck]. It may be called with any lock held.
func host[T any](ctx context.Context, s *Session, what string, patience time.Duration, f func() (T, error)) (T, error) {
	return await(guard.Start(what, f), what, patience, ctx.Done(), s.life.Done())
}

// await waits for a result, but not longer than patience after one of the two channels was closed.
func await[T any](done <-chan guard.Result[T], what string, patience time.Duration, ended, closed <-chan struct{}) (T, error) {
	select {
	case r := <-done:
		return r.Value, hostError(r.Err)
	case <-ended:
	case <-closed:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.Value, hostError(r.Err)
	case <-timer.C:
		var none T
		return none, &stuckError{what, patience}
	}
}

// call is host for code that only has an error.
func (s *Session) call(ctx context.Context, what string, patience time.Duration, f func() error) error {
	_, err := host(ctx, s, what, patience, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// hostError returns err, as a [HostError] if a panic is part of it.
func hostError(err error) error {
	var p *guard.Panic
	if errors.As(err, &p) && !isHostError(err) {
		return &HostError{What: p.What, Value: p.Value, Stack: p.Stack, err: err}
	}
	return err
}

// isHostError reports whether code of the host panicked or called runtime.Goexit.
func isHostError(err error) bool {
	var e *HostError
	return errors.As(err, &e)
}

// giveUp notes that code of the host is broken, which ends what is running and then the session. It takes no lock. Only the first
// failure counts.
func (s *Session) giveUp(err error) {
	if s.broken.CompareAndSwap(nil, &err) {
		s.endLife(err)
		if s.returned.Load() {
			go s.fail(err)
		}
	}
}

// fail ends a session that is given up, unless somebody works on it, who ends it then.
func (s *Session) fail(err error) {
	s.mu.Lock()
	idle := s.ending == "" && s.working.Load() == nil
	if idle {
		s.ending, s.failure, s.why = Failed, err, err
	}
	s.mu.Unlock()
	if idle {
		s.shutdown()
	}
}

// brokenBy returns what the session was given up for, nil while it was not.
func (s *Session) brokenBy() error {
	if err := s.broken.Load(); err != nil {
		return *err
	}
	return nil
}

// running returns the context of the running input, or that of the session's life at rest.
func (s *Session) running() context.Context {
	if now := s.working.Load(); now != nil {
		return now.ctx
	}
	return s.life
}

// clock returns a clock that cannot fail: a host's that is broken is not asked again.
func (s *Session) clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	var broken atomic.Bool
	return func() time.Time {
		if broken.Load() {
			return time.Now()
		}
		t, err := host(s.running(), s, "Options.Now", s.grace, func() (time.Time, error) { return now(), nil })
		if err != nil {
			broken.Store(true)
			s.giveUp(err)
			return time.Now()
		}
		return t
	}
}

// retries returns the policy's Delay, guarded against a host's Jitter that fails.
func (s *Session) retries(p llm.RetryPolicy) func(attempt int, err error) (time.Duration, bool) {
	if p.Max == 0 {
		p.Max = defaultRetries
	}
	return func(attempt int, failed error) (time.Duration, bool) {
		again := false
		delay, err := host(s.running(), s, "Retry.Jitter", s.grace, func() (delay time.Duration, _ error) {
			delay, again = p.Delay(attempt, failed)
			return delay, nil
		})
		if err != nil {
			s.giveUp(err)
			return 0, false
		}
		return delay, again
	}
}

// hook returns a permission hook whose panic ends the session. A hook that is nil stays it.
func (s *Session) hook(what string, hook tool.Authorize) tool.Authorize {
	if hook == nil {
		return nil
	}
	return func(ctx context.Context, req tool.Request) (tool.Decision, error) {
		d, err := guard.Value(what, func() (tool.Decision, error) { return hook(ctx, req) })
		if err = hostError(err); isHostError(err) {
			s.giveUp(err)
		}
		return d, err
	}
}

// warnOfPanic gives the host the stack of a panic whose error goes to the model alone.
func (s *Session) warnOfPanic(err error) {
	var broken *HostError
	if errors.As(err, &broken) {
		s.events.emit(&Warning{Code: "host_panic", Text: broken.Error() + "\n" + broken.Stack})
	}
}

// warnOfStuck tells the host of code that was left behind.
func (s *Session) warnOfStuck(err error) {
	if errors.Is(err, ErrStuck) {
		s.events.emit(&Warning{Code: "host_abandoned", Text: strings.TrimPrefix(err.Error(), "agent: ")})
	}
}
