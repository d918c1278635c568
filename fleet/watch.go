package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sync"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
)

// Update is an item that Watch yields: a fact, which is an event of a record in the journal, a live
// piece, which is an event that is not in the journal yet, or a status.
type Update struct {
	// N is the number of the journal's record that Event belongs to; 0 for a live piece. More says
	// that the next fact belongs to the same record. To go on after the last fact of a record,
	// watch from N+1.
	N    int64 `json:"n,omitempty"`
	More bool  `json:"more,omitempty"`
	// Event is an event of the session, as JSON; see [agent.UnmarshalEvent].
	Event json.RawMessage `json:"event,omitempty"`
	// Status is set, alone, when the task's status has changed.
	Status *Status `json:"status,omitempty"`
}

// Watch yields what happens in a task: every fact of its session once and in order, from the
// journal's record number from on, whichever workers it had, with live pieces between them while
// somebody works on it. A live piece comes after the facts of all records that were written before
// it. Watch ends after the final status.
func (c *Client) Watch(ctx context.Context, id string, from int64) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		w := &watch{client: c, id: id, from: from, updates: make(chan watched), read: make(chan int64, 1),
			started: make(chan struct{})}
		w.following, w.stop = context.WithCancel(ctx)
		w.readers.Go(func() { w.statuses(ctx) })
		w.readers.Go(func() { w.facts(ctx) })
		w.readers.Go(func() { w.live(ctx) })
		defer w.readers.Wait()
		defer cancel()
		w.yieldAll(ctx, yield)
	}
}

// watch is one Watch. Its readers send what they find.
type watch struct {
	client  *Client
	id      string
	from    int64
	updates chan watched // has no buffer: what was sent first is yielded first
	readers sync.WaitGroup
	read    chan int64    // the number of the newest record whose facts were sent
	started chan struct{} // closed when a status says that the task was claimed at least once, or has ended

	following context.Context // ends when the final status is known
	stop      context.CancelFunc
}

// watched is what a reader has found.
type watched struct {
	Update
	seq   int64 // of the event
	live  bool
	facts bool // there are no more facts
	err   error
}

// send passes an item to yieldAll, and reports whether the watch goes on.
func (w *watch) send(ctx context.Context, u watched) bool {
	select {
	case w.updates <- u:
		return true
	case <-ctx.Done():
		return false
	}
}

// yieldAll yields what the readers send. The final status comes last, after all facts. Live pieces
// whose facts were yielded already are dropped.
func (w *watch) yieldAll(ctx context.Context, yield func(Update, error) bool) {
	var final *Status
	var seq int64
	complete := false
	for final == nil || !complete {
		var u watched
		select {
		case u = <-w.updates:
		case <-ctx.Done():
			yield(Update{}, context.Cause(ctx))
			return
		}
		switch {
		case u.err != nil:
			yield(Update{}, u.err)
			return
		case u.facts:
			complete = true
			continue
		case u.Status != nil && u.Status.State.Final():
			final = u.Status
			continue
		case u.live && u.seq <= seq:
			continue
		case !u.live:
			seq = max(seq, u.seq)
		}
		if u.Event != nil && !u.live && u.N < w.from {
			continue
		}
		if !yield(u.Update, nil) {
			return
		}
	}
	yield(Update{Status: final}, nil)
}

// statuses sends the statuses.
func (w *watch) statuses(ctx context.Context) {
	started := sync.OnceFunc(func() { close(w.started) })
	for s, err := range w.client.Statuses(ctx, w.id) {
		if s.Attempt > 0 || s.State.Final() {
			started()
		}
		if !w.send(ctx, watched{Update: Update{Status: &s}, err: err}) || err != nil {
			return
		}
		if s.State.Final() {
			w.stop()
		}
	}
}

// facts sends the facts. It follows the journal until the task has ended, and then reads what is
// left of it.
func (w *watch) facts(ctx context.Context) {
	select {
	case <-w.started:
	case <-ctx.Done():
		return
	}
	f := facts{next: 1}
	for wait := firstRetry; w.following.Err() == nil; wait = min(2*wait, longestRetry) {
		err := w.sendFacts(ctx, &f, w.client.space.Journals.Follow(w.following, w.id, f.next))
		if errors.Is(err, journal.ErrCorrupt) {
			w.send(ctx, watched{err: err})
			return
		}
		pause(w.following, wait)
	}
	w.rest(ctx, &f)
}

// rest sends the facts that are left when the task has ended.
func (w *watch) rest(ctx context.Context, f *facts) {
	for wait := firstRetry; ctx.Err() == nil; wait = min(2*wait, longestRetry) {
		log, err := w.client.space.Journals.Read(ctx, w.id)
		if err == nil {
			err = w.sendFacts(ctx, f, log.Records(ctx, f.next))
			err = errors.Join(err, log.Close())
		}
		switch {
		case err == nil, errors.Is(err, fs.ErrNotExist): // without a journal there are no facts
			w.send(ctx, watched{facts: true})
			return
		case errors.Is(err, journal.ErrCorrupt):
			w.send(ctx, watched{err: err})
			return
		}
		pause(ctx, wait)
	}
}

