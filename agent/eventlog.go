package agent

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
)

// What a log keeps for cursors.
const (
	keptEvents = 10_000
	keptBytes  = 64 << 20 // estimated
	restBytes  = 64 << 10 // at rest, when the journal has what came before
)

// An eventLog holds the newest events for cursors: facts, and the text so far of whatever is being
// streamed. When a text or a thought has ended, its deltas are joined into one. Live output is
// dropped when its call has ended. Its user locks it.
type eventLog struct {
	events []Event // by rising numbers
	open   []*streamed
	size   int64 // of events, estimated, in bytes
	gone   int64 // the number of the newest event that was dropped
}

// add adds an event that has its number. If it is not to be kept, it only counts for the texts that
// are open.
func (l *eventLog) add(ev Event, keep bool) {
	if key, text, ok := deltaOf(ev); ok {
		l.streamedOf(key).add(ev, text)
		return
	}
	fact, agents := innermost(ev)
	l.endStreamed(fact, agents, keep)
	if start, ok := fact.(*AssistantTextStart); ok {
		l.streamedOf(textKey(agents, start.Block))
	}
	if keep {
		l.events = append(l.events, ev)
		l.size += sizeOfEvent(ev)
		l.trim(keptBytes)
	}
}

// trim drops the oldest events beyond keptEvents and beyond a number of bytes, but for the newest,
// and not one at a time.
func (l *eventLog) trim(most int64) {
	if len(l.events) <= keptEvents+keptEvents/10 && l.size <= most {
		return
	}
	drop := 0
	for len(l.events)-drop > keptEvents || l.size > most && len(l.events)-drop > 1 {
		l.gone = l.events[drop].Head().Seq
		l.size -= sizeOfEvent(l.events[drop])
		drop++
	}
	l.events = slices.Delete(l.events, 0, drop)
}

// after returns the index of the first event with a higher number.
func (l *eventLog) after(seq int64) int {
	i, _ := slices.BinarySearchFunc(l.events, seq+1, func(ev Event, seq int64) int {
		return cmp.Compare(ev.Head().Seq, seq)
	})
	return i
}

// find returns the open run of a key, nil if there is none.
func (l *eventLog) find(key streamKey) *streamed {
	for _, r := range l.open {
		if r.key == key {
			return r
		}
	}
	return nil
}

// streamedOf returns the open run of a key, and opens it if there is none.
func (l *eventLog) streamedOf(key streamKey) *streamed {
	r := l.find(key)
	if r == nil {
		r = newStreamed(key)
		l.open = append(l.open, r)
	}
	return r
}

// endStreamed ends the runs that a fact ends. A joined delta that is kept takes the place of its
// last piece, which may stand before other facts.
func (l *eventLog) endStreamed(fact Event, agents string, keep bool) {
	l.open = slices.DeleteFunc(l.open, func(r *streamed) bool {
		if !ends(fact, agents, r.key) {
			return false
		}
		if r.newest == nil || r.output != nil || !keep || r.newest.Head().Seq <= l.gone {
			return true
		}
		joined := retext(r.newest, r.joined(fact))
		l.events = slices.Insert(l.events, l.after(joined.Head().Seq), joined)
		l.size += sizeOfEvent(joined)
		return true
	})
}

// cursor yields the session's events as [Session.Events] documents. A cursor holds up nobody and
// nothing is kept for it.
func (s *eventStream) cursor(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		c := cursor{stream: s, at: s.first}
		for {
			if ev := c.next(ctx); ev == nil || !c.pass(ctx, ev, yield) {
				return
			}
		}
	}
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

// next waits for an event and returns it. Nil means that there will be none. If the log has dropped
// events that the cursor has not taken, the event is a [Gap].
func (c *cursor) next(ctx context.Context) Event {
	s := c.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	for ctx.Err() == nil {
		if gap := c.fallenBehind(); gap != nil {
			return gap
		}
		if ev := c.take(&s.log); ev != nil {
			return ev
		}
		if s.ended {
			return nil
		}
		changed := s.change()
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		s.mu.Lock()
	}
	return nil
}

// nextUpTo returns the next event if there is one with a number of at most last. It does not wait.
func (c *cursor) nextUpTo(last int64) Event {
	c.stream.mu.Lock()
	defer c.stream.mu.Unlock()
	if gap := c.fallenBehind(); gap != nil {
		return gap
	}
	if ev := c.take(&c.stream.log); ev != nil && ev.Head().Seq <= last {
		return ev
	}
	return nil
}

// fallenBehind returns the numbers of the dropped events that the cursor has not taken, nil if
// there are none, and moves it behind them.
func (c *cursor) fallenBehind() *Gap {
	s := c.stream
	if c.at >= s.log.gone {
		return nil
	}
	gap := &Gap{First: c.at + 1, Last: s.log.gone}
	gap.EventHeader = EventHeader{Kind: gap.kind(), SessionID: s.session, Seq: c.at + 1, Time: s.now().UTC()}
	c.at = s.log.gone
	maps.DeleteFunc(c.seen, func(key streamKey, _ int64) bool { return s.log.find(key) == nil })
	return gap
}

// pass yields an event and, after a gap, the facts in it that the journal has. It reports whether
// the consumer wants more.
func (c *cursor) pass(ctx context.Context, ev Event, yield func(Event) bool) bool {
	gap, ok := ev.(*Gap)
	if !yield(ev) {
		return false
	}
	if !ok || c.stream.earlier == nil {
		return true
	}
	var round []Event // of which a call's start comes with its end, and a text's beginning with its end
	flush := func() bool {
		slices.SortStableFunc(round, func(a, b Event) int { return cmp.Compare(a.Head().Seq, b.Head().Seq) })
		for _, ev := range round {
			if !yield(ev) {
				return false
			}
		}
		round = round[:0]
		return true
	}
	for ev := range c.stream.earlier(ctx) {
		seq := ev.Head().Seq
		if seq > gap.Last {
			break
		}
		if _, begins := ev.(*StepStart); begins && !flush() {
			return false
		}
		if seq >= gap.First {
			round = append(round, ev)
		}
	}
	return flush()
}

// take returns the event with the lowest number above the cursor's, nil if there is none yet. A run
// with unseen text always has a higher number, because the cursor takes all of a run when it passes
// it.
func (c *cursor) take(l *eventLog) Event {
	var oldest *streamed
	for _, r := range l.open {
		if r.newest != nil && r.newest.Head().Seq > c.at &&
			(oldest == nil || r.newest.Head().Seq < oldest.newest.Head().Seq) {
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

// fact returns an event of the log: a fact, or the joined delta of a run that has ended, without
// the part that was seen.
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

// journaled returns the session's facts as its journal has them.
func (s *Session) journaled(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for ev, err := range projected(ctx, s.journal) {
			if err != nil || !yield(ev) { // the gap says what is missing
				return
			}
		}
	}
}
