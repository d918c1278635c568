package natsfleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/fleet/internal/engine"
)

// readBatch is the number of messages in one request for a batch.
const readBatch = 256

// records implements [engine.Table] with the last message of each subject of a stream.
type records struct {
	*account
	stream jetstream.Stream
}

// newRecords makes the stream of records, if it is not there.
func newRecords(ctx context.Context, a *account, name string, subjects ...string) (*records, error) {
	s, err := a.stream(ctx, jetstream.StreamConfig{Name: name, Subjects: subjects, MaxMsgsPerSubject: 1,
		AllowMsgTTL: true})
	return &records{a, s}, err
}

// Get implements [engine.Table].
func (r *records) Get(ctx context.Context, subject string) (engine.Record, error) {
	return retry(ctx, r.account, callTime, func(ctx context.Context) (engine.Record, error) {
		m, err := r.stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return engine.Record{Key: subject}, nil
		} else if err != nil {
			return engine.Record{}, err
		}
		return engine.Record{Key: subject, Data: m.Data, Seq: m.Sequence, At: m.Time,
			Writing: m.Header.Get(jetstream.MsgIDHeader)}, nil
	})
}

// Put implements [engine.Table]. A ttl is rounded up to seconds.
func (r *records) Put(ctx context.Context, writing, subject string, data []byte, after uint64,
	ttl time.Duration) (uint64, error) {
	if most := r.nc.MaxPayload() - 1024; int64(len(data)) > most {
		return 0, fmt.Errorf("%s has %d bytes; the server takes %d", subject, len(data), most)
	}
	m := &nats.Msg{Subject: subject, Data: data, Header: nats.Header{}}
	if ttl > 0 {
		m.Header.Set("Nats-TTL", strconv.FormatInt(int64((ttl+time.Second-1)/time.Second), 10))
	}
	return r.write(ctx, callTime, m, writing, after)
}

// write stores a message if the last one of its subject has the sequence after, and returns its own
// sequence. The error is engine.ErrChanged if it has not. Requests and acknowledgements can get
// lost: the name of the writing says whether the message that is there is that of an earlier
// attempt.
func (r *records) write(ctx context.Context, within time.Duration, m *nats.Msg, writing string,
	after uint64) (uint64, error) {
	m.Header.Set(jetstream.MsgIDHeader, writing)
	m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(after, 10))
	return retry(ctx, r.account, within, func(ctx context.Context) (uint64, error) {
		ack, err := r.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
		if err == nil {
			return ack.Sequence, nil
		}
		if !isWrongSequence(err) {
			return 0, err
		}
		next, err := r.stream.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(m.Subject))
		if err == nil && next.Header.Get(jetstream.MsgIDHeader) == writing {
			return next.Sequence, nil
		}
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			var now engine.Record
			if now, err = r.Get(ctx, m.Subject); err == nil && now.Seq == after {
				return 0, errAgain // replicas refuse a write while another one is under way, even if that fails
			}
		}
		return 0, cmp.Or(err, engine.ErrChanged)
	})
}

// isWrongSequence reports whether a message was refused because another one was written first.
func isWrongSequence(err error) bool {
	api := (*jetstream.APIError)(nil)
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
			api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// Now implements [engine.Table].
func (r *records) Now(ctx context.Context) (time.Time, error) {
	return retry(ctx, r.account, callTime, func(ctx context.Context) (time.Time, error) {
		info, err := r.stream.Info(ctx)
		if err != nil {
			return time.Time{}, err
		}
		return info.TimeStamp, nil
	})
}

// Remove implements [engine.Table].
func (r *records) Remove(ctx context.Context, subject string) error {
	return r.removeUpTo(ctx, subject, 0)
}

// removeUpTo removes the messages of a subject up to a sequence, or all if that is 0.
func (r *records) removeUpTo(ctx context.Context, subject string, seq uint64) error {
	o := []jetstream.StreamPurgeOpt{jetstream.WithPurgeSubject(subject)}
	if seq > 0 {
		o = append(o, jetstream.WithPurgeSequence(seq+1))
	}
	_, err := retry(ctx, r.account, callTime, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, r.stream.Purge(ctx, o...)
	})
	return err
}

