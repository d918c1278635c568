package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/secret/masked"
)

// pingTime is how often a stream without events sends a comment, so that proxies keep it.
const pingTime = 15 * time.Second

// stream writes server-sent events. Only one goroutine may use it.
type stream struct {
	call *call
	out  *http.ResponseController
}

// watch counts a stream, within the limit of its token, until leave is called.
func (s *Server) watch(c *call) (leave func(), err error) {
	most := int64(s.options.Limits.Watchers)
	leave = func() {
		s.metrics.watchers.Add(-1)
		c.account.watching.Add(-1)
	}
	s.metrics.watchers.Add(1)
	if c.account.watching.Add(1) > most {
		leave()
		s.metrics.cut.Add(1)
		return nil, limited(time.Minute, "the token %s watches %d streams already; close some", c.account.Name, most)
	}
	return leave, nil
}

// newStream begins a stream.
func (s *Server) newStream(c *call) (*stream, func(), error) {
	leave, err := s.watch(c)
	if err != nil {
		return nil, nil, err
	}
	out := &stream{c, http.NewResponseController(c.w)}
	if err := out.out.SetReadDeadline(time.Time{}); err != nil { // there is nothing more to read
		leave()
		return nil, nil, err
	}
	c.w.Header().Set("Content-Type", kindEvents)
	c.w.Header().Set("X-Accel-Buffering", "no") // for nginx
	return out, leave, out.write([]byte("retry: 1000\n\n"))
}

// write writes a block of events. The client has to read it within times.message.
func (o *stream) write(block []byte) error {
	s := o.call.server
	err := o.out.SetWriteDeadline(time.Now().Add(s.times.message))
	if err == nil {
		_, err = o.call.w.Write(block)
	}
	if err == nil {
		err = o.out.Flush()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.metrics.cut.Add(1)
	}
	return err
}

// events writes events of a session.
func (o *stream) events(events []sent, ids bool) error {
	var b bytes.Buffer
	for _, e := range events {
		if ids {
			fmt.Fprintf(&b, "id: %s\n", e.id)
		}
		fmt.Fprintf(&b, "data: %s\n\n", e.data)
	}
	if b.Len() == 0 {
		return nil
	}
	return o.write(b.Bytes())
}

// errBehind ends the stream of a client that reads too slowly. The client comes back with the id of
// its last event.
var errBehind = errors.New("the reader has fallen behind")

// serveEvents streams the events of a session.
func (x *session) serveEvents(c *call) error {
	s := x.server
	at, err := parseEventID(cmp.Or(c.r.Header.Get("Last-Event-ID"), c.r.URL.Query().Get("after")))
	if err != nil {
		return err
	}
	if x.feed.isFuture(at) {
		return errFuture(at)
	}
	if _, err := x.masker(); err != nil { // a stream that has begun could not report the error
		return x.masked(err)
	}
	out, leave, err := s.newStream(c)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := s.until(c.r.Context())
	defer cancel()
	if at, err = x.catchUp(ctx, out, at); err == nil {
		err = x.follow(ctx, out, at)
	}
	if errors.Is(err, errBehind) {
		s.metrics.cut.Add(1)
	}
	return nil // a stream that has begun cannot report an error
}

// errFuture refuses to go on behind an event that the session does not have.
func errFuture(at eventID) error {
	return invalid("the session has no event %s yet; last_event of the session names the newest one", at)
}

// until returns a context that ends with another one and with the streams of the server.
func (s *Server) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.streams, cancel)
	return ctx, func() { stop(); cancel() }
}

