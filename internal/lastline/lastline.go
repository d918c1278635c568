package lastline

import (
	"bytes"
	"sync"

	"github.com/attractor-go/attractor/sanitize"
)

// Max limits the bytes that are kept.
const Max = 8 << 10

// Buffer keeps the end of a text. The zero value is empty. It is safe for concurrent use.
type Buffer struct {
	mu   sync.Mutex
	text []byte
}

// Add adds text at the end.
func (b *Buffer) Add(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(p) > Max {
		p = p[len(p)-Max:]
	}
	if over := len(b.text) + len(p) - Max; over > 0 {
		b.text = b.text[:copy(b.text, b.text[over:])]
	}
	b.text = append(b.text, p...)
}

// String returns the last line that is not blank, without escape sequences.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := bytes.TrimRight(b.text, " \t\r\n")
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return sanitize.Terminal(string(text))
}
