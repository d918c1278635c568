package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

const (
	// answerPending bounds what a call that does not read keeps. The gateway sends no more than a
	// window.
	answerPending = 2 * window * pieceSize
	// maxItem bounds one item of an answer.
	maxItem = 256 << 20
	// noGatewayTime bounds the wait for a server that has a gateway, such as after a restart.
	noGatewayTime = 10 * time.Second
	resumePause   = 250 * time.Millisecond
)

// errBroken says that an answer broke off.
var errBroken = errors.New(
	"the connection to the fleet broke off before the answer was complete; what was asked for may have happened")

// OpenTenant connects to servers as a client of one tenant, and returns the tenant's space, as a
// client may use it: it submits, watches, reads, asks owners and answers. What is the workers' part
// fails with an error that wraps fs.ErrPermission. It fails at once if no server answers or the
// token is wrong. Once it is connected it reconnects until close is called. See [Open] for the url.
func OpenTenant(ctx context.Context, url, tenant string, o OpenOptions) (s fleet.Space, close func() error, err error) {
	return openTenant(ctx, target{url: url, tls: o.TLS, name: o.Name}, tenant, o.Token)
}

func openTenant(ctx context.Context, to target, tenant, token string) (fleet.Space, func() error, error) {
	to.inbox = clientInbox
	nc, err := to.connect(ctx, clientUser(tenant), token)
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

// forbidden is the error of what only workers do.
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

// get calls an operation that answers with one thing.
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

// decoded yields the items of an answer as what they are.
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
// off. Request is asked for what is still to come.
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
			select {
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			case <-time.After(resumePause):
			}
		}
	}
}

// question is a call that is being answered.
type question struct {
	ctx   context.Context // of the caller
	nc    *nats.Conn
	sub   *nats.Subscription
	first *nats.Msg // of the answer, if next has not seen it
	reply string    // where the gateway hears acknowledgements
	seq   int64     // of the last message
	ended bool
}

// call calls an operation. The question must be closed.
func (r remote) call(ctx context.Context, op string, request any) (*question, error) {
	body, err := plainJSON(request)
	if err != nil {
		return nil, err
	}
	if n := r.nc.MaxPayload(); int64(len(body)) > n {
		return nil, fmt.Errorf("%s: %d bytes are too much; the server takes %d: %w", op, len(body), n, fs.ErrInvalid)
	}
	sub, err := r.nc.SubscribeSync(r.nc.NewInbox())
	if err != nil {
		return nil, err
	}
	c := &question{ctx: ctx, nc: r.nc, sub: sub}
	if err = sub.SetPendingLimits(2*window, answerPending); err == nil {
		err = c.begin(callSubject+op, body)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// begin sends the request until a gateway has it.
func (c *question) begin(subject string, body []byte) error {
	end := time.Now().Add(noGatewayTime)
	for {
		if err := c.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: c.sub.Subject, Data: body}); err != nil {
			return err
		}
		var err error
		if c.first, err = c.receive(); !errors.Is(err, nats.ErrNoResponders) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("the server is there, but nobody answers for the fleet: %w", err)
		}
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-time.After(resumePause):
		}
	}
}

// receive waits for a message.
func (c *question) receive() (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(c.ctx, goneTime)
	defer cancel()
	m, err := c.sub.NextMsgWithContext(ctx)
	switch {
	case c.ctx.Err() != nil:
		return nil, c.ctx.Err()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrSlowConsumer):
		return nil, errBroken
	}
	return m, err
}

// next returns the next item, or io.EOF after the last one.
func (c *question) next() (item []byte, err error) {
	for {
		m := c.first
		if c.first = nil; m == nil {
			if m, err = c.receive(); err != nil {
				return nil, err
			}
		}
		seq, kind, err := parseAnswer(m)
		if err != nil {
			return nil, err
		}
		if seq != c.seq+1 { // messages were lost while the connection was
			return nil, errBroken
		}
		if c.seq, c.reply = seq, m.Reply; seq%ackEvery == 0 {
			if err := c.nc.Publish(c.reply, strconv.AppendInt(nil, seq, 10)); err != nil {
				return nil, err
			}
		}
		switch kind {
		case kindPiece, kindItem:
			if item = append(item, m.Data...); len(item) > maxItem {
				return nil, fmt.Errorf("the server sends more than %d bytes for one thing", maxItem)
			}
			if kind == kindItem {
				return item, nil
			}
		case kindLeave:
			return nil, errBroken
		case kindEnd:
			c.ended = true
			return nil, endError(m.Data)
		}
	}
}

// endError returns the error that an answer ended with, or io.EOF.
func endError(body []byte) error {
	if len(body) == 0 {
		return io.EOF
	}
	var w wireError
	if err := json.Unmarshal(body, &w); err != nil {
		return err
	}
	return w.decode()
}

// close ends the call, and tells the gateway if it has not ended itself. A gateway that does not
// hear it finds out that nobody listens.
func (c *question) close() {
	_ = c.sub.Unsubscribe()
	if c.reply != "" && !c.ended {
		_ = c.nc.Publish(c.reply, []byte(stopText))
	}
}
