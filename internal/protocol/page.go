package protocol

import (
	"context"
	"encoding/json"
	"iter"
	"sync"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/permit"
)

// KindLive is the kind of a [Live].
const KindLive agent.Kind = "LIVE"

// Live holds what is open in a session: what its journal does not have yet, and what waits for a
// person. It replaces all that a reader knows.
type Live struct {
	Kind agent.Kind `json:"kind"`
	// Running reports whether an input runs.
	Running bool `json:"running"`
	// Held reports whether an input is open that goes on only when somebody says so.
	Held bool `json:"held,omitempty"`
	// Text and Thinking hold the end of what the model has written of an answer that is not
	// finished.
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`
	// Calls holds the tool calls that run.
	Calls []LiveCall `json:"calls"`
	// Asks holds the events of the asks that wait for an answer, the oldest first.
	Asks   []attractor.Event `json:"asks"`
	Mode   permit.Mode       `json:"mode"`
	Model  Choice            `json:"model"`
	Models []Choice          `json:"models"` // that can be set
}

// LiveCall holds a tool call that runs, with the end of its output.
type LiveCall struct {
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	Output string `json:"output,omitempty"`
}

// Choice holds a model that can be chosen, with its levels of effort.
type Choice struct {
	Provider string   `json:"provider"`
	Model    string   `json:"model"`
	Effort   string   `json:"effort,omitempty"` // the chosen one
	Efforts  []string `json:"efforts,omitempty"`
}

// Page gives a page of the viewer what is open in a session, beside the session's host, and carries
// out the lines that the page sends. It is safe for concurrent use.
type Page struct {
	setup *attractor.Setup
	over  chan struct{} // closed at the end of the session

	mu             sync.Mutex
	do             func(ctx context.Context, line []byte) *Reply // nil until Serve
	running, held  bool
	text, thinking ending
	calls          []runningCall
	asks           []attractor.Event
	readers        map[*pageReader]bool
}

// pageReader holds what a reader of a page has not got yet.
type pageReader struct {
	queue  []json.RawMessage
	bytes  int
	behind bool // it gets a Live next, and the queue is empty
	wake   chan struct{}
}

// The bounds of what a page keeps: of each text, and of what waits for a reader, who gets a Live if
// there is more.
const (
	maxLiveText   = 64 << 10
	maxLiveOutput = 16 << 10
	maxLiveCalls  = 64
	maxUnread     = 1 << 20
	maxUnreadN    = 4096
)

// NewPage prepares a page for a session that is about to start: it adds to the OnEvent, OnOwnEvent
// and OnMode of the Setup.
func NewPage(setup *attractor.Setup) *Page {
	p := &Page{setup: setup, over: make(chan struct{}), readers: map[*pageReader]bool{}}
	show, tell, change := setup.Options.OnEvent, setup.OnOwnEvent, setup.OnMode
	setup.Options.OnEvent = func(ev agent.Event) {
		p.event(ev)
		if show != nil {
			show(ev)
		}
	}
	setup.OnOwnEvent = func(ev attractor.Event) {
		p.ownEvent(ev)
		if tell != nil {
			tell(ev)
		}
	}
	setup.OnMode = func(m permit.Mode) {
		p.publish(&ModeChanged{EventHeader: agent.EventHeader{Kind: KindModeChanged}, Mode: m})
		if change != nil {
			change(m)
		}
	}
	return p
}

// Serve sets the function that carries out lines.
func (p *Page) Serve(do func(ctx context.Context, line []byte) *Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.do = do
}

// Hold notes whether the open input goes on only when somebody says so.
func (p *Page) Hold(held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == held {
		return
	}
	p.held = held
	for r := range p.readers {
		r.renew()
	}
}

// SessionID returns the id of the session.
func (p *Page) SessionID() string { return p.setup.Options.ID }

// Do carries out a line of docs/protocol.md and returns the reply as JSON.
func (p *Page) Do(ctx context.Context, line []byte) json.RawMessage {
	p.mu.Lock()
	do := p.do
	p.mu.Unlock()
	r := &Reply{Error: "the session is starting; try again"}
	select {
	case <-p.over:
		r.Error = "the session has ended"
	default:
		if do != nil {
			r = do(ctx, line)
		}
	}
	if r.Status != nil { // with a copy of the asks
		p.mu.Lock()
		r.Status.Asks = append([]attractor.Event{}, p.asks...)
		p.mu.Unlock()
	}
	text, err := json.Marshal(struct {
		OK     bool    `json:"ok"`
		Error  string  `json:"error,omitempty"`
		Queued bool    `json:"queued,omitempty"`
		Status *Status `json:"status,omitempty"`
		Text   string  `json:"text,omitempty"`
		Plan   string  `json:"plan,omitempty"`
	}{r.OK, r.Error, r.Queued, r.Status, r.Text, r.Plan})
	if err != nil {
		return json.RawMessage(`{"ok":false,"error":"the reply cannot be encoded"}`)
	}
	return text
}

// Live returns what is open, as a [Live], and the changes from then on, until ctx or the session
// ends. A reader that is slow misses changes and gets another Live.
func (p *Page) Live(ctx context.Context) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		r := &pageReader{behind: true, wake: make(chan struct{}, 1)}
		p.mu.Lock()
		p.readers[r] = true
		p.mu.Unlock()
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.readers, r)
		}()
		for {
			over := p.Ended()
			for _, ev := range p.take(r) {
				if !yield(ev) {
					return
				}
			}
			if over {
				return
			}
			select {
			case <-r.wake:
			case <-p.over:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Ended reports whether the session has ended.
func (p *Page) Ended() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// take returns what waits for a reader.
func (p *Page) take(r *pageReader) []json.RawMessage {
	p.mu.Lock()
	queue, behind := r.queue, r.behind
	r.queue, r.bytes, r.behind = nil, 0, false
	if !behind {
		p.mu.Unlock()
		return queue
	}
	live := p.open()
	p.mu.Unlock()
	live.Mode = p.setup.Mode() // what changes from now on comes as an event
	live.Model.Provider, live.Model.Model, live.Model.Effort = p.setup.Model()
	live.Model.Efforts = p.setup.Efforts()
	for _, m := range p.setup.Models() {
		live.Models = append(live.Models, Choice{Provider: m.Provider, Model: m.ID, Efforts: m.Efforts})
	}
	text, err := json.Marshal(live)
	if err != nil {
		return nil
	}
	return []json.RawMessage{text}
}

// open returns what is open. p.mu is held.
func (p *Page) open() *Live {
	live := &Live{Kind: KindLive, Running: p.running, Held: p.held, Text: p.text.String(),
		Thinking: p.thinking.String(), Calls: []LiveCall{}, Models: []Choice{}}
	for _, c := range p.calls {
		live.Calls = append(live.Calls, LiveCall{CallID: c.id, Name: c.name, Output: c.output.String()})
	}
	live.Asks = append([]attractor.Event{}, p.asks...)
	return live
}

// publish gives the readers an event.
func (p *Page) publish(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(ev)
}

// send gives the readers an event. A reader for which too much waits gets a Live instead. p.mu is
// held.
func (p *Page) send(ev any) {
	var text json.RawMessage
	for r := range p.readers {
		if r.behind {
			continue
		}
		if text == nil {
			var err error
			if text, err = json.Marshal(ev); err != nil {
				return
			}
		}
		r.queue, r.bytes = append(r.queue, text), r.bytes+len(text)
		if len(r.queue) > maxUnreadN || r.bytes > maxUnread {
			r.renew()
			continue
		}
		r.notify()
	}
}

// renew drops what waits for the reader, which gets a Live instead.
func (r *pageReader) renew() {
	r.queue, r.bytes, r.behind = nil, 0, true
	r.notify()
}

// notify tells the reader that there is something. It does not wait.
func (r *pageReader) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
