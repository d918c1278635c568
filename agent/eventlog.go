package agent

import (
	"cmp"
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
		return cmp.Compare(ev.Head().Seq,
			seq)
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

// endStreamed ends the runs that a fact ends. A joined delta that is kept takes the place of its last
// piece, which may stand before other facts.
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
