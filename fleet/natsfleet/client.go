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
func OpenTenant(ctx context.Context, url, tenant string,
	o OpenOptions) (s *fleet.Space, close func() error, err error) {
	to := target{url: url, o: o, inbox: clientInbox}
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
	return &fleet.Space{Tasks: remoteTasks{r}, Journals: remoteJournals{r}, Objects: remoteObjects{r},
		Bus: remoteBus{r}, Asks: remoteAsks{r}}
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

// remoteTasks implements [fleet.Tasks] for clients.
type remoteTasks struct{ remote }

// Submit implements [fleet.Tasks].
func (r remoteTasks) Submit(ctx context.Context, t fleet.Task) (fleet.Status, bool, error) {
	s, err := get[taskResult](ctx, r.remote, "tasks.submit", t)
	return s.Status, s.New, err
}

// Get implements [fleet.Tasks].
func (r remoteTasks) Get(ctx context.Context, id string) (fleet.Task, fleet.Status, error) {
	t, err := get[taskResult](ctx, r.remote, "tasks.get", request{ID: id})
	return t.Task, t.Status, err
}

// List implements [fleet.Tasks].
func (r remoteTasks) List(ctx context.Context) iter.Seq2[fleet.Status, error] {
	return items[fleet.Status](ctx, r.remote, "tasks.list", request{})
}

// Watch implements [fleet.Tasks]. After a break it begins anew with the current statuses.
func (r remoteTasks) Watch(ctx context.Context, id string) iter.Seq2[fleet.Status, error] {
	return resumed[fleet.Status](ctx, r.remote, "tasks.watch", func() any { return request{ID: id} })
}

// Cancel implements [fleet.Tasks].
func (r remoteTasks) Cancel(ctx context.Context, id string) error {
	_, err := get[nothing](ctx, r.remote, "tasks.cancel", request{ID: id})
	return err
}

// Claim implements [fleet.Tasks].
func (r remoteTasks) Claim(context.Context, string, time.Duration) (fleet.Claim, error) {
	return nil, forbidden("claim tasks")
}

// Remove implements [fleet.Tasks].
func (r remoteTasks) Remove(ctx context.Context, ids ...string) error {
	_, err := get[nothing](ctx, r.remote, "tasks.remove", request{IDs: ids})
	return err
}

// remoteJournals implements [journal.Store] for clients, which only read.
type remoteJournals struct{ remote }

// Create implements [journal.Store].
func (r remoteJournals) Create(context.Context, string) (journal.Log, error) {
	return nil, forbidden("write journals")
}

// Open implements [journal.Store].
func (r remoteJournals) Open(context.Context, string) (journal.Log, error) {
	return nil, forbidden("write journals")
}

// Fork implements [journal.Store].
func (r remoteJournals) Fork(context.Context, string, string, int64, func(*journal.Record) error) (journal.Log, error) {
	return nil, forbidden("write journals")
}

// Remove implements [journal.Store].
func (r remoteJournals) Remove(context.Context, ...string) error {
	return forbidden("remove journals; remove the tasks")
}

// Read implements [journal.Store].
func (r remoteJournals) Read(ctx context.Context, id string) (journal.Reader, error) {
	n, err := get[int64](ctx, r.remote, "journals.len", request{ID: id})
	if err != nil {
		return nil, err
	}
	return remoteLog{r.remote, id, n}, nil
}

// Follow implements [journal.Store].
func (r remoteJournals) Follow(ctx context.Context, id string, from int64) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		next := from
		request := func() any { return request{ID: id, From: next} }
		for rec, err := range resumed[journal.Record](ctx, r.remote, "journals.follow", request) {
			if !yield(rec, err) || err != nil {
				return
			}
			next = rec.N + 1
		}
	}
}

// List implements [journal.Store].
func (r remoteJournals) List(ctx context.Context) ([]journal.Entry, error) {
	return get[[]journal.Entry](ctx, r.remote, "journals.list", request{})
}

