package sanitize

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// Writer writes text to a terminal. The text may contain text from elsewhere (a server, a model, a
// command, the name of a file), so a Writer escapes each character that acts on a terminal or
// cannot be seen. Its methods may be called concurrently.
type Writer struct {
	mu   sync.Mutex
	w    io.Writer
	form Form
	part []byte // an incomplete character
}

// Form selects what a Writer lets through and how it shows the rest.
type Form uint8

// The forms of a Writer.
const (
	Plain Form = iota // escapes as [Text] does: \u{1b}
	// as Plain, but lets a few looks through: reset, bold, faint, italic, underlined, crossed out,
	// red, green, yellow and cyan
	Coloured
	JSON // escapes as JSON does: \u001b, which a reader of JSON reads as the same string
)

// NewWriter returns a Writer to w in a form.
func NewWriter(w io.Writer, form Form) *Writer { return &Writer{w: w, form: form} }

// In returns a Writer to the same destination in another form, for callers that sanitize a part of
// the text themselves.
func (w *Writer) In(form Form) *Writer { return NewWriter(w.w, form) }

// Below returns the writer that gets the cleaned text.
func (w *Writer) Below() io.Writer { return w.w }

// Write sanitizes and writes p. An incomplete character at its end waits for the next call.
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

// palette lists the sequences that the form Coloured lets through.
var palette = [...]string{"\x1b[0m", "\x1b[m", "\x1b[1m", "\x1b[2m", "\x1b[3m", "\x1b[4m", "\x1b[9m", "\x1b[31m",
	"\x1b[32m", "\x1b[33m", "\x1b[36m"}

// clean returns the text in the form.
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

// nextColour returns the first sequence of the palette and its offset. Without one, at is the
// length of the text.
func nextColour(text string) (at int, colour string) {
	at = len(text)
	for _, c := range palette {
		if i := strings.Index(text[:at], c); i >= 0 {
			at, colour = i, c
		}
	}
	return at, colour
}

// jsonText escapes the characters that cannot be seen as JSON does.
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

// fourDigits returns the escape of a UTF-16 code unit.
func fourDigits(r rune) string { return fmt.Sprintf("\\u%04x", r) }
