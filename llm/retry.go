package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

// RetryPolicy holds how often and after which delays a failed model call is tried again. The zero
// value means the defaults. It is safe for concurrent use if Jitter is.
type RetryPolicy struct {
	// Max is the number of retries after the first attempt. 0 means the default, which is 2, and 5
	// in a session of package agent; a negative number means none.
	Max int
	// Base is the first delay, doubled with each further one: 1 s unless set. Cap is the longest:
	// 60 s unless set. A provider's Retry-After up to the cap is obeyed; after a longer one there
	// is no further attempt.
	Base, Cap time.Duration
	// Jitter returns a number in [0, 1) that shortens a delay by up to a half. Math/rand unless
	// set. A Retry-After is not shortened.
	Jitter func() float64
}

// The defaults of a [RetryPolicy].
const (
	defaultRetries = 2
	defaultBase    = time.Second
	defaultCap     = 60 * time.Second
)

// Delay returns how long to wait after the nth failed attempt, counted from 1, and reports whether
// there is another attempt. There is none after the last retry, after an error that is not
// [Retryable], and when the provider asks for a longer delay than the cap.
func (p RetryPolicy) Delay(attempt int, err error) (delay time.Duration, again bool) {
	var e *Error
	if attempt > cmp.Or(p.Max, defaultRetries) || !Retryable(err) || !errors.As(err, &e) {
		return 0, false
	}
	longest := cmp.Or(max(p.Cap, 0), defaultCap)
	if e.RetryAfter > 0 {
		return e.RetryAfter, e.RetryAfter <= longest
	}
	delay = cmp.Or(max(p.Base, 0), defaultBase)
	for range attempt - 1 { // a shift could overflow
		if delay >= longest {
			break
		}
		delay *= 2
	}
	delay = min(delay, longest)
	jitter := p.Jitter
	if jitter == nil {
		jitter = rand.Float64
	}
	return delay - time.Duration(jitter()*float64(delay)/2), true
}

// Retry returns a middleware that tries a model call again after a [Retryable] error, as the policy
// says. OnRetry, unless nil, is called before each wait with the attempt that failed, counted from
// 1, its error, and the delay. It must not block, and calls that run at the same time call it at
// the same time.
//
// A call that has delivered content is never tried again: its listener would hear the beginning
// twice. Events that only announce content (EventStart, and the start of a block) are held back
// until some comes, so that a stream that breaks right after it was opened can be retried. After
// the last attempt its error is returned unchanged. When the context ends during a wait, the error
// is an [ErrAborted] that wraps the context's cause.
//
// Retry is for programs that use a [Client] without a session: package agent retries by itself.
func Retry(policy RetryPolicy, onRetry func(attempt int, err error, delay time.Duration)) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, req *Request) iter.Seq2[StreamEvent, error] {
			return func(yield func(StreamEvent, error) bool) {
				for attempt := 1; ; attempt++ {
					err, delivered := forward(next(ctx, req), yield)
					if err == nil {
						return
					}
					delay, again := policy.Delay(attempt, err)
					if delivered || !again {
						yield(StreamEvent{}, err)
						return
					}
					if onRetry != nil {
						onRetry(attempt, err, delay)
					}
					if gone := pause(ctx, delay); gone != nil {
						yield(StreamEvent{}, &Error{Kind: ErrAborted, Provider: req.Provider, Err: gone,
							Message: fmt.Sprintf("aborted while waiting to retry: %v; the last attempt failed: %v",
								gone, err)})
						return
					}
				}
			}
		}
	}
}

// forward passes a stream's events on until it fails. It reports whether any were delivered. The
// error is nil if the stream ended or the listener left.
func forward(stream iter.Seq2[StreamEvent, error],
	yield func(StreamEvent, error) bool) (failure error, delivered bool) {
	var held []StreamEvent
	for ev, err := range stream {
		if err != nil {
			return err, delivered
		}
		if held = append(held, ev); !delivered && announces(ev.Type) {
			continue
		}
		delivered = true
		for _, ev := range held {
			if !yield(ev, nil) {
				return nil, true
			}
		}
		held = held[:0]
	}
	return nil, delivered
}

// announces reports whether an event has no content yet.
func announces(t EventType) bool {
	switch t {
	case EventStart, EventTextStart, EventThinkingStart, EventCallStart:
		return true
	}
	return false
}

// pause waits. If the context ends first, it returns the cause.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
