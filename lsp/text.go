package lsp

import (
	"bytes"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/sanitize"
)

// maxSaid limits the bytes that are kept of what a server printed for people.
const maxSaid = 4 << 10

// tail keeps the end of a text.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) write(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(p) > maxSaid {
		p = p[len(p)-maxSaid:]
	}
	if over := len(t.text) + len(p) - maxSaid; over > 0 {
		t.text = t.text[:copy(t.text, t.text[over:])]
	}
	t.text = append(t.text, p...)
}

// last returns the last line that is not blank, cleaned and cut.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimRight(t.text, " \t\r\n")
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return clean(sanitize.Terminal(string(text)), 300)
}

// clean returns text of a server on one line, without invisible characters, and at most about max bytes of it.
func clean(text string, max int) string {
	cut := len(text) > max
	if cut {
		text = text[:max]
	}
	text = sanitize.Text(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	if cut {
		text += " [...]"
	}
	return text
}
