package natsfleet

import (
	"context"
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
