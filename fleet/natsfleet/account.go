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
)

const (
	// attemptTime bounds one request to the server. An acknowledgement of a server that has died
	// never comes.
	attemptTime = 2 * time.Second
	// makeTime bounds the making of a stream. A cluster that starts has no leader for some seconds.
	makeTime = 30 * time.Second
	// makePause is between two attempts to make a stream.
	makePause = 200 * time.Millisecond
)

// account is a connection to one account of the servers: the operator's, or a tenant's.
type account struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	limits   fleet.Tenant    // zero in the operator's account
	replicas int             // of each stream
	shards   int             // of the journals
	attempt  time.Duration   // bounds a request about journals
	life     context.Context // ends with the connection
}

// newAccount returns the account that a connection is to.
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

// stream makes a stream, or gives an existing one this configuration. It sets what is the same for
// all streams: on a disk, with the fleet's number of replicas, and read from the leader only,
// because a replica may not have yet what was just acknowledged. Several machines may call it at
// once.
func (a *account) stream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	c.Storage, c.Replicas, c.AllowDirect, c.Discard = jetstream.FileStorage, a.replicas, false, jetstream.DiscardNew
	if c.AllowMsgSchedules {
		c.Discard = jetstream.DiscardOld // the server wants it so; it matters only where a stream has limits
	}
	mark, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(mark)
	c.Metadata = map[string]string{configKey: hex.EncodeToString(sum[:])}
	return retry(ctx, "stream "+c.Name, func(ctx context.Context) (jetstream.Stream, error) {
		// An update costs a cluster a round of agreement, also if it changes nothing.
		if s, err := a.js.Stream(ctx, c.Name); err == nil &&
			s.CachedInfo().Config.Metadata[configKey] == c.Metadata[configKey] {
			return s, nil
		}
		return a.js.CreateOrUpdateStream(ctx, c)
	})
}

// configKey names, in a stream's metadata, the hash of the configuration that the stream was made
// with.
const configKey = "attractor-config"

// keyValue makes a bucket, which keeps the last value of each key, or gives an existing one this
// configuration. Keys written with [jetstream.KeyTTL] end by the server's clock.
func (a *account) keyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	_, err := a.stream(ctx, jetstream.StreamConfig{
		Name: "KV_" + bucket, Subjects: []string{"$KV." + bucket + ".>"}, MaxMsgsPerSubject: 1, AllowRollup: true,
		DenyDelete:  true,
		AllowMsgTTL: true, SubjectDeleteMarkerTTL: time.Minute,
	})
	if err != nil {
		return nil, err
	}
	return retry(ctx, "bucket "+bucket, func(ctx context.Context) (jetstream.KeyValue, error) {
		kv, err := a.js.KeyValue(ctx, bucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			err = fmt.Errorf("%w: %w", errNotYet, err)
		}
		return kv, err
	})
}

// errNotYet means that a server of a cluster does not know what has just been made.
var errNotYet = errors.New("made, but not known to the server yet")

// retry calls attempt until it succeeds, for as long as the servers may only be starting.
func retry[T any](ctx context.Context, what string, attempt func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, makeTime)
	defer cancel()
	// While a cluster starts, some requests get no answer: the first attempts do not wait for long.
	for bound := attemptTime / 8; ; bound = min(2*bound, 2*attemptTime) {
		once, end := context.WithTimeout(ctx, bound)
		v, err := attempt(once)
		end()
		if err == nil || !mayPass(err) {
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, fmt.Errorf("%s: %w", what, err)
		case <-time.After(makePause):
		}
	}
}

// mayPass reports whether an error may be gone when the servers have started, or have a new leader.
func mayPass(err error) bool {
	if api := (*jetstream.APIError)(nil); errors.As(err, &api) {
		return api.Code == 503 && api.ErrorCode != codeNoResources || api.ErrorCode == codeNoPeers ||
			api.ErrorCode == codeInProcess
	}
	for _, e := range []error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected,
		nats.ErrConnectionReconnecting,
		jetstream.ErrJetStreamNotEnabled, jetstream.ErrNoStreamResponse, jetstream.ErrServerShutdown,
		jetstream.ErrConsumerLeadershipChanged, jetstream.ErrConsumerDeleted, jetstream.ErrNoHeartbeat, errNotYet} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// publish stores a message, durably, and returns where. An attempt whose acknowledgement does not
// come is made again: by the message's id, which it sets, the server knows what it has already.
func (a *account) publish(ctx context.Context, m *nats.Msg, o ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	o = append(o, jetstream.WithMsgID(rand.Text()), jetstream.WithRetryAttempts(0))
	return retry(ctx, "a message", func(ctx context.Context) (*jetstream.PubAck, error) {
		return a.js.PublishMsg(ctx, m,
			o...)
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