// Keys implements [engine.Table].
func (r *records) Keys(ctx context.Context, filter string) ([]string, error) {
	info, err := retry(ctx, r.account, callTime, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return r.stream.Info(ctx, jetstream.WithSubjectFilter(filter))
	})
	if err != nil {
		return nil, err
	}
	return slices.Collect(maps.Keys(info.State.Subjects)), nil
}

// List implements [engine.Table].
func (r *records) List(ctx context.Context, subjects ...string) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		for e, err := range r.Follow(ctx, subjects...) {
			if err == nil && e.Seq == 0 {
				return
			}
			if !yield(e, err) || err != nil || e.After == 0 {
				return
			}
		}
	}
}

// Follow implements [engine.Table].
func (r *records) Follow(ctx context.Context, subjects ...string) iter.Seq2[engine.Record, error] {
	return func(yield func(engine.Record, error) bool) {
		more, last, failing := true, uint64(0), time.Time{}
		for {
			before := last
			err := r.read(ctx, last+1, subjects, func(e engine.Record) bool {
				last = max(last, e.Seq)
				more = yield(e, nil)
				return more
			})
			switch {
			case !more:
				return
			case err == nil || last > before:
				failing = time.Time{}
			case failing.IsZero():
				failing = time.Now()
			}
			if err == nil || mayPass(err) && (failing.IsZero() || time.Since(failing) < makeTime) {
				err = engine.Wait(ctx, attemptPause)
			}
			if err = cmp.Or(ctx.Err(), err); err != nil {
				yield(engine.Record{}, err)
				return
			}
		}
	}
}

// read reads records from a sequence on with a consumer of its own, until yield returns false or
// something is missing.
func (r *records) read(ctx context.Context, from uint64, subjects []string, yield func(engine.Record) bool) error {
	c, err := retry(ctx, r.account, callTime, func(ctx context.Context) (jetstream.Consumer, error) {
		return r.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			FilterSubjects: subjects, AckPolicy: jetstream.AckNonePolicy,
			DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
			MemoryStorage: true, Replicas: 1, InactiveThreshold: time.Minute,
		})
	})
	if err != nil {
		return err
	}
	info := c.CachedInfo()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTime)
		defer cancel()
		_ = r.stream.DeleteConsumer(ctx, info.Name) // else it ends after a minute
	}()
	rest := info.NumPending
	for seen := uint64(0); ; {
		if rest == 0 && !yield(engine.Record{}) {
			return nil
		}
		for m, err := range r.fetch(ctx, c, readBatch) {
			if err != nil {
				return err
			}
			meta, err := m.Metadata()
			if err != nil {
				return err
			}
			if seen++; meta.Sequence.Consumer != seen {
				return nil // one was lost on the way: read again from there
			}
			rest = meta.NumPending
			if !yield(engine.Record{Key: m.Subject(), Data: m.Data(), Seq: meta.Sequence.Stream, At: meta.Timestamp,
				After: rest}) {
				return nil
			}
		}
		if rest > 0 { // what was missing may have been removed
			now, err := retry(ctx, r.account, callTime, func(ctx context.Context) (*jetstream.ConsumerInfo,
				error) {
				return c.Info(ctx)
			})
			if err != nil {
				return errors.Join(nats.ErrTimeout, err) // a server that was started again has no such consumer
			}
			rest = now.NumPending
		}
	}
}

// Tell implements [engine.Table].
func (r *records) Tell(subject string) { _ = r.nc.Publish(subject, nil) } // Changes yields from time to time, too

// Most implements [engine.Table].
func (r *records) Most() int { return int(r.nc.MaxPayload()) - 4096 }

// Life implements [engine.Table].
func (r *records) Life() context.Context { return r.life }

// RemoveSeq implements [engine.Table].
func (r *records) RemoveSeq(ctx context.Context, seq uint64) error {
	_, err := retry(ctx, r.account, callTime, func(ctx context.Context) (struct{}, error) {
		err := r.stream.DeleteMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
			err = nil
		}
		return struct{}{}, err
	})
	return err
}

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
