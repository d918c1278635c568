package attractor

import (
	"log/slog"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
)

// Event is an event of a session, or one of its host beside them. The host's own events have the
// number of the session's event before them and are not in the journal.
type Event interface {
	// Head returns the fields that all events have.
	Head() *agent.EventHeader
}

// Tell queues an event of the host, to be shown among those of the session: after the session's
// first event, and not after its last one. The event needs only its kind. Tell does not wait. The
// caller must not change the event afterwards, and has to bound how many events wait.
func (s *Setup) Tell(ev Event) { s.warnings.put(ev) }

// maxWarnings limits the warnings that wait to be shown, and those that a session keeps.
const maxWarnings = 100

// ownEvents shows the host's own events among those of a session, after its first one and before
// its last one.
type ownEvents struct {
	log  *slog.Logger // gets the warnings; nil without --debug
	to   *ownEvents   // shows them instead; nil for those of a session
	busy sync.WaitGroup

	mu       sync.Mutex
	waiting  []Event
	warnings int  // among them
	draining bool // a goroutine will show them

	showing sync.Mutex
	show    func(agent.Event)
	tell    func(Event)       // takes the events that are not the session's; nil if nobody does
	last    agent.EventHeader // of the session's events, zero before the first
	over    bool
}

// add shows a warning soon. It does not wait for that.
func (o *ownEvents) add(code, text string) {
	if o.log != nil {
		o.log.Warn("warning", "code", code, "error", text)
	}
	o.warn(code, text)
}

// warn shows a warning as add does, and does not log it.
func (o *ownEvents) warn(code, text string) {
	o.put(&agent.Warning{EventHeader: agent.EventHeader{Kind: agent.KindWarning}, Code: code, Text: text})
}

// put shows an event soon. It does not wait for that. The event needs only its kind. Warnings
// beyond a limit are dropped.
func (o *ownEvents) put(ev Event) {
	if o.to != nil {
		o.to.put(ev)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, warning := ev.(*agent.Warning); warning {
		if o.warnings == maxWarnings {
			return
		}
		o.warnings++
	}
	o.waiting = append(o.waiting, ev)
	if !o.draining {
		o.draining = true
		o.busy.Go(func() {
			o.showing.Lock()
			defer o.showing.Unlock()
			o.mu.Lock()
			o.draining = false
			o.mu.Unlock()
			o.drain()
		})
	}
}

// onEvent calls f with each event of the session, before what OnEvent was until now.
func (s *Setup) onEvent(f func(agent.Event)) {
	next := s.Options.OnEvent
	s.Options.OnEvent = func(ev agent.Event) {
		f(ev)
		if next != nil {
			next(ev)
		}
	}
}

// events returns an OnEvent that also shows the warnings. Other events of the host go to tell.
func (o *ownEvents) events(show func(agent.Event), tell func(Event)) func(agent.Event) {
	if show == nil {
		return nil
	}
	o.showing.Lock()
	defer o.showing.Unlock()
	o.show, o.tell = show, tell
	return func(ev agent.Event) {
		o.showing.Lock()
		defer o.showing.Unlock()
		if _, end := ev.(*agent.SessionEnd); end {
			o.drain()
			o.over = true
		}
		show(ev)
		if _, sub := ev.(*agent.SubagentEvent); !sub {
			o.last = *ev.Head()
		}
		o.drain()
	}
}

// drain shows the events that wait. o.showing is held.
func (o *ownEvents) drain() {
	if o.show == nil || o.last.Seq == 0 || o.over {
		return
	}
	o.mu.Lock()
	waiting := o.waiting
	o.waiting, o.warnings = nil, 0
	o.mu.Unlock()
	for _, ev := range waiting {
		head := ev.Head()
		head.SessionID, head.Seq, head.Time = o.last.SessionID, o.last.Seq, time.Now().UTC()
		switch warning, ok := ev.(*agent.Warning); {
		case ok:
			o.show(warning)
		case o.tell != nil:
			o.tell(ev)
		}
	}
}

// waitForWarnings waits for events that are being shown.
func (s *Setup) waitForWarnings() error {
	s.warnings.busy.Wait()
	return nil
}
