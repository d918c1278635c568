package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// A tenant's clients have an account of their own, which holds nothing. There they can only call
// the gateway, which every server runs for every tenant, and which does for them what a client of
// the fleet may do. So a client reaches no stream, no consumer, and no subject on which the servers
// or the workers answer.
const (
	callSubject  = "fleet." // and the operation
	gatewayInbox = "_INBOX.gateway"
	clientInbox  = "_INBOX.client"
	gatewayQueue = "gateway"
	callsAtOnce  = 1024 // of one tenant on one server, watchers included; others wait
	callsWaiting = 1024
)

// gateway answers the calls of a tenant's clients.
type gateway struct {
	nc         *nats.Conn
	operations map[string]operation
	ctx        context.Context // ends with close
	cancel     context.CancelCauseFunc
	slots      chan struct{}
	running    sync.WaitGroup
	mu         sync.Mutex // keeps calls from beginning after close has begun
}

// operation does what a call asks for, and writes the answer.
type operation func(ctx context.Context, request []byte, out io.Writer) error

// openGateway starts a gateway. The connection is to the account of the tenant's clients; the
// gateway closes it.
func openGateway(ctx context.Context, nc *nats.Conn, s *fleet.Space) (*gateway, error) {
	g := &gateway{nc: nc, operations: operations(s), slots: make(chan struct{}, callsAtOnce)}
	g.ctx, g.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	sub, err := nc.QueueSubscribe(callSubject+">", gatewayQueue, g.accept)
	if err == nil {
		err = sub.SetPendingLimits(callsWaiting, listenBytes)
	}
	if err == nil {
		err = (&account{nc: nc}).flush(ctx)
	}
	if err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// close ends the calls that run.
func (g *gateway) close() {
	g.mu.Lock()
	g.cancel(errLeaves)
	g.mu.Unlock()
	g.running.Wait()
	g.nc.Close()
}

// accept begins a call.
func (g *gateway) accept(m *nats.Msg) {
	select {
	case g.slots <- struct{}{}:
	case <-g.ctx.Done():
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		return
	}
	g.running.Go(func() {
		defer func() { <-g.slots }()
		do := g.operations[strings.TrimPrefix(m.Subject, callSubject)]
		if do == nil {
			do = func(context.Context, []byte, io.Writer) error {
				return fmt.Errorf("this server does not know %q; it may be older than the client", m.Subject)
			}
		}
		if m.Reply != "" {
			_ = serveCall(g.ctx, g.nc, m, do) // a client that does not hear the end asks again
		}
	})
}

// single returns an operation that calls do and sends its result.
func single[In, Out any](do func(context.Context, In) (Out, error)) operation {
	return several(func(ctx context.Context, in In) iter.Seq2[Out, error] {
		return func(yield func(Out, error) bool) { yield(do(ctx, in)) }
	})
}

// several returns an operation that calls do and sends what it yields, as JSON.
func several[In, Out any](do func(context.Context, In) iter.Seq2[Out, error]) operation {
	return func(ctx context.Context, text []byte, out io.Writer) error {
		var in In
		if err := json.Unmarshal(text, &in); err != nil {
			return fmt.Errorf("the request: %w: %w", err, fs.ErrInvalid)
		}
		values := json.NewEncoder(out)
		values.SetEscapeHTML(false)
		for v, err := range do(ctx, in) {
			if err == nil {
				err = values.Encode(v)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// contentsOf returns an operation that sends what open opens, as it is.
func contentsOf(open func(context.Context, request) (io.ReadCloser, error)) operation {
	return func(ctx context.Context, text []byte, out io.Writer) error {
		var in request
		if err := json.Unmarshal(text, &in); err != nil {
			return fmt.Errorf("the request: %w: %w", err, fs.ErrInvalid)
		}
		r, err := open(ctx, in)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, r)
		return errors.Join(err, r.Close())
	}
}

// request holds the arguments of all operations but tasks.submit. Each operation reads some fields.
type request struct {
	ID     string       `json:"id,omitempty"` // of a task, or its ask
	IDs    []string     `json:"ids,omitempty"`
	Task   string       `json:"task,omitempty"` // of an ask
	Name   string       `json:"name,omitempty"`
	From   int64        `json:"from,omitempty"`
	To     int64        `json:"to,omitempty"`
	Hash   string       `json:"hash,omitempty"`
	Data   []byte       `json:"data,omitempty"`
	Answer fleet.Answer `json:"answer,omitzero"`
}

// nothing is the result of operations that return only an error.
type nothing struct{}

// taskResult is a task, its status, and whether it is new.
type taskResult struct {
	Task   fleet.Task   `json:"task,omitzero"`
	Status fleet.Status `json:"status"`
	New    bool         `json:"new,omitempty"`
}

// operations returns what a tenant's clients may do in its space.
func operations(s *fleet.Space) map[string]operation {
	return map[string]operation{
		"tasks.submit": single(func(ctx context.Context, t fleet.Task) (r taskResult, err error) {
			r.Status, r.New, err = s.Tasks.Submit(ctx, t)
			return r, err
		}),
		"tasks.get": single(func(ctx context.Context, in request) (r taskResult, err error) {
			r.Task, r.Status, err = s.Tasks.Get(ctx, in.ID)
			return r, err
		}),
		"tasks.list": several(func(ctx context.Context, _ request) iter.Seq2[fleet.Status, error] {
			return s.Tasks.List(ctx)
		}),
		"tasks.watch": several(func(ctx context.Context, in request) iter.Seq2[fleet.Status, error] {
			return s.Tasks.Watch(ctx, in.ID)
		}),
		"tasks.cancel": single(func(ctx context.Context, in request) (nothing, error) {
			return nothing{}, s.Tasks.Cancel(ctx, in.ID)
		}),
		"tasks.remove": single(func(ctx context.Context, in request) (nothing, error) {
			return nothing{}, s.Tasks.Remove(ctx, in.IDs...)
		}),

		"journals.list": single(func(ctx context.Context, _ request) ([]journal.Entry, error) {
			return s.Journals.List(ctx)
		}),
		"journals.len": single(func(ctx context.Context, in request) (int64, error) { return logLen(ctx, s, in.ID) }),
		"journals.records": several(func(ctx context.Context, in request) iter.Seq2[journal.Record, error] {
			return logRecords(ctx, s, in)
		}),
		"journals.blob": contentsOf(func(ctx context.Context, in request) (io.ReadCloser, error) {
			r, err := s.Journals.Read(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			b, err := r.Blob(ctx, in.Hash)
			if err != nil {
				return nil, errors.Join(err, r.Close())
			}
			return blobOfLog{b, r}, nil
		}),
		"journals.follow": several(func(ctx context.Context, in request) iter.Seq2[journal.Record, error] {
			return s.Journals.Follow(ctx, in.ID, in.From)
		}),

		"objects.open": contentsOf(func(ctx context.Context, in request) (io.ReadCloser, error) {
			return s.Objects.Open(ctx, in.Name)
		}),
		"objects.list": several(func(ctx context.Context, in request) iter.Seq2[fleet.Artifact, error] {
			return s.Objects.List(ctx, in.Name)
		}),

		"bus.listen": several(func(ctx context.Context, in request) iter.Seq2[[]byte, error] {
			return s.Bus.Listen(ctx, in.ID)
		}),
		"bus.request": single(func(ctx context.Context, in request) ([]byte, error) {
			return s.Bus.Request(ctx, in.ID, in.Data)
		}),

		"asks.open": several(func(ctx context.Context, in request) iter.Seq2[fleet.Ask, error] {
			return s.Asks.Open(ctx, in.Task)
		}),
		"asks.wait": single(func(ctx context.Context, in request) (fleet.Answer, error) {
			return s.Asks.Wait(ctx, in.Task, in.ID)
		}),
		"asks.answer": single(func(ctx context.Context, in request) (nothing, error) {
			return nothing{}, s.Asks.Answer(ctx, in.Task, in.ID, in.Answer)
		}),
	}
}

// logLen returns the number of records of a log.
func logLen(ctx context.Context, s *fleet.Space, id string) (int64, error) {
	r, err := s.Journals.Read(ctx, id)
	if err != nil {
		return 0, err
	}
	return r.Len(), r.Close()
}

// logRecords yields some records of a log.
func logRecords(ctx context.Context, s *fleet.Space, in request) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		r, err := s.Journals.Read(ctx, in.ID)
		if err != nil {
			yield(journal.Record{}, err)
			return
		}
		defer r.Close()
		for rec, err := range r.Records(ctx, in.From) {
			if err == nil && rec.N > in.To || !yield(rec, err) {
				return
			}
		}
	}
}

// blobOfLog closes the log with the blob.
type blobOfLog struct {
	io.ReadCloser
	log io.Closer
}

// Close implements [io.Closer].
func (b blobOfLog) Close() error { return errors.Join(b.ReadCloser.Close(), b.log.Close()) }
