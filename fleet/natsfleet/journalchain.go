package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/journal"
)

// Headers of the messages of a chain.
const (
	headerID   = "Attractor-Id"   // of one publication, whatever the number of its attempts
	headerPrev = "Attractor-Prev" // the sequence of the message before it, 0 for the first
)

// chain is the messages of one subject, each of which names the one before it. The server takes a
// message only if the one that it names is the last one, so one of two writers gets an error. All
// are read from the leader of the stream, which has what was acknowledged.
type chain struct {
	*records
	subject string
}

// storedMessage is a message as the stream has stored it.
type storedMessage = jetstream.RawStreamMsg

// number returns a header that holds a number, or 0.
func number(m *storedMessage, key string) int64 {
	n, err := strconv.ParseInt(m.Header.Get(key), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// follows reports whether a message names the one with a sequence as the one before it.
func follows(m *storedMessage, seq uint64) bool {
	return m.Header.Get(headerPrev) == strconv.FormatUint(seq, 10)
}

// takenError says that another message follows the one that was expected to be the last.
type takenError struct{ by *storedMessage }

func (e *takenError) Error() string { return "another writer was faster" }

// errUnknown says that a message may have been written, or may be written later.
var errUnknown = errors.New("it is not known whether it was written")

// errGone says that messages were removed.
var errGone = fmt.Errorf("the log was removed: %w", fs.ErrNotExist)

// publish adds a message after the one with the sequence prev, and returns its sequence. The id
// tells it from all others. The error is a *takenError if another message is there, errGone if prev
// is not there, and wraps errUnknown if there was no answer. What was sent is waited for, also
// after the end of ctx.
func (c chain) publish(ctx context.Context, id string, prev uint64, header nats.Header, data []byte) (uint64, error) {
	m := &nats.Msg{Subject: c.subject, Header: header, Data: data}
	m.Header.Set(headerID, id)
	m.Header.Set(headerPrev, strconv.FormatUint(prev, 10))
	unknown := false
	seq, err := retry(ctx, c.account, makeTime, func(context.Context) (uint64, error) {
		attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.attempt)
		defer cancel()
		ack, err := c.js.PublishMsg(attempt, m, jetstream.WithExpectLastSequencePerSubject(prev),
			jetstream.WithRetryAttempts(0))
		if err == nil {
			return ack.Sequence, nil
		}
		unknown = unknown || !refused(err)
		if !mayPass(err) && !isWrongSequence(err) && !unknown {
			return 0, err
		}
		seq, err := c.settle(context.WithoutCancel(ctx), id, prev, err)
		if err == nil || errors.As(err, new(*takenError)) || errors.Is(err, errGone) {
			unknown = false
		}
		return seq, err
	})
	if err != nil && unknown {
		err = fmt.Errorf("%w: %w", errUnknown, err)
	}
	return seq, err
}

// settle returns the outcome of a message that was sent after prev and got an error: its sequence,
// an error, or errAgain if it may be sent again.
func (c chain) settle(ctx context.Context, id string, prev uint64, cause error) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*c.attempt)
	defer cancel()
	after, err := found(c.stream.GetMsg(ctx, prev+1, jetstream.WithGetMsgSubject(c.subject)))
	if err != nil {
		return 0, err
	}
	if after != nil && after.Header.Get(headerID) == id {
		return after.Sequence, nil
	}
	if after != nil {
		return 0, &takenError{by: after}
	}
	if !isWrongSequence(cause) {
		return 0, cause
	}
	if prev > 0 {
		if there, err := found(c.stream.GetMsg(ctx, prev)); err != nil {
			return 0, err
		} else if there == nil {
			return 0, errGone
		}
	}
	return 0, errAgain // a message is under way between the replicas
}

// refused reports whether the error of a publication says that nothing was written.
func refused(err error) bool {
	var answer *jetstream.APIError
	return errors.As(err, &answer) && answer.ErrorCode != codeStoreFailed && answer.ErrorCode != codeInProcess ||
		errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, nats.ErrMaxPayload) ||
		errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrConnectionClosed)
}

// found returns nil for a message that is not there.
func found(m *storedMessage, err error) (*storedMessage, error) {
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return m, err
}

// get returns the message with a sequence or, given a subject, the first one of it from there on.
// It returns nil if there is none.
func (c chain) get(ctx context.Context, seq uint64, o ...jetstream.GetMsgOpt) (*storedMessage, error) {
	m, err := retry(ctx, c.account, makeTime, func(ctx context.Context) (*storedMessage, error) {
		return found(c.stream.GetMsg(ctx, seq, o...))
	})
	return m, named("the stream of "+c.subject, err)
}

// last returns the last message, nil if there is none.
func (c chain) last(ctx context.Context) (*storedMessage, error) {
	m, err := retry(ctx, c.account, makeTime, func(ctx context.Context) (*storedMessage, error) {
		return found(c.stream.GetLastMsgForSubject(ctx, c.subject))
	})
	return m, named("the stream of "+c.subject, err)
}

// read yields the messages after one sequence, 0 for the first, up to another, which was once the
// last. It fails with errGone if they were removed, and with [journal.ErrCorrupt] if one is
// missing.
func (c chain) read(ctx context.Context, after, upTo uint64) iter.Seq2[*storedMessage, error] {
	return func(yield func(*storedMessage, error) bool) {
		for at := after; at < upTo; {
			next, err := c.get(ctx, at+1, jetstream.WithGetMsgSubject(c.subject))
			if err == nil && (next == nil || next.Sequence > upTo || !follows(next, at)) {
				err = c.missing(ctx, at, upTo)
			}
			if !yield(next, err) || err != nil {
				return
			}
			at = next.Sequence
		}
	}
}

// missing returns why no message follows the one with the sequence at.
func (c chain) missing(ctx context.Context, at, upTo uint64) error {
	for _, seq := range []uint64{at, upTo} {
		if seq == 0 {
			continue
		}
		if there, err := c.get(ctx, seq); err != nil {
			return err
		} else if there == nil {
			return errGone
		}
	}
	return fmt.Errorf("%w: there is no message %s after number %d", journal.ErrCorrupt, c.subject, at)
}
