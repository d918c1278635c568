package natsfleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// readBatch is the number of messages in one request for a batch.
const readBatch = 256

// errChanged says that somebody else has written a record in the meantime.
var errChanged = errors.New("natsfleet: the record has changed")

// records keeps the last message of each subject of a stream. A record is written by comparing its
// sequence, so of several writers one wins.
type records struct {
	*account
	stream jetstream.Stream
}

// record is the last message of a subject. Its sequence is 0 if there is none.
type record struct {
	subject string
	data    []byte
	seq     uint64
	at      time.Time // by the server's clock
	writing string    // names the call of put that wrote it
	after   uint64    // how many records of a list come after it
}

// newRecords makes the stream of records, if it is not there.
func newRecords(ctx context.Context, a *account, name string, subjects ...string) (*records, error) {
	s, err := a.stream(ctx, jetstream.StreamConfig{Name: name, Subjects: subjects, MaxMsgsPerSubject: 1,
		AllowMsgTTL: true})
	return &records{a, s}, err
}

// get returns a record.
func (r *records) get(ctx context.Context, subject string) (record, error) {
	return retry(ctx, r.account, callTime, func(ctx context.Context) (record, error) {
		m, err := r.stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return record{subject: subject}, nil
		} else if err != nil {
			return record{}, err
		}
		return record{subject: subject, data: m.Data, seq: m.Sequence, at: m.Time,
			writing: m.Header.Get(jetstream.MsgIDHeader)}, nil
	})
}

// put writes a record if the last one of its subject has the sequence after, and returns the new
// sequence. The error is errChanged if it has not. A ttl is rounded up to seconds; then the server
// removes the record. 0 means never.
//
// An acknowledgement can get lost, and so can a request: each attempt looks whether one before has
// written.
func (r *records) put(ctx context.Context, subject string, data []byte, after uint64, ttl time.Duration) (uint64,
	error) {
	return r.putAs(ctx, nuid.Next(), subject, data, after, ttl)
}

// putAs is put with a name for the writing that others may know.
func (r *records) putAs(ctx context.Context, writing, subject string, data []byte, after uint64,
	ttl time.Duration) (uint64, error) {
	if most := r.nc.MaxPayload() - 1024; int64(len(data)) > most {
		return 0, fmt.Errorf("%s has %d bytes; the server takes %d", subject, len(data), most)
	}
	return retry(ctx, r.account, callTime, func(ctx context.Context) (uint64, error) {
		m := &nats.Msg{Subject: subject, Data: data, Header: nats.Header{}}
		m.Header.Set(jetstream.MsgIDHeader, writing)
		m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(after, 10))
		if ttl > 0 {
			m.Header.Set("Nats-TTL", strconv.FormatInt(int64((ttl+time.Second-1)/time.Second), 10))
		}
		ack, err := r.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
		if err == nil {
			return ack.Sequence, nil
		}
		if !isWrongSequence(err) {
			return 0, err
		}
		now, err := r.get(ctx, subject)
		switch {
		case err != nil:
			return 0, err
		case now.writing == writing:
			return now.seq, nil
		case now.seq == after: // replicas refuse a write while another one is on its way, which was refused in the end
			return 0, nats.ErrTimeout
		}
		return 0, errChanged
	})
}

// isWrongSequence reports whether a message was refused because another one was before it.
func isWrongSequence(err error) bool {
	api := (*jetstream.APIError)(nil)
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
			api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// now returns the time by the clock of the server that keeps the records.
func (r *records) now(ctx context.Context) (time.Time, error) {
	return retry(ctx, r.account, callTime, func(ctx context.Context) (time.Time, error) {
		info, err := r.stream.Info(ctx)
		if err != nil {
			return time.Time{}, err
		}
		return info.TimeStamp, nil
	})
}

// remove removes all records of a subject, which may have wildcards.
func (r *records) remove(ctx context.Context, subject string) error {
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

// matching returns the subjects that have messages and match a filter.
func (r *records) matching(ctx context.Context, filter string) ([]string, error) {
	info, err := retry(ctx, r.account, callTime, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return r.stream.Info(ctx, jetstream.WithSubjectFilter(filter))
	})
	if err != nil {
		return nil, err
	}
	return slices.Collect(maps.Keys(info.State.Subjects)), nil
}

// list yields the records of some subjects, the oldest first. It may yield one that changes
// meanwhile twice.
func (r *records) list(ctx context.Context, subjects ...string) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for e, err := range r.follow(ctx, subjects...) {
			if err == nil && e.seq == 0 {
				return
			}
			if !yield(e, err) || err != nil || e.after == 0 {
				return
			}
		}
	}
}

// follow yields the records of some subjects and then each that is written. The last one that was
// there at the beginning has no others after it. If that one was removed, or there was none, a
// record with the sequence 0 stands in its place. It ends with an error.
func (r *records) follow(ctx context.Context, subjects ...string) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		more, last, failing := true, uint64(0), time.Time{}
		for {
			before := last
			err := r.read(ctx, last+1, subjects, func(e record) bool {
				last = max(last, e.seq)
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
				err = wait(ctx, attemptPause)
			}
			if err = cmp.Or(ctx.Err(), err); err != nil {
				yield(record{}, err)
				return
			}
		}
	}
}

// read reads records from a sequence on with a consumer of its own, until yield returns false or
// something is missing.
func (r *records) read(ctx context.Context, from uint64, subjects []string, yield func(record) bool) error {
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
		if rest == 0 && !yield(record{}) {
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
			if !yield(record{subject: m.Subject(), data: m.Data(), seq: meta.Sequence.Stream, at: meta.Timestamp,
				after: rest}) {
				return nil
			}
		}
		if rest > 0 { // what was missing may have been removed
			now, err := retry(ctx, r.account, callTime, func(ctx context.Context) (*jetstream.ConsumerInfo, error) { return c.Info(ctx) })
			if err != nil {
				return errors.Join(nats.ErrTimeout, err) // a server that was started again has no such consumer
			}
			rest = now.NumPending
		}
	}
}

// digest makes any text a token of a subject, from which it cannot be read again.
func digest(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:16])
}

// jitter returns a random part of a duration.
func jitter(d time.Duration) time.Duration { return rand.N(d) }

// anyToken makes any text a token of a subject.
func anyToken(text string) string { return hex.EncodeToString([]byte(text)) }

// removeSeq removes one record, unless it was replaced.
func (r *records) removeSeq(ctx context.Context, seq uint64) error {
	_, err := retry(ctx, r.account, callTime, func(ctx context.Context) (struct{}, error) {
		err := r.stream.DeleteMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
			err = nil
		}
		return struct{}{}, err
	})
	return err
}
