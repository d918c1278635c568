package agent

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"iter"
)

// cursor yields the session's events as [Session.Events] documents. A cursor holds up nobody and nothing is kept for it: an unread cursor
// retains only the event in progress.
func (s *eventStream) cursor(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		defer s.wakeAtEnd(ctx)()
		for c := (cursor{stream: s}); ; {
			if ev := c.next(ctx); ev == nil || !yield(ev) {
				return
			}
		}
	}
}

// wakeAtEnd makes cursors that wait look again when ctx ends. The function that it returns undoes that.
func (s *eventStream) wakeAtEnd(ctx context.Context) (undo func() bool) {
	return context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
}

// newest returns the number of the newest event.
func (s *eventStream) newest() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq
}

// A cursor is a position in the log.
type cursor struct {
	stream *eventStream
	at     int64               // the number of the last event that was taken
	seen   map[streamKey]int64 // how many bytes of the open runs were taken
}

// next waits for an event and returns it. Nil means that there will be none.
func (c *cursor) next(ctx context.Context) Event {
	ev := c.wait(ctx)
	if short, ok := ev.(*shortEvent); ok {
		return c.stream.whole(short)
	}
	return ev
}

// nextUpTo returns the next event if there is one with a number of at most last. It does not wait.
func (c *cursor) nextUpTo(last int64) Event {
	c.stream.mu.Lock()
	ev := c.take(&c.stream.log)
	c.stream.mu.Unlock()
	switch short, ok := ev.(*shortEvent); {
	case ev == nil || ev.Head().Seq > last:
		return nil
	case ok:
		return c.stream.whole(short)
	}
	return ev
}

func (c *cursor) wait(ctx context.Context) Event {
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

// take returns the event with the lowest number above the cursor's, nil if there is none yet. A run with unseen text always has a higher
// number, because the cursor takes all of a run when it passes it.
func (c *cursor) take(l *eventLog) Event {
	var oldest *streamed
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

// piece returns a delta with the unseen text of a run.
func (c *cursor) piece(r *streamed) Event {
	c.at = r.newest.Head().Seq
	text := r.since(c.seen[r.key])
	if c.seen == nil {
		c.seen = map[streamKey]int64{}
	}
	c.seen[r.key] = r.size()
	if _, newest, _ := deltaOf(r.newest); newest == text {
		return r.newest
	}
	return retext(r.newest, text)
}

// fact returns an event of the log: a fact, or the joined delta of a run that has ended, without the part that was seen.
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

// whole returns a call's end with its whole output, if that can still be had.
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

// reread returns an event's output from the store. The store has only what the tool printed; the text that was added below it comes from
// the end of what the model saw. The caller compares the hash.
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
