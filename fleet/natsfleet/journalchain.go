package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strconv"
	"time"

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
// message only if the one that it names is the last one, so one of two writers gets an error. A
// reader that follows the links misses nothing, whichever replica it reads.
type chain struct {
	*journalStream
	subject string
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
	after, err := c.once(ctx, getRequest{Seq: prev + 1, NextFor: c.subject})
	if err != nil {
		return 0, err
	}
	if after != nil && after.header.Get(headerID) == id {
		return after.seq, nil
	}
	if after != nil {
		return 0, &takenError{by: after}
	}
	if !isWrongSequence(cause) {
		return 0, cause
	}
	if prev > 0 {
		if there, err := c.once(ctx, getRequest{Seq: prev}); err != nil {
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

// last returns the last message, nil if there is none.
func (c chain) last(ctx context.Context) (*storedMessage, error) {
	return c.get(ctx, getRequest{LastFor: c.subject})
}

// read yields the messages after one sequence, 0 for the first, up to another, which was once the
// last. It fails with errGone if they were removed, and with [journal.ErrCorrupt] if one is
// missing.
func (c chain) read(ctx context.Context, after, upTo uint64) iter.Seq2[*storedMessage, error] {
	return func(yield func(*storedMessage, error) bool) {
		for at := after; at < upTo; {
			next, err := c.more(ctx, at, upTo)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, m := range next {
				if !yield(m, nil) {
					return
				}
				at = m.seq
			}
		}
	}
}

// more returns the messages that follow one, at least one message.
func (c chain) more(ctx context.Context, at, upTo uint64) ([]*storedMessage, error) {
	if upTo-at > 1 {
		// Without an answer, or from a replica that lags behind, the leader has it.
		if got, err := c.batch(ctx, getRequest{Seq: at + 1, NextFor: c.subject}); err == nil || len(got) > 0 {
			if got = linked(got, at, upTo); len(got) > 0 {
				return got, nil
			}
		}
	}
	next, err := c.get(ctx, getRequest{Seq: at + 1, NextFor: c.subject})
	if err != nil {
		return nil, err
	}
	if next != nil && len(linked([]*storedMessage{next}, at, upTo)) == 1 {
		return []*storedMessage{next}, nil
	}
	for _, seq := range []uint64{at, upTo} {
		if seq == 0 {
			continue
		}
		if there, err := c.get(ctx, getRequest{Seq: seq}); err != nil {
			return nil, err
		} else if there == nil {
			return nil, errGone
		}
	}
	return nil, fmt.Errorf("%w: stream %s has no message %s after number %d", journal.ErrCorrupt, c.name, c.subject, at)
}

// linked returns the longest beginning of messages in which each names the one before it.
func linked(messages []*storedMessage, at, upTo uint64) []*storedMessage {
	for i, m := range messages {
		if m.seq > upTo || m.header.Get(headerPrev) != strconv.FormatUint(at, 10) {
			return messages[:i]
		}
		at = m.seq
	}
	return messages
}

// batchMessages and batchBytes bound what one request reads.
const (
	batchMessages = 256
	batchBytes    = 1 << 20
)

// Subjects of the server's API, each followed by the name of a stream.
const (
	apiGet    = "$JS.API.STREAM.MSG.GET."
	apiDirect = "$JS.API.DIRECT.GET."
)

// journalStream reads a stream in batches from any replica, and single messages from the leader,
// which the client of JetStream does not do.
type journalStream struct {
	*account
	name string
}

// storedMessage is a message as a stream has stored it.
type storedMessage struct {
	subject string
	seq     uint64
	time    time.Time
	header  nats.Header
	data    []byte
}

// number returns a header that holds a number, or 0.
func (m *storedMessage) number(key string) int64 {
	n, err := strconv.ParseInt(m.header.Get(key), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// getRequest asks for messages.
type getRequest struct {
	Seq      uint64 `json:"seq,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

// get returns a message as the stream's leader has it, or nil if there is none.
func (s *journalStream) get(ctx context.Context, r getRequest) (*storedMessage, error) {
	m, err := retry(ctx, s.account, makeTime, func(ctx context.Context) (*storedMessage, error) { return s.once(ctx, r) })
	return m, named("stream "+s.name, err)
}

// once makes one attempt of get.
func (s *journalStream) once(ctx context.Context, r getRequest) (*storedMessage, error) {
	request, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.attempt)
	defer cancel()
	reply, err := s.nc.RequestWithContext(ctx, apiGet+s.name, request)
	if err != nil {
		return nil, err
	}
	return stored(reply.Data)
}

// stored decodes the answer to a getRequest.
func stored(data []byte) (*storedMessage, error) {
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message *struct {
			Subject string    `json:"subject"`
			Seq     uint64    `json:"seq"`
			Header  []byte    `json:"hdrs"`
			Data    []byte    `json:"data"`
			Time    time.Time `json:"time"`
		} `json:"message"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	if answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
		return nil, nil
	}
	if answer.Error != nil {
		return nil, answer.Error
	}
	if answer.Message == nil {
		return nil, errors.New("the server's answer has no message")
	}
	m := &storedMessage{subject: answer.Message.Subject, seq: answer.Message.Seq, time: answer.Message.Time,
		data: answer.Message.Data}
	if len(answer.Message.Header) > 0 {
		header, err := nats.DecodeHeadersMsg(answer.Message.Header)
		if err != nil {
			return nil, err
		}
		m.header = header
	}
	return m, nil
}

// batch returns the next messages as any replica has them. It may lag behind the leader, and the
// batch may be cut short. It makes one attempt.
func (s *journalStream) batch(ctx context.Context, r getRequest) ([]*storedMessage, error) {
	r.Batch, r.MaxBytes = batchMessages, batchBytes
	request, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	inbox := s.nc.NewInbox()
	sub, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = sub.Unsubscribe() // it fails if the connection is closed, which has ended the subscription
	}()
	if err := s.nc.PublishRequest(apiDirect+s.name, inbox, request); err != nil {
		return nil, err
	}
	var got []*storedMessage
	for {
		attempt, cancel := context.WithTimeout(ctx, s.attempt)
		reply, err := sub.NextMsgWithContext(attempt)
		cancel()
		if err != nil {
			return got, err
		}
		switch status := reply.Header.Get("Status"); status {
		case "":
		case "204", "404": // the end of the batch, nothing
			return got, nil
		default:
			return got, fmt.Errorf("stream %s: the server answers %s %s", s.name, status,
				reply.Header.Get("Description"))
		}
		m, err := delivered(reply)
		if err != nil {
			return got, fmt.Errorf("stream %s: %w", s.name, err)
		}
		got = append(got, m)
	}
}

// delivered returns the stored message in an answer to a direct request.
func delivered(reply *nats.Msg) (*storedMessage, error) {
	seq, err := strconv.ParseUint(reply.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339Nano, reply.Header.Get(jetstream.TimeStampHeaer))
	if err != nil {
		return nil, err
	}
	return &storedMessage{subject: reply.Header.Get(jetstream.SubjectHeader), seq: seq, time: at, header: reply.Header,
		data: reply.Data}, nil
}