// facts turns records into events.
type facts struct {
	projection agent.Projection
	next       int64 // the number of the record that is expected
}

// sendFacts sends the events of records, and returns the error that ended them.
func (w *watch) sendFacts(ctx context.Context, f *facts, records iter.Seq2[journal.Record, error]) error {
	for record, err := range records {
		if err != nil {
			return err
		}
		events, err := f.projection.Add(record)
		if err != nil {
			return fmt.Errorf("fleet: record %d of the session %s: %w: %w", record.N, w.id, journal.ErrCorrupt, err)
		}
		f.next = record.N + 1
		for i, e := range events {
			data, err := json.Marshal(e)
			if err != nil {
				return fmt.Errorf("fleet: record %d of the session %s: %w: %w", record.N, w.id, journal.ErrCorrupt, err)
			}
			u := watched{Update: Update{N: record.N, More: i < len(events)-1, Event: data}, seq: e.Head().Seq}
			if !w.send(ctx, u) {
				return context.Cause(ctx)
			}
		}
		w.hasRead(record.N)
	}
	return nil
}

// hasRead tells live that the facts of record n were sent. Only one goroutine may call it.
func (w *watch) hasRead(n int64) {
	select {
	case <-w.read: // an older number
	default:
	}
	w.read <- n
}

// live sends live pieces. A piece waits for the facts before it, which may take much longer to
// come, as a task may have a long journal. Pieces that come while too many wait are lost, as with
// any slow listener.
func (w *watch) live(ctx context.Context) {
	var read int64
	for wait := firstRetry; ctx.Err() == nil; wait = min(2*wait, longestRetry) {
		for data, err := range w.client.space.Bus.Listen(ctx, w.id) {
			if err != nil {
				break
			}
			var piece livePiece[json.RawMessage]
			var head struct {
				Seq int64 `json:"seq"`
			}
			if data == nil || json.Unmarshal(data, &piece) != nil || json.Unmarshal(piece.Event, &head) != nil {
				continue
			}
			for read < piece.After {
				select {
				case read = <-w.read:
				case <-ctx.Done():
					return
				}
			}
			if !w.send(ctx, watched{Update: Update{Event: piece.Event}, seq: head.Seq, live: true}) {
				return
			}
		}
		pause(ctx, wait)
	}
}

// mostLive bounds the live pieces that wait for the bus. The session never waits: a piece that
// comes while the queue is full is lost, and its fact comes from the journal later.
const mostLive = 256

// publisher sends what happens in a session, and is not in its journal yet, to those who listen.
type publisher struct {
	bus     Bus
	id      string
	journal journal.Reader
	pieces  chan livePiece[agent.Event]
	ctx     context.Context
	end     context.CancelFunc
	done    sync.WaitGroup
}

// livePiece is what goes over the bus. E is the type of the event: [agent.Event] for the one who
// sends it, and JSON for those who listen.
type livePiece[E any] struct {
	// After is the number of the newest record that was in the journal before the event. A watcher
	// may be told of the event much sooner than of that record.
	After int64 `json:"after"`
	Event E     `json:"event"`
}

// newPublisher returns a publisher that works until close is called.
func newPublisher(bus Bus, id string, log journal.Reader) *publisher {
	p := &publisher{bus: bus, id: id, journal: log, pieces: make(chan livePiece[agent.Event], mostLive)}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.done.Go(p.send)
	return p
}

// close ends the publisher.
func (p *publisher) close() {
	p.end()
	p.done.Wait()
}

// around returns an OnEvent that publishes live pieces before it calls the host's.
func (p *publisher) around(onEvent func(agent.Event)) func(agent.Event) {
	return func(e agent.Event) {
		if isLive(e) {
			select {
			case p.pieces <- livePiece[agent.Event]{p.journal.Len(), e}:
			default:
			}
		}
		if onEvent != nil {
			onEvent(e)
		}
	}
}

// isLive reports whether an event is sent before its fact is in the journal.
func isLive(e agent.Event) bool {
	switch e := e.(type) {
	case *agent.AssistantTextDelta, *agent.ThinkingDelta, *agent.ToolCallStart, *agent.ToolCallOutputDelta,
		*agent.StepStart:
		return true
	case *agent.SubagentEvent:
		return isLive(e.Event)
	}
	return false
}

// send publishes what is in the queue. Errors are ignored: nobody keeps what goes over the bus.
func (p *publisher) send() {
	for {
		select {
		case piece := <-p.pieces:
			data, err := json.Marshal(piece)
			if err == nil {
				_ = p.bus.Publish(p.ctx, p.id, data) // lost pieces are allowed
			}
		case <-p.ctx.Done():
			return
		}
	}
}
