package natsfleet

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/attractor-go/attractor/journal"
)

// A follower that gets no news reads the log anyway, after followSoon at first and after followLate
// at most, because news may get lost.
const (
	followSoon = 100 * time.Millisecond
	followLate = 5 * time.Second
)

// Follow implements [journal.Store]. It needs no consumer on the server: the server announces each
// message, and the follower reads it as any other reader does.
func (j *journals) Follow(ctx context.Context, id string, from int64) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		p, err := j.find(ctx, id)
		if err == nil {
			err = p.follow(ctx, from, yield)
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(journal.Record{}, err)
		}
	}
}

// follow yields records until ctx ends or an error occurs. It returns errStop if yield wants no
// more.
func (p journalPlace) follow(ctx context.Context, from int64, yield func(journal.Record, error) bool) error {
	news := make(chan struct{}, 1)
	sub, err := p.j.nc.Subscribe(p.subject(newsSubject), func(*nats.Msg) {
		select {
		case news <- struct{}{}:
		default: // the follower will read anyway
		}
	})
	if err != nil {
		return p.errorf("%w", err)
	}
	defer func() {
		_ = sub.Unsubscribe() // it fails if the connection is closed, which has ended the subscription
	}()
	records := journalPass{journalPlace: p, from: from, next: 1}
	at := uint64(0)
	for pause := followSoon; ; pause = min(2*pause, followLate) {
		m, err := p.last(ctx)
		if err != nil {
			return err
		}
		if m.seq != at {
			if len(linked([]*storedMessage{m}, at, m.seq)) == 1 {
				err = records.message(ctx, m, yield)
			} else {
				err = records.records(ctx, at, m.seq, yield)
			}
			if err != nil {
				return p.errorf("%w", err)
			}
			at, pause = m.seq, followSoon
		}
		if err := p.quiet(ctx, news, pause); err != nil {
			return err
		}
	}
}

// quiet waits for news, for at most pause.
func (p journalPlace) quiet(ctx context.Context, news <-chan struct{}, pause time.Duration) error {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-news:
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
