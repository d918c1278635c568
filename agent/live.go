package agent

import (
	"sync"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
)

// liveOutput turns what a call prints into events. Characters that arrive in pieces are put together first. After close it
// emits nothing more, so that no delta follows the call's end.
type liveOutput struct {
	call   string
	events *eventStream

	mu     sync.Mutex
	closed bool
	held   [3][]byte // by stream: the beginning of a character
}

func (l *liveOutput) write(stream int, p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || stream < 0 || stream >= len(l.held) {
		return
	}
	data := append(l.held[stream], p...)
	whole := wholeRunes(data)
	l.held[stream] = append([]byte(nil), data[whole:]...)
	l.emit(stream, data[:whole])
}

func (l *liveOutput) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for stream, rest := range l.held {
		l.emit(stream, rest)
	}
	l.closed = true
}

func (l *liveOutput) emit(stream int, p []byte) {
	if len(p) == 0 || l.closed {
		return
	}
	name := "stdout"
	if stream == env.Stderr {
		name = "stderr"
	}
	l.events.emit(&ToolCallOutputDelta{CallID: l.call, Stream: name, Text: validText(string(p))})
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
