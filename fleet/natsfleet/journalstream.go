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

const (
	// patience bounds a call whose attempts get no answer, as while replicas elect a leader or a
	// server restarts.
	patience = 30 * time.Second
	// batchMessages and batchBytes bound what one request reads.
	batchMessages = 256
	batchBytes    = 1 << 20
)

// Subjects of the server's API, each followed by the name of a stream.
const (
	apiGet    = "$JS.API.STREAM.MSG.GET."
	apiDirect = "$JS.API.DIRECT.GET."
	apiPurge  = "$JS.API.STREAM.PURGE."
)

// journalStream is one JetStream stream of an account.
type journalStream struct {
	a    *account
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

// makeStream returns the stream of a configuration and makes it if it is not there. Any number of
// processes may do so at once. A stream that is there keeps its configuration, which makeStream
// returns, but for the number of replicas.
func makeStream(ctx context.Context, a *account, want jetstream.StreamConfig) (*journalStream, jetstream.StreamConfig,
	error) {
	var config jetstream.StreamConfig
	err := a.attempts(ctx, func(ctx context.Context) error {
		s, err := a.js.Stream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			s, err = a.js.CreateStream(ctx, want)
		}
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return errAgain // somebody has made it meanwhile
		}
		if err == nil && s.CachedInfo().Config.Replicas != want.Replicas {
			more := s.CachedInfo().Config
			more.Replicas = want.Replicas
			s, err = a.js.UpdateStream(ctx, more)
		}
		if err == nil {
			config = s.CachedInfo().Config
		}
		return err
	})
	if err != nil {
		return nil, config, fmt.Errorf("stream %s: %w", want.Name, err)
	}
	return &journalStream{a: a, name: want.Name}, config, nil
}

// errAgain is an error after which an attempt is repeated.
var errAgain = errors.New("try again")

// attempts calls try, with a context for one attempt, until its error is one that a repetition does
// not mend, ctx ends, or patience is at its end.
func (a *account) attempts(ctx context.Context, try func(ctx context.Context) error) error {
	end := time.Now().Add(patience)
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		if err := ctx.Err(); err != nil {
			return err
		}
		attempt, cancel := context.WithTimeout(ctx, a.attempt)
		err := try(attempt)
		cancel()
		if err == nil || !passing(err) {
			return err
		}
		if time.Now().Add(pause).After(end) {
			return fmt.Errorf("the server has not answered for %v: %w", patience, err)
		}
		if ctxErr := wait(ctx, pause); ctxErr != nil {
			return ctxErr
		}
	}
}

// wait waits for a time, or until ctx ends and returns its error.
func wait(ctx context.Context, pause time.Duration) error {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Codes of the server's answers.
const (
	codeNoPeers     = 10005 // too few servers are up to make a stream
	codeNoResources = 10023 // an account's limit
	codeStoreFailed = 10077 // such as a full disk
	codeInProcess   = 10158 // an earlier attempt to write the same message is still under way
)

// passing reports whether an error may be gone at the next attempt. An answer of the server is
// final unless it says that the server is not ready.
func passing(err error) bool {
	var answer *jetstream.APIError
	if errors.As(err, &answer) {
		return answer.Code == 503 && answer.ErrorCode != codeNoResources && answer.ErrorCode != codeStoreFailed ||
			answer.ErrorCode == codeNoPeers || answer.ErrorCode == codeInProcess
	}
	for _, final := range []error{nats.ErrConnectionClosed, nats.ErrMaxPayload, nats.ErrPermissionViolation,
		nats.ErrAuthorization,
		nats.ErrBadSubject, jetstream.ErrStreamNotFound, errGone} {
		if errors.Is(err, final) {
			return false
		}
	}
	return !errors.As(err, new(*takenError))
}

// getRequest asks for messages.
type getRequest struct {
	Seq       uint64   `json:"seq,omitempty"`
	LastFor   string   `json:"last_by_subj,omitempty"`
	NextFor   string   `json:"next_by_subj,omitempty"`
	MultiLast []string `json:"multi_last,omitempty"`
	Batch     int      `json:"batch,omitempty"`
	MaxBytes  int      `json:"max_bytes,omitempty"`
}

// get returns a message as the stream's leader has it, or nil if there is none.
func (s *journalStream) get(ctx context.Context, r getRequest) (*storedMessage, error) {
	var m *storedMessage
	err := s.a.attempts(ctx, func(ctx context.Context) (err error) {
		m, err = s.once(ctx, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", s.name, err)
	}
	return m, nil
}

// once is get in a single attempt.
func (s *journalStream) once(ctx context.Context, r getRequest) (*storedMessage, error) {
	request, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.a.attempt)
	defer cancel()
	reply, err := s.a.nc.RequestWithContext(ctx, apiGet+s.name, request)
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
	inbox := s.a.nc.NewInbox()
	sub, err := s.a.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = sub.Unsubscribe() // it fails if the connection is closed, which has ended the subscription
	}()
	if err := s.a.nc.PublishRequest(apiDirect+s.name, inbox, request); err != nil {
		return nil, err
	}
	var got []*storedMessage
	for {
		attempt, cancel := context.WithTimeout(ctx, s.a.attempt)
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

// purge removes the messages of a subject that are older than before; 0 means all.
func (s *journalStream) purge(ctx context.Context, subject string, before uint64) error {
	request, err := json.Marshal(map[string]any{"filter": subject, "seq": before})
	if err != nil {
		return err
	}
	err = s.a.attempts(ctx, func(ctx context.Context) error {
		reply, err := s.a.nc.RequestWithContext(ctx, apiPurge+s.name, request)
		if err != nil {
			return err
		}
		var answer struct {
			Error *jetstream.APIError `json:"error"`
		}
		if err := json.Unmarshal(reply.Data, &answer); err != nil {
			return err
		}
		if answer.Error != nil {
			return answer.Error
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("stream %s: cannot remove %s: %w", s.name, subject, err)
	}
	return nil
}

// subjects returns the subjects that have messages and match a filter.
func (s *journalStream) subjects(ctx context.Context, filter string) ([]string, error) {
	var found []string
	err := s.a.attempts(ctx, func(ctx context.Context) error {
		handle, err := s.a.js.Stream(ctx, s.name)
		if err != nil {
			return err
		}
		info, err := handle.Info(ctx, jetstream.WithSubjectFilter(filter))
		if err != nil {
			return err
		}
		found = found[:0]
		for subject := range info.State.Subjects {
			found = append(found, subject)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", s.name, err)
	}
	return found, nil
}
