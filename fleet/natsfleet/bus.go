package natsfleet

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/engine"
	"github.com/attractor-go/attractor/journal"
)

const (
	listenMessages = 4096     // bounds what a slow listener has not read yet
	listenBytes    = 16 << 20 // likewise
	serveAtOnce    = 64       // bounds the requests that one owner answers at a time; others wait
	// requestTime bounds the wait for an owner's reply, because an owner may die before it replies.
	requestTime = 10 * time.Second
)

// bus implements [fleet.Bus] with messages that no stream keeps.
type bus struct{ account *account }

func newBus(a *account) fleet.Bus { return &bus{a} }

// idToken returns an id as a token of a subject, or an error if it is invalid: it may be a
// stranger's.
func idToken(id string) (string, error) { return engine.Token(id), journal.CheckID(id) }

// Publish implements [fleet.Bus].
func (b *bus) Publish(ctx context.Context, id string, data []byte) error {
	token, err := idToken(id)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return b.account.nc.Publish("live."+token, data)
}

// Listen implements [fleet.Bus]. In a cluster, messages that are published through another server
// may be missed for some milliseconds more.
func (b *bus) Listen(ctx context.Context, id string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		token, err := "*", error(nil)
		if id != "" {
			token, err = idToken(id)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		sub, err := b.account.nc.SubscribeSync("live." + token)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = sub.Unsubscribe() }() // fails only if the connection is closed, which ends it as well
		if err = sub.SetPendingLimits(listenMessages, listenBytes); err == nil {
			err = b.account.flush(ctx)
		}
		if !yield(nil, err) || err != nil {
			return
		}
		for {
			m, err := sub.NextMsgWithContext(ctx)
			switch {
			case errors.Is(err, nats.ErrSlowConsumer): // says that messages were lost
			case err != nil:
				yield(nil, err)
				return
			case !yield(append([]byte{}, m.Data...), nil):
				return
			}
		}
	}
}

// flush waits until the server has everything that was sent to it.
func (a *account) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	return a.nc.FlushWithContext(ctx)
}

// Serve implements [fleet.Bus].
func (b *bus) Serve(ctx context.Context, id string,
	handle func(ctx context.Context, request []byte) []byte) (func(), error) {
	token, err := idToken(id)
	if err != nil {
		return nil, err
	}
	serving := ctx
	ctx, cancel := context.WithCancel(ctx)
	var handlers sync.WaitGroup
	slots, stopped := make(chan struct{}, serveAtOnce), make(chan struct{})
	sub, err := b.account.nc.Subscribe("ctl."+token, func(m *nats.Msg) {
		select {
		case slots <- struct{}{}:
		case <-stopped:
			return
		}
		handlers.Go(func() {
			defer func() { <-slots }()
			_ = m.Respond(handle(ctx, m.Data)) // who gets no reply asks again
		})
	})
	if err == nil {
		err = b.account.flush(ctx)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	closed := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(closed) })
	stop := sync.OnceFunc(func() {
		close(stopped)
		if sub.Unsubscribe() == nil { // else the connection is closed, and so is the subscription
			<-closed
			_ = b.account.flush(context.WithoutCancel(serving)) // else the server hears of it a little later
		}
		handlers.Wait()
		cancel()
	})
	unhook := context.AfterFunc(serving, stop)
	return func() { unhook(); stop() }, nil
}

// Request implements [fleet.Bus].
func (b *bus) Request(ctx context.Context, id string, request []byte) ([]byte, error) {
	token, err := idToken(id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	m, err := b.account.nc.RequestWithContext(ctx, "ctl."+token, request)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fleet.ErrNoOwner
	}
	if err != nil {
		return nil, err
	}
	return m.Data, nil
}
