package chat

import (
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/tty"
)

// take acts on what the terminal has sent. What was typed before a question was shown is no answer
// to it.
func (p *program) take(piece tty.Piece) {
	if q := p.question; q != nil {
		early := min(q.unread, len(piece.Data))
		if piece.Time.Before(q.asked) {
			early = len(piece.Data)
		} else {
			q.unread -= early
		}
		if early > 0 {
			p.front.keys(piece.Data[:early])
			p.decoder.Discard()
			if piece.Data = piece.Data[early:]; len(piece.Data) == 0 {
				return
			}
		}
	}
	p.keys(p.front.keys(piece.Data))
}

// keys acts on keys.
func (p *program) keys(keys []tty.Key) {
	for _, k := range keys {
		p.dirty = true
		p.key(k)
		if p.over {
			return
		}
	}
}

// key acts on a key.
func (p *program) key(k tty.Key) {
	if k.Code == tty.KeyInterrupt {
		p.interrupt()
		return
	}
	p.armed, p.hint = false, ""
	switch k.Code {
	case tty.KeyEOF:
		if p.editor.Empty() {
			p.leave()
			return
		}
		p.editor.Key(tty.Key{Code: tty.KeyDelete})
	case tty.KeySuspend:
		p.front.suspend()
	case tty.KeyRedraw:
		p.front.home()
	case tty.KeyEnter:
		p.enterKey()
	case tty.KeyTab:
		p.complete()
	case tty.KeyBackTab:
		p.nextMode()
	case tty.KeyUp:
		if p.question == nil && p.editor.OnFirstLine() {
			p.recall(p.history.Older(p.editor.String()))
		} else {
			p.editor.Up()
		}
	case tty.KeyDown:
		if p.question == nil && p.editor.OnLastLine() {
			p.recall(p.history.Newer())
		} else {
			p.editor.Down()
		}
	case tty.KeySearch:
		if text := p.editor.String(); p.question == nil && text != "" {
			p.recall(p.history.Find(text))
		}
	case tty.KeyOpen:
		p.openNext()
	case tty.KeyEscape:
		switch {
		case p.question != nil && p.question.edits:
			p.answer(reply{gone: true})
		case p.question == nil && p.task != nil: // what Escape does in other programs
			p.hint = "Ctrl-C interrupts what runs"
		}
	case tty.KeyTooLong:
		p.hint = "the paste is too long; put it into a file and name that"
	default:
		if !p.editor.Key(k) && (k.Code == tty.KeyText || k.Code == tty.KeyPaste) {
			p.hint = "the input is full"
		}
	}
}

// recall puts an entry of the history into the input.
func (p *program) recall(entry string, ok bool) {
	if ok {
		p.editor.Set(entry)
	}
}

// enterKey sends what is in the input. A backslash in front of the cursor makes it a line end.
func (p *program) enterKey() {
	if p.editor.EndsWith("\\") {
		p.editor.Key(tty.Key{Code: tty.KeyBackspace})
		p.editor.Key(tty.Key{Code: tty.KeyNewline})
		return
	}
	p.echoed = p.Plain
	defer func() { p.echoed = false }()
	text, shown := p.editor.String(), p.editor.Shown()
	if p.question != nil {
		p.answer(reply{line: text})
		return
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	if p.tooSoon(time.Now()) {
		p.hint = "the question has just ended in the viewer; Enter sends this to the agent"
		return
	}
	if p.enterShown(text, shown, p.editor.Typed()) || p.Plain { // where nobody could take it out again
		p.editor.Set("")
	}
}
