package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

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
