package agent

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"iter"
)

// cursor yields the session's events from its start on, until SESSION_END or the end of ctx. Facts come all and in order. Of what is
// streamed a cursor gets what it has not seen, in one delta with the number of the last piece: of a text or a thought everything,
// also when it has ended long ago; of live output the first and the last [liveKept] bytes with a line that counts what is left out,
// and nothing more once the call has ended, because TOOL_CALL_END has the output.
//
// TOOL_CALL_END has the whole output as long as it is in memory or in the session's output store; else what the model saw of it, and
// OutputComplete is false.
//
// A cursor holds up nobody, and nothing is kept for it: one that is not read costs what it is in the middle of.
func (s *eventStream) cursor(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		stop := context.AfterFunc(ctx, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed.Broadcast()
		})
		defer stop()
		c := cursor{stream: s}
		for {
			ev := c.next(ctx)
			if short, ok := ev.(*shortEvent); ok {
				ev = s.whole(short)
			}
			if ev == nil || !yield(ev) {
				return
			}
		}
	}
}

// cursor is a place in the log.
type cursor struct {
	stream *eventStream
	at     int64            // the number of the last event
	seen   map[runKey]int64 // bytes, of what is on its way
}

// next waits for an event. Nil means that there will be none.
func (c *cursor) next(ctx context.Context) Event {
	s := c.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	for ctx.Err() == nil {
		if ev := c.take(&s.log); ev != nil {
			return ev
		}
		if s.ended {
			return nil
		}
		s.changed.Wait()
	}
	return nil
}

// take returns what has the lowest number above the cursor's. A run of which something is unseen always has one: the cursor never
// passes a piece without taking all there is.
func (c *cursor) take(l *eventLog) Event {
	var oldest *run
	for _, r := range l.open {
		if r.newest != nil && r.newest.Head().Seq > c.at && (oldest == nil || r.newest.Head().Seq < oldest.newest.Head().Seq) {
			oldest = r
		}
	}
	i := l.after(c.at)
	switch {
	case i < len(l.events) && (oldest == nil || l.events[i].Head().Seq < oldest.newest.Head().Seq):
		return c.fact(l.events[i])
	case oldest != nil:
		return c.piece(oldest)
	}
	return nil
}

// piece takes what is unseen of a run.
func (c *cursor) piece(r *run) Event {
	c.at = r.newest.Head().Seq
	text := r.since(c.seen[r.key])
	if c.seen == nil {
		c.seen = map[runKey]int64{}
	}
	c.seen[r.key] = r.size()
	if _, newest, _ := deltaOf(r.newest); newest == text {
		return r.newest
	}
	return retext(r.newest, text)
}

// fact takes an event of the log: a fact, or the delta of a run that has ended, of which a part may be seen.
func (c *cursor) fact(ev Event) Event {
	c.at = ev.Head().Seq
	if key, text, ok := deltaOf(ev); ok {
		if seen := c.seen[key]; seen > 0 {
			delete(c.seen, key)
			return retext(ev, text[seen:])
		}
		return ev
	}
	if len(c.seen) > 0 {
		fact, agents := innermost(ev)
		for key := range c.seen {
			if ends(fact, agents, key) {
				delete(c.seen, key)
			}
		}
	}
	return ev
}

// whole is a call's end with its whole output, if that can still be had.
func (s *eventStream) whole(short *shortEvent) Event {
	if ev := short.whole(); ev != nil {
		return ev
	}
	if short.end == nil || s.outputs == nil {
		return short.Event
	}
	f, err := s.outputs.Open(short.end.OutputRef)
	if err != nil { // the store is closed: the event says that its output is not complete
		return short.Event
	}
	text, err := reread(f, short.end)
	if err = errors.Join(err, f.Close()); err != nil || maphash.String(s.log.seed, text) != short.hash {
		return short.Event
	}
	end := *short.end
	end.Output, end.OutputComplete = text, short.complete
	return &end
}

var errOtherForm = errors.New("the store has the output in another form")

// reread makes an event's output of what the store has of it: what the tool printed, without what was added below, which what the
// model saw ends with. Whether it is the same, the hash tells.
func reread(f io.ReadSeeker, end *ToolCallEnd) (string, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	added := end.OutputBytes - size
	if added < 0 || added > int64(len(end.Output)) {
		return "", errOtherForm
	}
	below := end.Output[int64(len(end.Output))-added:]
	if end.OutputBytes <= eventOutput {
		text, err := readAt(f, 0, size)
		return validText(text) + below, err
	}
	if added > eventOutput/2 || size < eventOutput/2 {
		return "", errOtherForm
	}
	head, err := readAt(f, 0, eventOutput/2)
	if err != nil {
		return "", err
	}
	tail, err := readAt(f, size-(eventOutput/2-added), eventOutput/2-added)
	return validText(head) + validText(tail+below), err
}

func readAt(f io.ReadSeeker, from, n int64) (string, error) {
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return "", err
	}
	data := make([]byte, n)
	_, err := io.ReadFull(f, data)
	return string(data), err
}
