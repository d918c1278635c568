package natsfleet

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// pullTime bounds a request for messages that are not there yet.
	pullTime = 30 * time.Second
	// pullHeartbeat is how often the server says that it still has the request. When it has died, a
	// claimer asks again after two of them.
	pullHeartbeat = time.Second
)

// fetch asks a consumer for up to n messages and yields them as they come, until all are there or
// pullTime is over.
func (a *account) fetch(ctx context.Context, c jetstream.Consumer, n int) iter.Seq2[jetstream.Msg, error] {
	return func(yield func(jetstream.Msg, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		bounded, cancel := context.WithTimeout(ctx, pullTime)
		defer cancel()
		defer context.AfterFunc(a.life, cancel)()
		options := []jetstream.FetchOpt{jetstream.FetchContext(bounded)}
		if end, _ := bounded.Deadline(); time.Until(end) > 3*pullHeartbeat { // it has to be less than a half
			options = append(options, jetstream.FetchHeartbeat(pullHeartbeat))
		}
		batch, err := c.Fetch(n, options...)
		if err == nil {
			for m := range batch.Messages() {
				if !yield(m, nil) {
					return
				}
			}
			err = batch.Error()
		} else if errors.Is(err, jetstream.ErrInvalidOption) { // the time is over just now
			<-bounded.Done()
		}
		switch {
		case ctx.Err() != nil:
			err = ctx.Err()
		case a.life.Err() != nil:
			err = nats.ErrConnectionClosed
		case bounded.Err() != nil:
			return
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

const (
	// lookAgain bounds the time until a change is seen whose announcement was lost.
	lookAgain = 3 * time.Second
	// settleFirst is the time until a change that was announced should be seen. It grows up to
	// lookAgain.
	settleFirst = 10 * time.Millisecond
)

// Changes implements [engine.Table]. Listeners get a message before the stream has stored it, so it
// yields some more times after each one, at growing intervals.
func (a *account) Changes(ctx context.Context, subjects ...string) iter.Seq[error] {
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
