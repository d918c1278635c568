package agent

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
)

// liveKept is how much of the head and how much of the tail of live output cursors can still get, in bytes. OnEvent gets all of it.
const liveKept = 32 << 10

// runKey names what deltas belong together. Agents is the way to the subagent that they are of, empty for the session itself.
type runKey struct {
	agents       string
	kind         Kind
	call, stream string
	block        int
}

func textKey(agents string, block int) runKey {
	return runKey{agents: agents, kind: (*AssistantTextDelta)(nil).kind(), block: block}
}

// deltaOf is the text of a delta and what it belongs to; ok is false for a fact.
func deltaOf(ev Event) (key runKey, text string, ok bool) {
	inner, agents := innermost(ev)
	switch e := inner.(type) {
	case *AssistantTextDelta:
		return textKey(agents, e.Block), e.Text, true
	case *ThinkingDelta:
		return runKey{agents: agents, kind: e.kind()}, e.Text, true
	case *ToolCallOutputDelta:
		return runKey{agents: agents, kind: e.kind(), call: e.CallID, stream: e.Stream}, e.Text, true
	}
	return runKey{}, "", false
}

// ends reports whether a fact ends what a key names. A thought has no end of its own: it is over when something else comes. With
// its attempt everything of the model is over.
func ends(fact Event, agents string, key runKey) bool {
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

// innermost is the event that a subagent's event is about, and the way to that agent.
func innermost(ev Event) (inner Event, agents string) {
	for {
		switch e := ev.(type) {
		case *shortEvent:
			ev = e.Event
		case *SubagentEvent:
			if agents != "" {
				agents += "/"
			}
			agents += e.AgentID
			ev = e.Event
		default:
			return ev, agents
		}
	}
}

// rewrap is an event about another inner event.
func rewrap(ev, inner Event) Event {
	sub, ok := ev.(*SubagentEvent)
	if !ok {
		return inner
	}
	c := *sub
	c.Event = rewrap(sub.Event, inner)
	return &c
}

// retext is a delta with another text.
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

// run is what the deltas of one text, thought or stream of live output add up to, until a fact ends them.
type run struct {
	key    runKey
	newest Event           // delta; nil before the first
	text   strings.Builder // of texts and thoughts: all of it
	output *capture.Buffer // of live output: its head and tail
}

func newRun(key runKey) *run {
	r := &run{key: key}
	if key.stream != "" {
		r.output = capture.New(capture.Options{Head: liveKept, Tail: liveKept})
	}
	return r
}

func (r *run) add(ev Event, text string) {
	r.newest = ev
	if r.output != nil {
		r.output.Write(env.Stdout, []byte(text))
		return
	}
	r.text.WriteString(text)
}

// size is how many bytes have come.
func (r *run) size() int64 {
	if r.output != nil {
		return r.output.Total()
	}
	return int64(r.text.Len())
}

// since is what has come after so many bytes. Where live output is no longer held, a line says how many bytes are left out.
func (r *run) since(from int64) string {
	if r.output == nil {
		return r.text.String()[from:]
	}
	head, lost, next := r.output.Since(from)
	if lost > 0 {
		return joinAround("", lost, string(head))
	}
	tail, lost, _ := r.output.Since(next)
	if lost == 0 {
		return string(head) + string(tail)
	}
	return joinAround(string(head), lost, string(tail))
}

// joinAround puts a line between head and tail that counts the bytes that are missing there, with what is left of characters that
// were cut through.
func joinAround(head string, lost int64, tail string) string {
	whole := wholeRunes([]byte(head))
	lost += int64(len(head) - whole)
	for tail != "" && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
		lost++
	}
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", head[:whole], lost, tail)
}

// wholeRunes is the length of p without a character that is cut at its end.
func wholeRunes(p []byte) int {
	for i := len(p) - 1; i >= 0 && i >= len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if utf8.FullRune(p[i:]) {
				return len(p)
			}
			return i
		}
	}
	return len(p)
}
