package fleet

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
)

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
