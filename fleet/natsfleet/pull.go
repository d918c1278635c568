package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// readBatch is the number of messages in one request for a batch.
	readBatch = 256
	// pullTime bounds a request for messages that are not there yet.
	pullTime = 30 * time.Second
	// heartbeat is between two signs of life of a server that has no message. A request that a
	// server forgot is made again after two of them.
	heartbeat = 3 * time.Second
)

// errSilent says that a server that should have given a sign of life did not.
var errSilent = fmt.Errorf("natsfleet: a consumer is silent: %w", nats.ErrTimeout)

// pull asks a consumer for up to n messages and yields them as they come, until all are there or
// pullTime is over. What arrives after ctx has ended, or the caller has stopped, goes to back,
// which may be nil: a message is not lost on the way to somebody who does not wait any more.
func (a *account) pull(ctx context.Context, stream, consumer string, n int, back func(*nats.Msg)) iter.Seq2[*nats.Msg,
	error] {
	return func(yield func(*nats.Msg, error) bool) {
		sub, err := a.nc.SubscribeSync(a.nc.NewInbox())
		if err != nil {
			yield(nil, err)
			return
		}
		left := n
		defer func() {
			if left == 0 {
				back = nil // nothing else comes
			}
			a.leave(sub, back)
		}()
		request, err := json.Marshal(map[string]any{"batch": n, "expires": pullTime, "idle_heartbeat": heartbeat})
		if err == nil {
			err = a.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+stream+"."+consumer, sub.Subject, request)
		}
		for left > 0 && err == nil {
			var m *nats.Msg
			if m, err = nextOf(ctx, sub); err != nil {
				break
			}
			over := false
			if over, err = requestEnd(m); over || err != nil {
				break
			}
			if m.Header.Get("Status") != "" {
				continue
			}
			if left--; !yield(m, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// nextOf returns the next message of a request.
func nextOf(ctx context.Context, sub *nats.Subscription) (*nats.Msg, error) {
	wait, cancel := context.WithTimeout(ctx, 2*heartbeat)
	defer cancel()
	m, err := sub.NextMsgWithContext(wait)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil, errSilent
	}
	return m, err
}

// requestEnd reports whether a message says that the request is over.
func requestEnd(m *nats.Msg) (bool, error) {
	switch status := m.Header.Get("Status"); status {
	case "", "100":
		return false, nil
	case "404", "408":
		return true, nil
	case "503":
		return true, nats.ErrNoResponders
	default:
		text := m.Header.Get("Description")
		if status == "409" && text == "Leadership Change" {
			return true, nil
		}
		return true, fmt.Errorf("natsfleet: a consumer answers %s %s: %w", status, text, jetstream.ErrNoStreamResponse)
	}
}

// leave ends a subscription. Once the server has confirmed it, what has arrived goes back.
func (a *account) leave(sub *nats.Subscription, back func(*nats.Msg)) {
	defer func() { _ = sub.Unsubscribe() }() // it has ended if that fails
	if back == nil || !a.nc.IsConnected() {
		return
	}
	if err := sub.Drain(); err != nil {
		return
	}
	// If the server does not confirm in time, a message may be on its way. The server delivers
	// a message again that nobody has acknowledged.
	_ = a.nc.FlushTimeout(attemptTime)
	for {
		m, err := sub.NextMsg(time.Millisecond)
		if err != nil {
			return
		}
		if m.Header.Get("Status") == "" {
			back(m)
		}
	}
}

const (
	// lookAgain bounds the time between two looks for changes whose announcements were lost.
	lookAgain = 3 * time.Second
	// settleFirst is the time until a change that was announced should be seen. It grows up to
	// lookAgain.
	settleFirst = 10 * time.Millisecond
)

// changes yields nil at once, and then whenever something may have been written to some subjects,
// until ctx ends. Listeners hear of a record before the stream has stored it, so it yields some
// more times after each, at growing intervals.
func (a *account) changes(ctx context.Context, subjects ...string) iter.Seq[error] {
	return func(yield func(error) bool) {
		heard := make(chan *nats.Msg, 64)
		for _, s := range subjects {
			sub, err := a.nc.ChanSubscribe(s, heard)
			if err != nil {
				yield(err)
				return
			}
			defer func() { _ = sub.Unsubscribe() }() // it has ended if that fails
		}
		for wait := settleFirst; yield(nil); wait = min(wait*3, lookAgain) {
			t := time.NewTimer(wait)
			select {
			case <-ctx.Done():
				t.Stop()
				yield(ctx.Err())
				return
			case <-heard:
				wait = settleFirst / 3
			case <-t.C:
			}
			t.Stop()
		}
	}
}
