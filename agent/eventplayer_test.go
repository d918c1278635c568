package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// eventPlayer creates the events of a session as a session does: records and deltas, in any
// possible order.
type eventPlayer struct {
	stream   *eventStream
	written  int // numbers the texts, so that each is unique
	steps    int
	step     bool
	thought  string
	thoughts []string // of the current attempt
	texts    []string
	calls    []string
	called   int
}

// say returns a unique text of at least n bytes.
func (p *eventPlayer) say(n int) string {
	var b strings.Builder
	for b.Len() < n {
		p.written++
		fmt.Fprintf(&b, "%dé\n", p.written)
	}
	return b.String()
}

func (p *eventPlayer) begin() {
	if !p.step {
		p.steps++
		p.stream.emit(&StepStart{Step: p.steps})
		p.step, p.thoughts, p.texts = true, nil, nil
	}
}

func (p *eventPlayer) think(n int) {
	p.begin()
	delta := p.say(n)
	p.thought += delta
	p.stream.emit(&ThinkingDelta{Text: delta})
}

func (p *eventPlayer) block(n int) {
	p.begin()
	p.pause()
	p.stream.emit(&AssistantTextStart{Block: len(p.texts)})
	p.texts = append(p.texts, "")
	p.text(n)
}

// pause ends a thought.
func (p *eventPlayer) pause() {
	if p.thought != "" {
		p.thoughts, p.thought = append(p.thoughts, p.thought), ""
	}
}

func (p *eventPlayer) text(n int) {
	if p.begin(); len(p.texts) == 0 {
		p.block(n)
		return
	}
	block, delta := len(p.texts)-1, p.say(n)
	p.texts[block] += delta
	p.stream.emit(&AssistantTextDelta{Block: block, Text: delta})
}

func (p *eventPlayer) commit(rec record) {
	p.stream.releaseHeld(recorded{rec, project(rec, &State{})})
	p.stream.flush()
}

func (p *eventPlayer) answer() {
	p.begin()
	p.pause()
	var parts llm.Parts
	for _, t := range p.thoughts {
		parts = append(parts, llm.Thinking{Text: strings.Clone(t)})
	}
	for _, t := range p.texts {
		parts = append(parts, llm.Text{Text: strings.Clone(t)})
	}
	p.commit(answerRecord{Message: llm.Message{Role: llm.RoleAssistant, Parts: parts}})
	p.step = false
}

func (p *eventPlayer) fault() {
	p.begin()
	p.pause()
	p.commit(faultRecord{Fault: Fault{Kind: "stream", Discarded: slices.Clone(p.texts), RetryAt: time.Unix(1, 0)}})
	p.texts = nil
}

func (p *eventPlayer) call() {
	p.called++
	id := "call_" + strconv.Itoa(p.called)
	p.calls = append(p.calls, id)
	p.stream.emit(&ToolCallStart{CallID: id, Name: "shell"})
}

func (p *eventPlayer) print(i, n int) {
	if len(p.calls) == 0 {
		p.call()
	}
	p.stream.emit(&ToolCallOutputDelta{CallID: p.calls[i%len(p.calls)], Stream: []string{"stdout", "stderr"}[n%2],
		Text: p.say(n)})
}

func (p *eventPlayer) end(i, n int) {
	if len(p.calls) == 0 {
		return
	}
	i %= len(p.calls)
	full := p.say(n)
	p.commit(resultRecord{CallID: p.calls[i], Name: "shell", Content: llm.TextParts(full[:min(len(full), 5000)]),
		full: full, Bytes: int64(len(full))})
	p.calls = slices.Delete(p.calls, i, i+1)
}

// act does one of the possible actions.
func (p *eventPlayer) act(what, n int) {
	switch what {
	case 0:
		p.think(n)
	case 1, 2, 3:
		p.text(n)
	case 4:
		p.block(n)
	case 5:
		p.answer()
	case 6:
		p.fault()
	case 7:
		p.call()
	case 8, 9, 10:
		p.print(n, n*20)
	case 11:
		p.end(n, n*100)
	case 12:
		p.stream.emit(&Warning{Code: "test", Text: "careful"})
	}
}

const playerActs = 13

func (p *eventPlayer) finish() {
	if p.step {
		p.answer()
	}
	for len(p.calls) > 0 {
		p.end(0, 10)
	}
	p.stream.emit(&SessionEnd{})
}