// catchUp sends the events after one that only the journal has, and then the open asks. It returns
// the last event that was sent.
func (x *session) catchUp(ctx context.Context, out *stream, at eventID) (eventID, error) {
	upTo, live := x.feed.joint()
	if live && !at.before(upTo) {
		return at, nil
	}
	if !live {
		upTo.seq = math.MaxInt64
	}
	m, err := x.masker()
	if err != nil {
		return at, err
	}
	log, err := x.server.options.Config.Store.Read(ctx, x.id)
	if err != nil {
		return at, err
	}
	var p agent.Projection
	var round []agent.Event // a call's start comes with its end
	for line, failed := range log.Records(ctx, 1) {
		var events []agent.Event
		if err = failed; err == nil {
			events, err = p.Add(line)
		}
		for _, ev := range events {
			if _, begins := ev.(*agent.StepStart); begins && err == nil {
				at, err = sendRound(out, m, round, at, upTo)
				round = round[:0]
			}
			round = append(round, ev)
		}
		if err != nil {
			return at, errors.Join(err, log.Close())
		}
	}
	at, err = sendRound(out, m, round, at, upTo)
	if err = errors.Join(err, ctx.Err(), log.Close()); err != nil || !live {
		return at, err
	}
	return upTo, out.events(x.feed.asksUpTo(upTo), false)
}

// sendRound sends the events after at and up to upTo, in the order of their numbers, and returns
// the last one.
func sendRound(out *stream, m *secret.Masker, round []agent.Event, at, upTo eventID) (eventID, error) {
	slices.SortStableFunc(round, func(a, b agent.Event) int { return cmp.Compare(a.Head().Seq, b.Head().Seq) })
	var events []sent
	for _, ev := range round {
		id := eventID{seq: ev.Head().Seq}
		if id.seq <= at.seq || upTo.before(id) {
			continue
		}
		data, err := json.Marshal(masked.Event(m, ev))
		if err != nil {
			return at, err
		}
		events = append(events, sent{id, data})
	}
	if len(events) == 0 {
		return at, nil
	}
	return events[len(events)-1].id, out.events(events, true)
}

// follow sends events as they come.
func (x *session) follow(ctx context.Context, out *stream, at eventID) error {
	ping := time.NewTicker(pingTime)
	defer ping.Stop()
	for fresh := true; ; {
		events, changed, ok := x.feed.after(at)
		switch {
		case !ok && (fresh || x.feed.isResting()): // the session was opened or closed meanwhile
			var err error
			if at, err = x.catchUp(ctx, out, at); err != nil {
				return err
			}
			fresh = false
			continue
		case !ok:
			return errBehind
		case x.feed.isFuture(at): // which was not known before the session was opened
			return errFuture(at)
		case len(events) > 0:
			if err := out.events(events, true); err != nil {
				return err
			}
			at, fresh = events[len(events)-1].id, false
			continue
		}
		select {
		case <-changed:
		case <-x.removed:
			return nil
		case <-ping.C:
			if err := out.write([]byte(": ping\n\n")); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// serveChanges streams the sessions that a token sees.
func (s *Server) serveChanges(c *call) error {
	w := &changes{wake: make(chan struct{}, 1), ids: map[string]string{}}
	s.mu.Lock()
	s.watchers[w] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, w)
	}()
	out, leave, err := s.newStream(c)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := s.until(c.r.Context())
	defer cancel()
	_ = w.send(ctx, out, Change{Kind: KindSnapshot, Sessions: s.visible(c.account)}) // it cannot be reported any more
	return nil
}

// changes collects the sessions that have changed since its client got them. It holds no states, so
// a slow client gets the newest ones.
type changes struct {
	wake chan struct{}
	ids  map[string]string // the tokens of sessions, by their ids; guarded by Server.mu
}

// send sends a snapshot and then the sessions that change.
func (w *changes) send(ctx context.Context, out *stream, change Change) error {
	ping := time.NewTicker(pingTime)
	defer ping.Stop()
	c := out.call
	if err := out.change(change); err != nil {
		return err
	}
	for {
		select {
		case <-w.wake:
		case <-ping.C:
			if err := out.write([]byte(": ping\n\n")); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		for id, token := range c.server.takeChanged(w) {
			if !c.account.sees(token) {
				continue
			}
			change := Change{Kind: KindDeleted, ID: id}
			if x := c.server.find(id); x != nil {
				now := x.summary()
				change = Change{Kind: KindSession, Session: &now}
			}
			if err := out.change(change); err != nil {
				return err
			}
		}
	}
}

// change writes a change.
func (o *stream) change(c Change) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return o.write(fmt.Appendf(nil, "data: %s\n\n", data))
}
