package secret

import (
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// MinLength and MaxLength bound the length of a registered value, in bytes. A shorter one would
// also be found where it is none.
const (
	MinLength = 8
	MaxLength = 64 << 10
)

// Masker replaces secrets in texts by their names. It is safe for concurrent use, and secrets can
// be registered at any time. The zero value knows no formats and no values; [New] returns one that
// knows the formats. String, Error, JSON, Placeholder and Recall of a nil Masker change nothing.
type Masker struct {
	formats bool
	matcher atomic.Pointer[matcher] // nil before it is first needed, and after a change
	masked  sync.Map                // the names that were put in place of secrets

	mu     sync.Mutex
	values []value
}

// value is a registered secret.
type value struct{ name, text string }

// New returns a Masker for the known formats of keys.
func New() *Masker { return &Masker{formats: true} }

// ErrTooShort says that a value is too short to be masked.
var ErrTooShort = fmt.Errorf("it has fewer than %d bytes, so it cannot be told from ordinary text", MinLength)

// Register adds a secret, which is masked from now on. White space around the value does not count.
// Of a value with several lines, each long line without spaces is masked as well. The name is shown
// in place of the value; only its letters, digits and _ . - are used. An error names the secret and
// never has the value.
func (m *Masker) Register(name, text string) error {
	name, text = cleanName(name), strings.TrimSpace(text)
	switch {
	case len(text) < MinLength:
		return fmt.Errorf("secret: %s is not masked: %w", name, ErrTooShort)
	case len(text) > MaxLength:
		return fmt.Errorf("secret: %s is not masked: it has %d bytes; at most %d can be masked: register its secret "+
			"parts instead", name, len(text), MaxLength)
	case strings.Contains("[secret "+name+"]", text):
		return fmt.Errorf("secret: %s is not masked: its placeholder would have the value in it", name)
	}
	added := []value{{name, text}}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= longLine && len(line) < len(text) &&
			!strings.Contains(line, " ") {
			added = append(added, value{name, line})
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range added {
		if !slices.ContainsFunc(m.values, func(known value) bool { return known.text == v.text }) {
			m.values = append(m.values, v)
			m.matcher.Store(nil)
		}
	}
	return nil
}

// longLine is the least size in bytes of a line of a value that is a secret of its own.
const longLine = 32

// cleanName returns the characters of a name that a placeholder can have.
func cleanName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (isAlnum(byte(r)) || strings.ContainsRune("_.-", r)) {
			return r
		}
		return -1
	}, name)
	if clean == "" {
		return "value"
	}
	return clean[:min(len(clean), maxName)]
}

// maxName bounds a name in a placeholder.
const maxName = 64

// current returns the matcher for what is registered now.
func (m *Masker) current() *matcher {
	if known := m.matcher.Load(); known != nil {
		return known
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.matcher.Load()
	if known == nil {
		known = newMatcher(m.formats, m.values)
		m.matcher.Store(known)
	}
	return known
}

// String returns the text with the secrets in it replaced. A text without any is returned as it is,
// without an allocation.
func (m *Masker) String(text string) string {
	if m == nil {
		return text
	}
	known, hash := m.current(), uint64(0)
	if len(text) >= worthHash {
		if hash = maphash.String(known.clean.seed, text); known.clean.has(hash) {
			return text
		}
	}
	regions, _ := known.scan(text, "", true)
	if len(regions) > 0 {
		return string(m.replace(nil, text, regions))
	}
	if len(text) >= worthHash {
		known.clean.add(hash)
	}
	return text
}

// Error returns err with its text masked, or err itself if there is no secret in it. errors.Is and
// errors.As see the original.
func (m *Masker) Error(err error) error {
	if err == nil {
		return nil
	}
	was := err.Error()
	if text := m.String(was); text != was {
		return &maskedError{text, err}
	}
	return err
}

// maskedError is an error with another text.
type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }

func (e *maskedError) Is(target error) bool { return errors.Is(e.err, target) }

func (e *maskedError) As(target any) bool { return errors.As(e.err, target) }

// replace appends the text to dst, with the regions replaced.
func (m *Masker) replace(dst []byte, text string, regions []region) []byte {
	at := 0
	for _, r := range regions {
		m.masked.LoadOrStore(r.name, true)
		dst = append(dst, text[at:r.start]...)
		dst = append(dst, open...)
		dst = append(dst, r.name...)
		dst = append(dst, ']')
		at = r.end
	}
	return append(dst, text[at:]...)
}

// open begins a placeholder.
const open = "[secret "

// Placeholder returns the first placeholder in a text for a secret that this Masker has masked, or
// "". A tool that writes files refuses such a text: the placeholder would replace the secret in the
// file.
func (m *Masker) Placeholder(text string) string {
	if m == nil {
		return ""
	}
	for name := range placeholders(text) {
		if _, masked := m.masked.Load(name); masked {
			return open + name + "]"
		}
	}
	return ""
}

// placeholders yields the names in what looks like a placeholder in a text.
func placeholders(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for ok := true; ok; {
			if _, text, ok = strings.Cut(text, open); !ok {
				return
			}
			name, _, closed := strings.Cut(text[:min(len(text), maxName+1)], "]")
			ok = !closed || yield(name)
		}
	}
}

// Recall notes the placeholders in a text for secrets that this Masker knows, as if it had put them
// there, so that Placeholder finds them. It is for the texts of a session that an earlier process
// has masked.
func (m *Masker) Recall(text string) {
	if m == nil {
		return
	}
	for name := range placeholders(text) {
		if m.knows(name) {
			m.masked.LoadOrStore(name, true)
		}
	}
}

// knows reports whether a name is that of a registered value or of a format.
func (m *Masker) knows(name string) bool {
	if m.formats && slices.Contains(Formats(), name) {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.values, func(v value) bool { return v.name == name })
}
