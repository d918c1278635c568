package natsfleet

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

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
	return decoded[fleet.Status](r.items(ctx, "tasks.list", request{}))
}

// Watch implements [fleet.Tasks]. After a break it begins anew with the current statuses.
func (r remoteTasks) Watch(ctx context.Context, id string) iter.Seq2[fleet.Status, error] {
	return decoded[fleet.Status](r.resumed(ctx, "tasks.watch", func() any { return request{ID: id} }))
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
		records := r.resumed(ctx, "journals.follow", func() any { return request{ID: id, From: next} })
		for rec, err := range decoded[journal.Record](records) {
			if !yield(rec, err) || err != nil {
				return
			}
			next = rec.N + 1
		}
	}
}

// List implements [journal.Store].
func (r remoteJournals) List(ctx context.Context) ([]journal.Entry, error) {
	var all []journal.Entry
	for e, err := range decoded[journal.Entry](r.items(ctx, "journals.list", request{})) {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// remoteLog implements [journal.Reader].
type remoteLog struct {
	remote
	id string
	n  int64
}

// Records implements [journal.Reader].
func (r remoteLog) Records(ctx context.Context, from int64) iter.Seq2[journal.Record, error] {
	return decoded[journal.Record](r.items(ctx, "journals.records", request{ID: r.id, From: from, To: r.n}))
}

// Len implements [journal.Reader].
func (r remoteLog) Len() int64 { return r.n }

// Blob implements [journal.Reader].
func (r remoteLog) Blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	return r.open(ctx, "journals.blob", request{ID: r.id, Hash: hash})
}

// Close implements [journal.Reader]. There is nothing to close.
func (r remoteLog) Close() error { return nil }

// open opens contents. It waits for the first piece, so that it can return its error.
func (r remote) open(ctx context.Context, op string, in request) (io.ReadCloser, error) {
	c, err := r.call(ctx, op, in)
	if err != nil {
		return nil, err
	}
	first, err := c.next()
	if err != nil && err != io.EOF {
		c.close()
		return nil, err
	}
	return &remoteContents{call: c, rest: *bytes.NewReader(first), err: err}, nil
}

// remoteContents reads the items of an answer.
type remoteContents struct {
	call *clientCall
	rest bytes.Reader // of the last item
	err  error        // the end
}

// Read implements [io.Reader].
func (r *remoteContents) Read(p []byte) (int, error) {
	for r.rest.Len() == 0 {
		if r.err != nil {
			return 0, r.err
		}
		var item []byte
		item, r.err = r.call.next()
		r.rest.Reset(item)
	}
	return r.rest.Read(p)
}

// Close implements [io.Closer].
func (r *remoteContents) Close() error {
	r.call.close()
	return nil
}

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
	return decoded[fleet.Artifact](r.items(ctx, "objects.list", request{Name: prefix}))
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
		for m, err := range r.resumed(ctx, "bus.listen", func() any { return request{ID: id} }) {
			switch {
			case err != nil:
				yield(nil, err)
				return
			case len(m) > 0 && m[0] == markMessage:
				if !yield(m[1:], nil) {
					return
				}
			case !open:
				if open = true; !yield(nil, nil) {
					return
				}
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
func (r remoteAsks) Wait(ctx context.Context, task, id string) (a fleet.Answer, err error) {
	for item, err := range r.resumed(ctx, "asks.wait", func() any { return request{Task: task, ID: id} }) {
		if err == nil {
			err = json.Unmarshal(item, &a)
		}
		return a, err
	}
	return a, errBroken
}

// Answer implements [fleet.Asks].
func (r remoteAsks) Answer(ctx context.Context, task, id string, a fleet.Answer) error {
	_, err := get[nothing](ctx, r.remote, "asks.answer", request{Task: task, ID: id, Answer: a})
	return err
}

// Open implements [fleet.Asks].
func (r remoteAsks) Open(ctx context.Context, task string) iter.Seq2[fleet.Ask, error] {
	return decoded[fleet.Ask](r.items(ctx, "asks.open", request{Task: task}))
}

// Remove implements [fleet.Asks].
func (r remoteAsks) Remove(context.Context, string) error {
	return forbidden("remove asks; remove the tasks")
}
