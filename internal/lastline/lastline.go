package lastline

import (
	"bytes"
	"slices"
	"strings"
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
func (b *Buffer) String() string { return b.Last(1) }

// Last returns the last n lines that are not blank, joined by semicolons, without escape sequences.
func (b *Buffer) Last(n int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []string
	for text := b.text; len(lines) < n; {
		text = bytes.TrimRight(text, " \t\r\n")
		i := bytes.LastIndexByte(text, '\n')
		if len(text) == 0 {
			break
		}
		lines = append(lines, sanitize.Terminal(string(bytes.TrimSpace(text[i+1:]))))
		text = text[:i+1]
	}
	slices.Reverse(lines)
	return strings.Join(lines, "; ")
}
