package texts

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/sanitize"
)

// MaxTail limits the bytes that a Tail keeps.
const MaxTail = 8 << 10

// Tail keeps the end of a text, for errors that say why a program ended. The zero value is empty.
// It is safe for concurrent use.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

// Write adds text at the end. It does not fail.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(p) > MaxTail {
		p = p[len(p)-MaxTail:]
	}
	if over := len(t.text) + len(p) - MaxTail; over > 0 {
		t.text = t.text[:copy(t.text, t.text[over:])]
	}
	t.text = append(t.text, p...)
	return n, nil
}

// String returns the last line that is not blank, without escape sequences.
func (t *Tail) String() string { return t.Last(1) }

// Last returns the last n lines that are not blank, joined by semicolons, without escape sequences.
func (t *Tail) Last(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for text := t.text; len(lines) < n; {
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
