package agent

import (
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/sanitize"
)

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
