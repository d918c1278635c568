package host

import (
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
)

// maxWarnings limits the warnings that wait to be shown.
const maxWarnings = 100

// warnings shows the host's own warnings among the events of a session, after its first one. They have the number of the event before them,
// and are not in the journal.
type warnings struct {
	busy sync.WaitGroup

	mu      sync.Mutex
	waiting []*agent.Warning

	showing sync.Mutex
	show    func(agent.Event)
	last    agent.EventHeader // of the session's events, zero before the first
	over    bool
}

// add shows a warning soon. It does not wait for that.
func (w *warnings) add(code, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == maxWarnings {
		return
	}
	w.waiting = append(w.waiting, &agent.Warning{Code: code, Text: text})
	w.busy.Go(func() {
		w.showing.Lock()
		defer w.showing.Unlock()
		w.drain()
	})
}

// events returns an OnEvent that also shows the warnings.
func (w *warnings) events(show func(agent.Event)) func(agent.Event) {
	if show == nil {
		return nil
	}
	w.showing.Lock()
	defer w.showing.Unlock()
	w.show = show
	return func(ev agent.Event) {
		w.showing.Lock()
		defer w.showing.Unlock()
		show(ev)
		if _, sub := ev.(*agent.SubagentEvent); !sub {
			w.last = *ev.Head()
		}
		if _, end := ev.(*agent.SessionEnd); end {
			w.over = true
		}
		w.drain()
	}
}

// drain shows the warnings that wait. w.showing is held.
func (w *warnings) drain() {
	if w.show == nil || w.last.Seq == 0 || w.over {
		return
	}
	w.mu.Lock()
	waiting := w.waiting
	w.waiting = nil
	w.mu.Unlock()
	for _, warning := range waiting {
		warning.EventHeader = agent.EventHeader{Kind: agent.KindWarning, SessionID: w.last.SessionID, Seq: w.last.Seq, Time: time.Now().UTC()}
		w.show(warning)
	}
}

// wait returns when no warning is being shown.
func (w *warnings) wait() { w.busy.Wait() }
