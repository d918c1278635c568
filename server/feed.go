package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/protocol"
)

// eventID names an event of a session for Last-Event-ID: 8 is the session's event 8, and 8.1 the
// first event of the host after it, which has no number of its own.
type eventID struct {
	seq int64
	own int
}

// String returns the id for clients.
func (e eventID) String() string {
	if e.own == 0 {
		return strconv.FormatInt(e.seq, 10)
	}
	return fmt.Sprintf("%d.%d", e.seq, e.own)
}

// compare orders an event and another one.
func (e eventID) compare(other eventID) int {
	return cmp.Or(cmp.Compare(e.seq, other.seq), cmp.Compare(e.own, other.own))
}

// before reports whether an event comes before another.
func (e eventID) before(other eventID) bool { return e.compare(other) < 0 }

// parseEventID parses an id. An empty text is the id before all events.
func parseEventID(text string) (id eventID, err error) {
	if text == "" {
		return id, nil
	}
	seq, own, has := strings.Cut(text, ".")
	if id.seq, err = strconv.ParseInt(seq, 10, 64); err == nil && has {
		id.own, err = strconv.Atoi(own)
	}
	if err != nil || id.seq < 0 || id.own < 0 {
		return id, invalid("the id of an event is a number such as 8 or 8.1, not %.40q", text)
	}
	return id, nil
}

// sent is an event as clients get it.
type sent struct {
	id   eventID
	data []byte
}

// The bounds of what a feed keeps.
const (
	maxKept      = 16_384
	maxKeptBytes = 8 << 20
	restBytes    = 64 << 10 // of a session that is not open
	// A watcher gets at most maxBatch events at a time, and no more after maxBatchBytes, because it
	// has a copy of them.
	maxBatch      = 256
	maxBatchBytes = 256 << 10
)

// feed keeps the newest events of a session, encoded once for all watchers, and its open asks. It
// does not wait for watchers. It is safe for concurrent use.
type feed struct {
	news func() // called, while mu is held, when the session's State may have changed

	mu      sync.Mutex
	events  []sent
	bytes   int
	base    eventID       // events after it are kept; those up to it are in the journal
	last    eventID       // of the newest event; zero if the session was not opened yet
	changed chan struct{} // closed and replaced with each event
	running bool
	resting bool // the session is not open, and the journal has all that is not kept
	asks    map[string]sent
}

func newFeed(news func()) *feed {
	return &feed{news: news, changed: make(chan struct{}), asks: map[string]sent{}}
}

// event adds an event of the session or of its host. It does not wait.
func (f *feed) event(ev attractor.Event) {
	data, err := json.Marshal(ev)
	if err != nil { // an event can always be encoded
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	id := eventID{seq: ev.Head().Seq}
	if id.seq <= f.last.seq {
		id = eventID{f.last.seq, f.last.own + 1}
	} else if f.last == (eventID{}) {
		f.base = eventID{seq: id.seq - 1, own: 1 << 30} // all that came before is in the journal
	}
	f.last = id
	f.events, f.bytes = append(f.events, sent{id, data}), f.bytes+len(data)
	f.trim(maxKeptBytes)
	f.resting = false
	f.state(ev, sent{id, data})
	close(f.changed)
	f.changed = make(chan struct{})
}

// trim drops the oldest events until at most maxKept and most bytes are left, but never the newest
// event. f.mu is held.
func (f *feed) trim(most int) {
	drop := 0
	for len(f.events)-drop > maxKept || f.bytes > most && len(f.events)-drop > 1 {
		f.base, f.bytes = f.events[drop].id, f.bytes-len(f.events[drop].data)
		drop++
	}
	f.events = slices.Delete(f.events, 0, drop)
}

// state updates the state of the session by an event. f.mu is held.
func (f *feed) state(ev attractor.Event, as sent) {
	switch e := ev.(type) {
	case *agent.UserInput, *agent.StepStart, *agent.ToolCallStart:
		if f.running {
			return
		}
		f.running = true
	case *agent.ProcessingEnd:
		f.running = e.State == agent.StatusProcessing
	case *agent.SessionEnd:
		f.running = false
	case *protocol.ApprovalRequested:
		f.running, f.asks[e.ID] = true, as
	case *protocol.QuestionAsked:
		f.running, f.asks[e.ID] = true, as
	case *protocol.ToolRequested:
		f.running, f.asks[e.ID] = true, as
	case *protocol.AskEnded:
		delete(f.asks, e.ID)
	case *protocol.ModeChanged, *agent.SessionStart, *agent.ModelChanged:
	default:
		return
	}
	f.news()
}

// goesOn notes that an input runs that goes on without an event.
func (f *feed) goesOn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running = true
	f.news()
}

// rests notes that the session is not open any more.
func (f *feed) rests() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running, f.resting = false, true
	f.trim(restBytes)
	f.events = slices.Clone(f.events) // frees the large array
	clear(f.asks)
	f.news()
}

// after returns the next events after one, and a channel that is closed when there are more. If
// some in between are not kept any more, ok is false.
func (f *feed) after(id eventID) (events []sent, changed <-chan struct{}, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == (eventID{}) {
		return nil, f.changed, true
	}
	if id.before(f.base) {
		return nil, f.changed, false
	}
	first, _ := slices.BinarySearchFunc(f.events, id,
		func(s sent, id eventID) int { return cmp.Or(s.id.compare(id), -1) }) // behind it
	end, size := first, 0
	for end < len(f.events) && end-first < maxBatch && size < maxBatchBytes {
		size += len(f.events[end].data)
		end++
	}
	return slices.Clone(f.events[first:end]), f.changed, true
}

// isFuture reports whether an event is after the newest one, so that no client can have it. The
// numbers of a session that is opened again begin after all that it had before.
func (f *feed) isFuture(id eventID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last != (eventID{}) && id.seq > f.last.seq
}

// isResting reports whether events were dropped because the session is not open, and not because
// there were too many.
func (f *feed) isResting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.resting
}

// joint returns the event up to which the journal has to be read before after goes on, and whether
// there is one. Without one, the journal has all events.
func (f *feed) joint() (eventID, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.base, f.last != (eventID{})
}

// asksUpTo returns the events of the open asks that do not come after an event.
func (f *feed) asksUpTo(id eventID) (events []sent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ask := range maps.Values(f.asks) {
		if !id.before(ask.id) {
			events = append(events, ask)
		}
	}
	slices.SortFunc(events, func(a, b sent) int { return a.id.compare(b.id) })
	return events
}

// ends removes an ask that was answered, before its event comes.
func (f *feed) ends(ask string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.asks, ask)
}

// hasAsk reports whether an ask waits for an answer.
func (f *feed) hasAsk(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, open := f.asks[id]
	return open
}

// summary returns the state of the session, the number of open asks, and the id of the last event.
func (f *feed) summary() (state State, asks int, last string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	state = StateIdle
	if f.running {
		state = StateRunning
		if len(f.asks) > 0 {
			state = StateWaiting
		}
	}
	if f.last != (eventID{}) {
		last = f.last.String()
	}
	return state, len(f.asks), last
}

// next returns a channel that is closed with the next event.
func (f *feed) next() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}
