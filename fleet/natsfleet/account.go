package natsfleet

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/engine"
)

const (
	// attemptTime bounds one request to the server. An acknowledgement of a server that has died
	// never comes.
	attemptTime = 2 * time.Second
	// callTime bounds a call with its attempts.
	callTime = 5 * attemptTime
	// makeTime bounds the making of a stream, and what must not fail while a server is started
	// again or replicas elect a leader.
	makeTime = 30 * time.Second
	// attemptPause is between two attempts.
	attemptPause = 100 * time.Millisecond
)

// account is a connection to one account of the servers: the operator's, or a tenant's.
type account struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	limits   fleet.Tenant    // zero in the operator's account
	replicas int             // of each stream
	shards   int             // of the journals
	attempt  time.Duration   // bounds one request
	life     context.Context // ends with the connection
}

// newAccount returns the account of a connection.
func newAccount(nc *nats.Conn, limits fleet.Tenant) (*account, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(attemptTime))
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	nc.SetClosedHandler(func(*nats.Conn) { end() })
	return &account{nc: nc, js: js, limits: limits, replicas: 1, shards: defaultShards, attempt: attemptTime,
		life: life}, nil
}

// configKey names, in the metadata of a stream or consumer, the hash of the configuration that it
// was made with. If the hash is the same, no update is sent: it would cost a cluster a round of
// agreement, even if it changes nothing.
const configKey = "attractor-config"

// stream makes a stream, or gives an existing one this configuration. It sets what all streams have
// in common: storage in files, the fleet's number of replicas, and that a full stream refuses new
// messages. Unless the configuration says otherwise, a stream is read from its leader only, because
// a replica may not have yet what was just acknowledged. Several machines may call it at once.
func (a *account) stream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	c.Storage, c.Replicas, c.Discard = jetstream.FileStorage, a.replicas, jetstream.DiscardNew
	if c.AllowMsgSchedules {
		c.Discard = jetstream.DiscardOld // the server wants it so; it matters only where a stream has limits
	}
	sum, err := configHash(c)
	if err != nil {
		return nil, err
	}
	s, err := retry(ctx, a, makeTime, func(ctx context.Context) (jetstream.Stream, error) {
		c.Metadata = map[string]string{configKey: sum, shardsKey: fmt.Sprint(a.shards)}
		s, err := a.js.Stream(ctx, c.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return a.js.CreateStream(ctx, c)
		}
		if err != nil || s.CachedInfo().Config.Metadata[configKey] == sum {
			return s, err
		}
		c.Metadata[shardsKey] = s.CachedInfo().Config.Metadata[shardsKey]
		return a.js.UpdateStream(ctx, c)
	})
	return s, named("stream "+c.Name, err)
}

// consumer makes a durable consumer of a stream, or gives an existing one this configuration.
// Several machines may call it at once.
func (a *account) consumer(ctx context.Context, s jetstream.Stream,
	c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	sum, err := configHash(c)
	if err != nil {
		return nil, err
	}
	c.Metadata = map[string]string{configKey: sum}
	made, err := retry(ctx, a, makeTime, func(ctx context.Context) (jetstream.Consumer, error) {
		there, err := s.Consumer(ctx, c.Durable)
		known := err == nil && there.CachedInfo().Config.Metadata[configKey] == sum
		if known || err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return there, err
		}
		return s.CreateOrUpdateConsumer(ctx, c)
	})
	return made, named("consumer "+c.Durable, err)
}

// configHash returns the hash of a configuration that has no metadata yet.
func configHash(config any) (string, error) {
	text, err := json.Marshal(config)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// retry calls attempt until it succeeds, its error is final, ctx ends, or the time within is over.
func retry[T any](ctx context.Context, a *account, within time.Duration,
	attempt func(context.Context) (T, error)) (T, error) {
	end := time.Now().Add(within)
	// While a cluster starts, some requests get no answer: the first attempts do not wait for long.
	for bound := a.attempt / 4; ; bound = min(2*bound, a.attempt) {
		once, cancel := context.WithTimeout(ctx, bound)
		v, err := attempt(once)
		cancel()
		switch {
		case err == nil || !mayPass(err):
			return v, err
		case time.Now().Add(attemptPause).After(end):
			return v, fmt.Errorf("the server has not answered for %v: %w", within, err)
		}
		if ended := engine.Wait(ctx, attemptPause); ended != nil {
			return v, fmt.Errorf("%w; the last attempt: %v", ended, err)
		}
	}
}

// Codes of the server's answers.
const (
	codeNoPeers     = 10005 // too few servers are up to make a stream
	codeNoResources = 10023 // an account's limit
	codeStoreFailed = 10077 // such as a full disk
	codeInProcess   = 10158 // an earlier attempt to write the same message is still under way
)

// errAgain is an error after which an attempt is repeated.
var errAgain = errors.New("try again")

// mayPass reports whether an error is temporary, because the servers start or elect a leader. Other
// errors are final.
func mayPass(err error) bool {
	if api := (*jetstream.APIError)(nil); errors.As(err, &api) {
		return api.Code == 503 && api.ErrorCode != codeNoResources && api.ErrorCode != codeStoreFailed ||
			api.ErrorCode == codeNoPeers || api.ErrorCode == codeInProcess ||
			api.ErrorCode == jetstream.JSErrCodeStreamNameInUse // somebody has made it meanwhile
	}
	for _, e := range []error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected,
		nats.ErrConnectionReconnecting, nats.ErrStaleConnection, nats.ErrReconnectBufExceeded,
		jetstream.ErrJetStreamNotEnabled, jetstream.ErrNoStreamResponse, jetstream.ErrServerShutdown,
		jetstream.ErrConsumerLeadershipChanged, jetstream.ErrConsumerDeleted, jetstream.ErrNoHeartbeat,
		jetstream.ErrStreamNameAlreadyInUse, errAgain} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// publish stores a message, durably, and returns its acknowledgement. An attempt without an
// acknowledgement is made again: publish sets an id, by which the server knows what it has already.
func (a *account) publish(ctx context.Context, m *nats.Msg, o ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	o = append(o, jetstream.WithMsgID(rand.Text()), jetstream.WithRetryAttempts(0))
	return retry(ctx, a, makeTime, func(ctx context.Context) (*jetstream.PubAck, error) {
		return a.js.PublishMsg(ctx, m, o...)
	})
}

// each calls do for 0 to n-1, on a goroutine each, and waits for all.
func each(n int, do func(i int)) {
	var g sync.WaitGroup
	for i := range n {
		g.Go(func() { do(i) })
	}
	g.Wait()
}
