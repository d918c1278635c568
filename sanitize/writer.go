package sanitize

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// Writer is the way to a terminal. Whatever was written by somebody else (a server, a model, a command, the name of a file) can be in
// what passes, so that no character passes that acts on a terminal or does not show itself: it is shown as an escape. Its methods may be
// called concurrently.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	form Form
	part []byte // the beginning of a character
}

// Form is what a Writer lets through and how it shows the rest.
type Form uint8

// The forms.
const (
	Plain    Form = iota // lets nothing through and shows it as [Text] does, such as \u{1b}
	Coloured             // the same, but a few colours pass: reset, bold, faint, red, green, yellow and cyan
	JSON                 // shows it as \u001b, which is the same string to a reader of JSON
)

// NewWriter returns a Writer to w in a form.
func NewWriter(w io.Writer, form Form) *Writer { return &Writer{w: w, form: form} }

// In returns a Writer to the same place in another form, for those who sanitize what they write themselves.
func (w *Writer) In(form Form) *Writer { return NewWriter(w.w, form) }

// Write implements io.Writer. A character may come in pieces.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := string(append(w.part, p...))
	whole := len(text)
	for i := max(0, whole-utf8.UTFMax+1); i < whole; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRuneInString(text[i:]) {
			whole = i
		}
	}
	w.part = []byte(text[whole:])
	if _, err := io.WriteString(w.w, w.form.clean(text[:whole])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// palette is the sequences of the colours that a Writer lets through.
var palette = [...]string{"\x1b[0m", "\x1b[m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"}

func (f Form) clean(text string) string {
	switch f {
	case JSON:
		return jsonText(text)
	case Coloured:
		var b strings.Builder
		for text != "" {
			at, colour := nextColour(text)
			b.WriteString(Text(text[:at]))
			b.WriteString(colour)
			text = text[at+len(colour):]
		}
		return b.String()
	}
	return Text(text)
}

// nextColour finds the first sequence of the palette. Without one, at is the length of the text.
func nextColour(text string) (at int, colour string) {
	at = len(text)
	for _, c := range palette {
		if i := strings.Index(text[:at], c); i >= 0 {
			at, colour = i, c
		}
	}
	return at, colour
}

// jsonText writes the characters that do not show themselves as JSON does.
func jsonText(text string) string {
	if Text(text) == text {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if s := string(r); Text(s) == s {
			b.WriteString(s)
		} else if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			b.WriteString(fourDigits(high) + fourDigits(low))
		} else {
			b.WriteString(fourDigits(r))
		}
	}
	return b.String()
}

func fourDigits(r rune) string { return fmt.Sprintf("\\u%04x", r) }
