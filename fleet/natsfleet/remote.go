package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/engine"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/journal"
)

const (
	// noGatewayTime bounds the wait for a server that has a gateway, such as after a restart.
	noGatewayTime = 10 * time.Second
	resumePause   = 250 * time.Millisecond
)

// errBroken says that an answer broke off.
var errBroken = errors.New(
	"the connection to the fleet broke off before the answer was complete; what was asked for may have happened")

// OpenTenant connects to servers as a client of one tenant, and returns the tenant's space. A
// client submits, watches, reads, asks owners and answers; methods for workers return an error that
// wraps fs.ErrPermission. OpenTenant fails at once if no server answers or the token is wrong. Once
// it is connected it reconnects until close is called. See [Open] for the url.
func OpenTenant(ctx context.Context, url, tenant string, o OpenOptions) (s fleet.Space, close func() error, err error) {
	to := target{url: url, tls: o.TLS, name: o.Name, inbox: clientInbox}
	nc, err := to.connect(ctx, clientUser(tenant), o.Token)
	if err != nil {
		return nil, nil, err
	}
	return remote{nc}, func() error { nc.Close(); return nil }, nil
}

// remote implements [fleet.Space] by calls of the gateway.
type remote struct{ nc *nats.Conn }

// Tasks implements [fleet.Space].
func (r remote) Tasks() fleet.Tasks { return remoteTasks{r} }

// Journals implements [fleet.Space].
func (r remote) Journals() journal.Store { return remoteJournals{r} }

// Objects implements [fleet.Space].
func (r remote) Objects() fleet.Objects { return remoteObjects{r} }

// Bus implements [fleet.Space].
func (r remote) Bus() fleet.Bus { return remoteBus{r} }

// Asks implements [fleet.Space].
func (r remote) Asks() fleet.Asks { return remoteAsks{r} }

// forbidden returns the error of methods that only workers may call.
func forbidden(what string) error {
	return fmt.Errorf("a client of a tenant may not %s: %w", what, fs.ErrPermission)
}

// items calls an operation and yields the items of its answer.
func (r remote) items(ctx context.Context, op string, request any) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		c, err := r.call(ctx, op, request)
		if err != nil {
			yield(nil, err)
			return
		}
		defer c.close()
		for {
			item, err := c.next()
			if err == io.EOF || !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// get calls an operation that answers with one item.
func get[T any](ctx context.Context, r remote, op string, request any) (v T, err error) {
	for item, err := range r.items(ctx, op, request) {
		if err != nil {
			return v, err
		}
		if raw, ok := any(&v).(*[]byte); ok {
			*raw = item
			return v, nil
		}
		return v, json.Unmarshal(item, &v)
	}
	return v, errBroken
}

// decoded yields the items of an answer, decoded from JSON.
func decoded[T any](items iter.Seq2[[]byte, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range items {
			var v T
			if err == nil {
				err = json.Unmarshal(item, &v)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// resumed yields the items of a call that has no end, and calls again when the connection broke
// off. request returns the arguments of each call.
func (r remote) resumed(ctx context.Context, op string, request func() any) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			again := false
			for item, err := range r.items(ctx, op, request()) {
				if again = ctx.Err() == nil && (errors.Is(err, errBroken) ||
					errors.Is(err, nats.ErrNoResponders)); again {
					break
				}
				if !yield(item, err) || err != nil {
					return
				}
			}
			if !again {
				return
			}
			if err := engine.Wait(ctx, resumePause); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// call calls an operation. It waits for a gateway. The caller closes what it returns.
func (r remote) call(ctx context.Context, op string, request any) (*clientCall, error) {
	body, err := texts.PlainJSON(request)
	if err != nil {
		return nil, err
	}
	if n := r.nc.MaxPayload(); int64(len(body)) > n {
		return nil, fmt.Errorf("%s: %d bytes are too much; the server takes %d: %w", op, len(body), n, fs.ErrInvalid)
	}
	q := &clientCall{ctx: ctx, nc: r.nc}
	for end := time.Now().Add(noGatewayTime); ; {
		err := q.fetch(callSubject+op, body)
		switch {
		case err == nil:
			return q, nil
		case !errors.Is(err, nats.ErrNoResponders):
			return nil, err
		case time.Now().After(end):
			return nil, fmt.Errorf("the server is there, but nobody answers for the fleet: %w", err)
		}
		if err := engine.Wait(ctx, resumePause); err != nil {
			return nil, err
		}
	}
}
