package openaichat

import (
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// The tags in which some models write their thinking at the beginning of the text, if their server
// does not take it out: Qwen, DeepSeek R1, GLM, MiniMax.
const (
	openThink  = "<think>"
	closeThink = "</think>"
	blanks     = " \t\r\n"
	maxBlanks  = 64 // before the first tag
)

// thinkState is the place in the content of the next piece of text.
type thinkState uint8

const (
	thinkPossible thinkState = iota // at most the beginning of <think> has come
	thinkOpen                       // behind <think>
	thinkClosed                     // behind </think>, before the text
	thinkOver                       // in the text
)

// contentText streams a piece of the content: text, except for thinking within <think> at its
// beginning. That thinking has no member and is not sent back: templates leave it out of past
// messages.
func (d *decoder) contentText(text string) error {
	switch d.think {
	case thinkPossible:
		d.held += text
		begin := strings.TrimLeft(d.held, blanks)
		rest, opened := strings.CutPrefix(begin, openThink)
		switch {
		case len(d.held)-len(begin) > maxBlanks:
		case opened:
			d.think, d.held = thinkOpen, ""
			return d.thinkingText(rest)
		case strings.HasPrefix(openThink, begin):
			return nil // more has to come to tell
		}
		return d.release()
	case thinkOpen:
		return d.thinkingText(text)
	case thinkClosed:
		if text = strings.TrimLeft(text, blanks); text != "" {
			d.think = thinkOver
		}
	}
	return d.emitText(llm.EventTextStart, "", text)
}

// thinkingText streams a piece of what stands behind <think>.
func (d *decoder) thinkingText(text string) error {
	text = d.held + text
	if d.current == nil {
		text = strings.TrimLeft(text, blanks)
	}
	thinking, rest, closed := strings.Cut(text, closeThink)
	if closed {
		d.think, d.held = thinkClosed, ""
		if err := d.emitText(llm.EventThinkingStart, "", thinking); err != nil {
			return err
		}
		return d.contentText(rest)
	}
	whole := len(text)
	for i := max(0, whole-len(closeThink)); i < whole; i++ {
		if strings.HasPrefix(closeThink, text[i:]) {
			whole = i
		}
	}
	d.held = text[whole:]
	return d.emitText(llm.EventThinkingStart, "", text[:whole])
}

// release streams what was held back as the possible beginning of a tag, when there is no tag.
func (d *decoder) release() error {
	start, held := llm.EventTextStart, d.held
	if d.think == thinkOpen {
		start = llm.EventThinkingStart
	}
	d.think, d.held = thinkOver, ""
	return d.emitText(start, "", held)
}
