package pieces

import "strings"

// chunk is the size from which a text is kept in several strings, in bytes.
const chunk = 64 << 10

// Text is a text that grows. The zero value is empty. It must not be copied.
type Text struct {
	full []string // before last
	last strings.Builder
	size int
}

// Add appends a piece. A long one is not copied.
func (t *Text) Add(piece string) {
	t.size += len(piece)
	if t.last.Len()+len(piece) <= chunk {
		t.last.WriteString(piece)
		return
	}
	if t.last.Len() > 0 {
		t.full = append(t.full, t.last.String())
		t.last = strings.Builder{}
	}
	if len(piece) > chunk/4 {
		t.full = append(t.full, piece)
		return
	}
	t.last.Grow(chunk)
	t.last.WriteString(piece)
}

// Len returns the size of the text in bytes.
func (t *Text) Len() int { return t.size }

// String returns the text. It has no spare capacity, and t shares its memory from then on.
func (t *Text) String() string {
	if len(t.full) == 1 && t.last.Len() == 0 {
		return t.full[0]
	}
	whole := t.From(0)
	if len(t.full) == 0 {
		whole = strings.Clone(whole)
	}
	t.full, t.last = nil, strings.Builder{}
	if whole != "" {
		t.full = []string{whole}
	}
	return whole
}

// From returns the text without its first n bytes. It shares memory with t if it can.
func (t *Text) From(n int) string {
	left := t.size - n // to return
	at := len(t.full)
	left -= t.last.Len()
	for left > 0 {
		at--
		left -= len(t.full[at])
	}
	if at == len(t.full) {
		return t.last.String()[-left:]
	}
	rest := t.full[at][-left:]
	if at == len(t.full)-1 && t.last.Len() == 0 {
		return rest
	}
	var b strings.Builder
	b.Grow(t.size - n)
	b.WriteString(rest)
	for _, s := range t.full[at+1:] {
		b.WriteString(s)
	}
	b.WriteString(t.last.String())
	return b.String()
}

// Before returns what follows the text in whole; ok is false if whole does not begin with the text.
func (t *Text) Before(whole string) (rest string, ok bool) {
	rest = whole
	for _, s := range t.full {
		if rest, ok = strings.CutPrefix(rest, s); !ok {
			return "", false
		}
	}
	return strings.CutPrefix(rest, t.last.String())
}
