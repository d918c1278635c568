package natsfleet

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/fleet/internal/engine"
)

const (
	queueStream = "queue"
	queuePrefix = "queue." // a task that is due, or claimed
	laterPrefix = "later." // a task that is due later

	// workersConsumer delivers the queue to claimers.
	workersConsumer = "workers"
	// deliveredWait is the time after which the server delivers a message again that its claimer
	// has not answered. A claimer that has claimed the task asks for more time.
	deliveredWait = 3 * time.Second
)

// queue implements [engine.Queue] with a stream, in which each message is delivered to one claimer.
type queue struct {
	*records
	workers jetstream.Consumer
}

func newQueue(ctx context.Context, a *account) (*queue, error) {
	// Scheduled messages want DiscardOld. It only discards the message of a task that gets a newer
	// one.
	s, err := a.stream(ctx, jetstream.StreamConfig{
		Name: queueStream, Subjects: []string{queuePrefix + "*", laterPrefix + "*"},
		Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1,
		AllowMsgSchedules: true, AllowRollup: true,
	})
	if err != nil {
		return nil, err
	}
	c := jetstream.ConsumerConfig{
		Durable: workersConsumer, FilterSubject: queuePrefix + "*", AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: deliveredWait, MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: 1 << 16,
	}
	if a.limits.Limit > 0 {
		c.MaxAckPending = a.limits.Limit
	}
	workers, err := a.consumer(ctx, s, c)
	return &queue{&records{a, s}, workers}, err
}

// Add implements [engine.Queue].
func (q *queue) Add(ctx context.Context, writing, id string, data []byte, most int) (full int, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for {
		info, err := retry(ctx, q.account, callTime, func(ctx context.Context) (*jetstream.StreamInfo, error) {
			return q.stream.Info(ctx)
		})
		if err != nil {
			return 0, err
		}
		if there, err := q.Get(ctx, queuePrefix+engine.Token(id)); err != nil || there.Seq > 0 {
			return 0, err
		}
		if n := int(info.State.Msgs); most > 0 && n >= most {
			return n, nil
		}
		m := &nats.Msg{Subject: queuePrefix + engine.Token(id), Data: data, Header: nats.Header{}}
		m.Header.Set(jetstream.MsgIDHeader, writing)
		m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, "0")
		if most > 0 { // then nobody else may have added one meanwhile
			m.Header.Set(jetstream.ExpectedLastSeqHeader, strconv.FormatUint(info.State.LastSeq, 10))
		}
		once, end := context.WithTimeout(ctx, q.attempt)
		_, err = q.js.PublishMsg(once, m, jetstream.WithRetryAttempts(0))
		end()
		if err == nil || !isWrongSequence(err) && !mayPass(err) {
			return 0, err
		}
		if !isWrongSequence(err) && engine.Wait(ctx, attemptPause) != nil {
			return 0, err
		}
	}
}

// Next implements [engine.Queue]. While the servers do not answer there is no message.
func (q *queue) Next(ctx context.Context) (engine.Message, error) {
	for m, err := range q.fetch(ctx, q.workers, 1) {
		switch {
		case err == nil:
			return message{q, m}, nil
		case ctx.Err() != nil || !mayPass(err):
			return nil, err
		}
		return nil, engine.Wait(ctx, attemptPause)
	}
	return nil, nil
}

// Later implements [engine.Queue].
func (q *queue) Later(ctx context.Context, id string, at time.Time) error {
	m := &nats.Msg{Subject: laterPrefix + engine.Token(id), Header: nats.Header{}}
	m.Header.Set("Nats-Schedule", "@at "+at.UTC().Format(time.RFC3339Nano))
	m.Header.Set("Nats-Schedule-Target", queuePrefix+engine.Token(id))
	_, err := retry(ctx, q.account, callTime, func(ctx context.Context) (*jetstream.PubAck, error) {
		return q.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	})
	return err
}

// Remove implements [engine.Queue]. It deletes messages by their sequences, so that they do not
// count as delivered any more.
func (q *queue) Remove(ctx context.Context, id string) error {
	for _, prefix := range []string{laterPrefix, queuePrefix} {
		m, err := q.Get(ctx, prefix+engine.Token(id))
		if err == nil && m.Seq > 0 {
			err = q.RemoveSeq(ctx, m.Seq)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// message implements [engine.Message]. Answers to the server may get lost: then it delivers the
// message again after deliveredWait, or after the last delay.
type message struct {
	q *queue
	jetstream.Msg
}

// ID implements [engine.Message].
func (m message) ID() string { return engine.TokenID(strings.TrimPrefix(m.Subject(), queuePrefix)) }

// Writing implements [engine.Message].
func (m message) Writing() string { return m.Headers().Get(jetstream.MsgIDHeader) }

// Current implements [engine.Message].
func (m message) Current(ctx context.Context) (bool, error) {
	meta, err := m.Metadata()
	if err != nil {
		return false, err
	}
	there, err := m.q.Get(ctx, m.Subject())
	return there.Seq == meta.Sequence.Stream, err
}

// Delay implements [engine.Message]. A [jetstream.Msg] can be delayed only once.
func (m message) Delay(d time.Duration) {
	text := "-NAK"
	if d > 0 {
		text += fmt.Sprintf(` {"delay":%d}`, max(d, time.Millisecond))
	}
	_ = m.q.nc.Publish(m.Reply(), []byte(text)) // see above
}

// Done implements [engine.Message].
func (m message) Done(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, m.q.attempt)
	defer cancel()
	_, _ = m.q.nc.RequestWithContext(ctx, m.Reply(), []byte("+ACK")) // see above
}
