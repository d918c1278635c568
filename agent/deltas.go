package agent

import (
	"path"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/internal/pieces"
	"github.com/attractor-go/attractor/sanitize"
)

// liveKept limits the head and the tail, each, of live output that cursors get, in bytes. OnEvent
// gets all of it.
const liveKept = 32 << 10

// A streamKey names the text that deltas belong to. Agents is the path of subagents that they come
// from, empty for the session itself.
type streamKey struct {
	agents       string
	kind         Kind
	call, stream string
	block        int
}

func textKey(agents string, block int) streamKey {
	return streamKey{agents: agents, kind: (*AssistantTextDelta)(nil).kind(), block: block}
}

// deltaOf returns the key and the text of a delta; ok is false for a fact.
func deltaOf(ev Event) (key streamKey, text string, ok bool) {
	inner, agents := innermost(ev)
	switch e := inner.(type) {
	case *AssistantTextDelta:
		return textKey(agents, e.Block), e.Text, true
	case *ThinkingDelta:
		return streamKey{agents: agents, kind: e.kind()}, e.Text, true
	case *ToolCallOutputDelta:
		return streamKey{agents: agents, kind: e.kind(), call: e.CallID, stream: e.Stream}, e.Text, true
	}
	return streamKey{}, "", false
}

// ends reports whether a fact ends the run of a key. A thought has no end of its own: it ends when
// something else begins. The end of an attempt ends all that the model streams.
func ends(fact Event, agents string, key streamKey) bool {
	if agents != key.agents {
		return false
	}
	thought, output := key.kind == (*ThinkingDelta)(nil).kind(), key.kind == (*ToolCallOutputDelta)(nil).kind()
	switch e := fact.(type) {
	case *AssistantTextEnd:
		return thought || key == textKey(agents, e.Block)
	case *ToolCallEnd:
		return output && key.call == e.CallID
	case *AssistantTextStart:
		return thought
	case *StepEnd, *LLMRetry:
		return !output
	case *SessionEnd:
		return true
	}
	return false
}

// innermost returns the event inside of a subagent's events, and the path of those subagents.
func innermost(ev Event) (inner Event, agents string) {
	for sub, ok := ev.(*SubagentEvent); ok; sub, ok = ev.(*SubagentEvent) {
		agents, ev = path.Join(agents, sub.AgentID), sub.Event
	}
	return ev, agents
}

// rewrap returns a copy of a subagent's event with another inner event.
func rewrap(ev, inner Event) Event {
	sub, ok := ev.(*SubagentEvent)
	if !ok {
		return inner
	}
	c := *sub
	c.Event = rewrap(sub.Event, inner)
	return &c
}

// retext returns a copy of a delta with another text.
func retext(ev Event, text string) Event {
	inner, _ := innermost(ev)
	switch e := inner.(type) {
	case *AssistantTextDelta:
		c := *e
		c.Text, inner = text, &c
	case *ThinkingDelta:
		c := *e
		c.Text, inner = text, &c
	case *ToolCallOutputDelta:
		c := *e
		c.Text, inner = text, &c
	}
	return rewrap(ev, inner)
}

// A streamed joins the deltas of one text, thought or stream of live output, a run, until a fact
// ends it.
type streamed struct {
	key    streamKey
	newest Event           // the newest delta, nil before the first
	text   pieces.Text     // for texts and thoughts
	output *capture.Buffer // for live output: its head and tail
}

func newStreamed(key streamKey) *streamed {
	r := &streamed{key: key}
	if key.stream != "" {
		r.output = capture.New(capture.Options{Head: liveKept, Tail: liveKept})
	}
	return r
}

func (r *streamed) add(ev Event, text string) {
	r.newest = ev
	if r.output != nil {
		r.output.Write(env.Stdout, []byte(text))
		return
	}
	r.text.Add(text)
}

// joined returns the whole text. It shares the memory of the fact that ends it, if that has the
// same text.
func (r *streamed) joined(end Event) string {
	if e, ok := end.(*AssistantTextEnd); ok && len(e.Text) == r.text.Len() {
		if _, same := r.text.Before(e.Text); same {
			return e.Text
		}
	}
	return r.text.String()
}

// size returns how many bytes have arrived.
func (r *streamed) size() int64 {
	if r.output != nil {
		return r.output.Total()
	}
	return int64(r.text.Len())
}

// since returns what has arrived after the first from bytes. A line counts the bytes of live output
// that are no longer held.
func (r *streamed) since(from int64) string {
	if r.output != nil {
		return r.output.TextSince(from)
	}
	return r.text.From(int(from))
}

// liveOutput emits what a call prints as events, cleaned for terminals. It joins characters and
// escape sequences that arrive in pieces. After close it emits nothing, so that no delta follows
// the call's end.
type liveOutput struct {
	call   string
	events *eventStream

	mu       sync.Mutex
	closed   bool
	cleaners [env.Stderr + 1]sanitize.Cleaner // by stream
	text     []byte                           // a buffer for them
}

func (l *liveOutput) write(stream int, p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || stream < 0 || stream >= len(l.cleaners) {
		return
	}
	l.text = l.cleaners[stream].Append(l.text[:0], p)
	l.emit(stream)
}

// close emits what is left in the cleaners.
func (l *liveOutput) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for stream := range l.cleaners {
		l.text = l.cleaners[stream].Flush(l.text[:0])
		l.emit(stream)
	}
	l.closed = true
}

func (l *liveOutput) emit(stream int) {
	if len(l.text) == 0 || l.closed {
		return
	}
	name := "stdout"
	if stream == env.Stderr {
		name = "stderr"
	}
	l.events.emit(&ToolCallOutputDelta{CallID: l.call, Stream: name, Text: string(l.text)})
}
