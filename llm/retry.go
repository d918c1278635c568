package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

// Backoff says how long to wait before a failed call is tried again: exponentially longer, with jitter, or as long as the
// provider asks. The zero value means the defaults. It is safe for concurrent use if Jitter is.
type Backoff struct {
	// Base is the first delay, doubled with each further one: 1 s unless set. Cap is the longest: 60 s unless set. A provider's
	// Retry-After up to the cap is obeyed; a longer one means that there is no other attempt.
	Base, Cap time.Duration
	// Jitter returns a number in [0, 1) that shortens a delay by up to a half. Math/rand unless set. A Retry-After is not
	// shortened.
	Jitter func() float64
}

// The delays of a [Backoff] that sets none.
const (
	defaultBase = time.Second
	defaultCap  = 60 * time.Second
)

// Delay is how long to wait after the nth failed attempt, counted from 1, and whether another one makes sense at all: not after
// an error that is not [Retryable], and not when the provider asks for more than the cap.
func (b Backoff) Delay(attempt int, err error) (delay time.Duration, again bool) {
	var e *Error
	if !Retryable(err) || !errors.As(err, &e) {
		return 0, false
	}
	longest := b.Cap
	if longest <= 0 {
		longest = defaultCap
	}
	if e.RetryAfter > 0 {
		return e.RetryAfter, e.RetryAfter <= longest
	}
	delay = b.Base
	if delay <= 0 {
		delay = defaultBase
	}
	for range attempt - 1 { // no shift, which overflows
		if delay >= longest {
			break
		}
		delay *= 2
	}
	delay = min(delay, longest)
	jitter := b.Jitter
	if jitter == nil {
		jitter = rand.Float64
	}
	return delay - time.Duration(jitter()*float64(delay)/2), true
}

// RetryPolicy says how often and how a failed call is tried again. The zero value means the defaults.
type RetryPolicy struct {
	// Max is the number of retries after the first attempt: 2 unless set, none when negative.
	Max int
	// Backoff says how long to wait before each.
	Backoff Backoff
	// OnRetry, when set, is told before each wait which attempt has failed, counted from 1, how, and how long the wait will be.
	// It must not block, and calls that run at the same time call it at the same time.
	OnRetry func(attempt int, err error, delay time.Duration)
}

// defaultRetries is the number of retries of a [RetryPolicy] that sets none.
const defaultRetries = 2

// Retry tries a call again that failed with a [Retryable] error, as the policy says. A call that has delivered anything is
// never tried again: its listener would hear the beginning twice. So that a stream which breaks right after it was opened
// still can be, the events that only announce content (EventStart, and the start of a block) are held back until some comes.
// When there is no further attempt, the last error comes through as it is; when the context ends during a wait, the error is
// an [ErrAborted] with the context's cause.
//
// It is for programs that use a [Client] without a session: package agent retries by itself.
func Retry(policy RetryPolicy) Middleware {
	retries := policy.Max
	if retries == 0 {
		retries = defaultRetries
	}
	return func(next Handler) Handler {
		return func(ctx context.Context, req *Request) iter.Seq2[StreamEvent, error] {
			return func(yield func(StreamEvent, error) bool) {
				for attempt := 1; ; attempt++ {
					err, delivered := forward(next(ctx, req), yield)
					if err == nil {
						return
					}
					delay, again := policy.Backoff.Delay(attempt, err)
					if delivered || !again || attempt > retries {
						yield(StreamEvent{}, err)
						return
					}
					if policy.OnRetry != nil {
						policy.OnRetry(attempt, err, delay)
					}
					if gone := pause(ctx, delay); gone != nil {
						yield(StreamEvent{}, &Error{Kind: ErrAborted, Provider: req.Provider, Err: gone,
							Message: fmt.Sprintf("given up while waiting to try again: %v; the attempt before: %v", gone, err)})
						return
					}
				}
			}
		}
	}
}

// forward passes a stream on until it fails, and says whether anything has been passed on by then. The error is nil when there
// is no more to do: the stream has ended, or nobody listens any more.
func forward(stream iter.Seq2[StreamEvent, error], yield func(StreamEvent, error) bool) (failure error, delivered bool) {
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

// announces says that an event has no content yet.
func announces(t EventType) bool {
	switch t {
	case EventStart, EventTextStart, EventThinkingStart, EventCallStart:
		return true
	}
	return false
}

// pause waits, or returns why the context ended before.
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
