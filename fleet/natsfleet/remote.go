package natsfleet

import (
	"bufio"
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
func OpenTenant(ctx context.Context, url, tenant string, o OpenOptions) (s *fleet.Space, close func() error, err error) {
	to := target{url: url, tls: o.TLS, name: o.Name, inbox: clientInbox}
	nc, err := to.connect(ctx, clientUser(tenant), o.Token)
	if err != nil {
		return nil, nil, err
	}
	return remote{nc}.space(), func() error { nc.Close(); return nil }, nil
}

// remote calls the gateway.
type remote struct{ nc *nats.Conn }

// space returns the tenant's space.
func (r remote) space() *fleet.Space {
	return &fleet.Space{Tasks: remoteTasks{r}, Journals: remoteJournals{r}, Objects: remoteObjects{r}, Bus: remoteBus{r},
		Asks: remoteAsks{r}}
}

// forbidden returns the error of methods that only workers may call.
func forbidden(what string) error {
	return fmt.Errorf("a client of a tenant may not %s: %w", what, fs.ErrPermission)
}

// items calls an operation and yields the JSON values of its answer.
func items[T any](ctx context.Context, r remote, op string, request any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		c, err := r.call(ctx, op, request)
		if err != nil {
			yield(none, err)
			return
		}
		defer c.Close()
		for values := json.NewDecoder(c); ; {
			var v T
			err := values.Decode(&v)
			if err == io.EOF || !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// get calls an operation that answers with one value.
func get[T any](ctx context.Context, r remote, op string, request any) (T, error) {
	for v, err := range items[T](ctx, r, op, request) {
		return v, err
	}
	var none T
	return none, errBroken
}

// open calls an operation that answers with contents. It waits for their beginning, so that it can
// return its error.
func (r remote) open(ctx context.Context, op string, in request) (io.ReadCloser, error) {
	c, err := r.call(ctx, op, in)
	if err != nil {
		return nil, err
	}
	data := bufio.NewReader(c)
	if _, err := data.Peek(1); err != nil && err != io.EOF {
		return nil, errors.Join(err, c.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{data, c}, nil
}

// resumed yields the values of a call that has no end, and calls again when the connection broke
// off. request returns the arguments of each call.
func resumed[T any](ctx context.Context, r remote, op string, request func() any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			again := false
			for v, err := range items[T](ctx, r, op, request()) {
				if again = ctx.Err() == nil && (errors.Is(err, errBroken) ||
					errors.Is(err, nats.ErrNoResponders)); again {
					break
				}
				if !yield(v, err) || err != nil {
					return
				}
			}
			if !again {
				return
			}
			if err := engine.Wait(ctx, resumePause); err != nil {
				var none T
				yield(none, err)
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
