package agent

import (
	"cmp"
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

// HostError reports that code of the host, such as OnEvent, a hook, a provider or a journal,
// panicked or called runtime.Goexit. That is a bug in that code.
type HostError struct {
	// What names the code, such as "OnEvent".
	What string
	// Value is the value of the panic, nil for runtime.Goexit.
	Value any
	// Stack is the goroutine's stack at that moment. It is not in the error's text, because that
	// may reach a model.
	Stack string

	err error
}

// Error names the code and its panic.
func (e *HostError) Error() string { return "agent: " + strings.TrimPrefix(e.err.Error(), "agent: ") }

// Unwrap returns the error that the panic was found in.
func (e *HostError) Unwrap() error { return e.err }

// ErrStuck means that code of the host, such as OnEvent or a provider, did not return in time when
// it was asked to end. Its goroutine was left behind and ends when the code returns.
var ErrStuck = errors.New("agent: code of the host does not return")

// ErrUndelivered means that OnEvent has not got all events, because a call of it does not return.
// It gets them when it does. The error is also an [ErrStuck].
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

// host runs code of the host on a goroutine of its own, so that neither its panic nor its
// runtime.Goexit ends a goroutine of the session or leaves a lock behind. Once ctx or the session
// has ended it waits for patience more, and then no longer: the error is an [ErrStuck]. It may be
// called with any lock held.
func host[T any](ctx context.Context, s *Session, what string, patience time.Duration, f func() (T, error)) (T, error) {
	return await(guard.Start(what, f), what, patience, ctx.Done(), s.life.Done())
}

// await returns a result, or an [ErrStuck] if there is none within patience after one of the two
// channels was closed.
func await[T any](done <-chan guard.Result[T], what string, patience time.Duration,
	ended, closed <-chan struct{}) (T, error) {
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

// hostErr is host for code that returns only an error.
func (s *Session) hostErr(ctx context.Context, what string, patience time.Duration, f func() error) error {
	_, err := host(ctx, s, what, patience, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// hostError returns err, as a [HostError] if it wraps a panic.
func hostError(err error) error {
	var p *guard.Panic
	if errors.As(err, &p) && !isHostError(err) {
		return &HostError{What: p.What, Value: p.Value, Stack: p.Stack, err: err}
	}
	return err
}

// isHostError reports whether err is a [HostError].
func isHostError(err error) bool {
	var e *HostError
	return errors.As(err, &e)
}

// look returns what f finds in the state, which does not change meanwhile.
func look[T any](s *Session, f func(*State) T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(&s.state)
}

// running returns the context of the running activity, or of the session's life if none runs.
func (s *Session) running() context.Context {
	if now := s.working.Load(); now != nil {
		return now.ctx
	}
	return s.life
}

// trusted runs code of the host that cannot fail by an error. If it panics or does not return, the
// session ends and ok is false.
func trusted[T any](s *Session, what string, f func() T) (value T, ok bool) {
	value, err := host(s.running(), s, what, s.limits.Grace, func() (T, error) { return f(), nil })
	if err != nil {
		s.breakDown(err)
	}
	return value, err == nil
}

// hostClock returns a clock that cannot fail: if the host's panics, it is replaced by time.Now.
func (s *Session) hostClock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	var broken atomic.Bool
	return func() time.Time {
		if broken.Load() {
			return time.Now()
		}
		t, ok := trusted(s, "Options.Now", now)
		if !ok {
			broken.Store(true)
			return time.Now()
		}
		return t
	}
}

// retryDelay returns the policy's Delay, guarded against a host's Jitter that fails.
func (s *Session) retryDelay(p llm.RetryPolicy) func(attempt int, err error) (time.Duration, bool) {
	p.Max = cmp.Or(p.Max, defaultRetries)
	return func(attempt int, failed error) (time.Duration, bool) {
		again := false
		delay, ok := trusted(s, "Retry.Jitter", func() (delay time.Duration) {
			delay, again = p.Delay(attempt, failed)
			return delay
		})
		return delay, ok && again
	}
}

// guardHook returns a permission hook whose panic ends the session, and nil for nil.
func (s *Session) guardHook(what string, hook tool.Authorize) tool.Authorize {
	if hook == nil {
		return nil
	}
	return func(ctx context.Context, req tool.Request) (tool.Decision, error) {
		d, err := guard.Value(what, func() (tool.Decision, error) { return hook(ctx, req) })
		if err = hostError(err); isHostError(err) {
			s.breakDown(err)
		}
		return d, err
	}
}

// warn emits a warning.
func (s *Session) warn(code, format string, args ...any) {
	s.events.emit(&Warning{Code: code, Text: fmt.Sprintf(format, args...)})
}

// warnOfPanic emits a warning with the stack of a panic whose error goes to the model alone.
func (s *Session) warnOfPanic(err error) {
	var broken *HostError
	if errors.As(err, &broken) {
		s.events.emit(&Warning{Code: "host_panic", Text: broken.Error() + "\n" + broken.Stack})
	}
}

// warnOfStuck emits a warning about code that was left behind.
func (s *Session) warnOfStuck(err error) {
	if errors.Is(err, ErrStuck) {
		s.events.emit(&Warning{Code: "host_abandoned", Text: strings.TrimPrefix(err.Error(), "agent: ")})
	}
}