// remoteLog implements [journal.Reader].
type remoteLog struct {
	remote
	id string
	n  int64
}

// Records implements [journal.Reader].
func (r remoteLog) Records(ctx context.Context, from int64) iter.Seq2[journal.Record, error] {
	return items[journal.Record](ctx, r.remote, "journals.records", request{ID: r.id, From: from, To: r.n})
}

// Len implements [journal.Reader].
func (r remoteLog) Len() int64 { return r.n }

// Blob implements [journal.Reader].
func (r remoteLog) Blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	return r.open(ctx, "journals.blob", request{ID: r.id, Hash: hash})
}

// Close implements [journal.Reader]. There is nothing to close.
func (r remoteLog) Close() error { return nil }

// remoteObjects implements [fleet.Objects] for clients, which only read.
type remoteObjects struct{ remote }

// Put implements [fleet.Objects].
func (r remoteObjects) Put(context.Context, string, io.Reader) (fleet.Artifact, error) {
	return fleet.Artifact{}, forbidden("store objects")
}

// Open implements [fleet.Objects].
func (r remoteObjects) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return r.open(ctx, "objects.open", request{Name: name})
}

// List implements [fleet.Objects].
func (r remoteObjects) List(ctx context.Context, prefix string) iter.Seq2[fleet.Artifact, error] {
	return items[fleet.Artifact](ctx, r.remote, "objects.list", request{Name: prefix})
}

// Remove implements [fleet.Objects].
func (r remoteObjects) Remove(context.Context, ...string) error {
	return forbidden("remove objects; remove the tasks")
}

// remoteBus implements [fleet.Bus] for clients.
type remoteBus struct{ remote }

// Publish implements [fleet.Bus].
func (r remoteBus) Publish(context.Context, string, []byte) error { return forbidden("publish") }

// Listen implements [fleet.Bus]. What is published during a break is lost.
func (r remoteBus) Listen(ctx context.Context, id string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		open := false
		for m, err := range resumed[[]byte](ctx, r.remote, "bus.listen", func() any { return request{ID: id} }) {
			if m == nil && err == nil && open {
				continue // the subscription holds again
			}
			if open = true; !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// Serve implements [fleet.Bus].
func (r remoteBus) Serve(context.Context, string, func(context.Context, []byte) []byte) (func(), error) {
	return nil, forbidden("own tasks")
}

// Request implements [fleet.Bus].
func (r remoteBus) Request(ctx context.Context, id string, message []byte) ([]byte, error) {
	return get[[]byte](ctx, r.remote, "bus.request", request{ID: id, Data: message})
}

// remoteAsks implements [fleet.Asks] for clients.
type remoteAsks struct{ remote }

// Put implements [fleet.Asks].
func (r remoteAsks) Put(context.Context, fleet.Ask) error { return forbidden("ask") }

// Wait implements [fleet.Asks].
func (r remoteAsks) Wait(ctx context.Context, task, id string) (fleet.Answer, error) {
	request := func() any { return request{Task: task, ID: id} }
	for a, err := range resumed[fleet.Answer](ctx, r.remote, "asks.wait", request) {
		return a, err
	}
	return fleet.Answer{}, errBroken
}

// Answer implements [fleet.Asks].
func (r remoteAsks) Answer(ctx context.Context, task, id string, a fleet.Answer) error {
	_, err := get[nothing](ctx, r.remote, "asks.answer", request{Task: task, ID: id, Answer: a})
	return err
}

// Open implements [fleet.Asks].
func (r remoteAsks) Open(ctx context.Context, task string) iter.Seq2[fleet.Ask, error] {
	return items[fleet.Ask](ctx, r.remote, "asks.open", request{Task: task})
}

// Remove implements [fleet.Asks].
func (r remoteAsks) Remove(context.Context, string) error {
	return forbidden("remove asks; remove the tasks")
}
