package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/attractor-go/attractor/tool"
)

// door is the way to a terminal. Whatever was written by somebody else (a server, a model, a command, the name of a file) can be in
// what passes, so that no character passes that acts on a terminal or does not show itself: it is shown as an escape.
type door struct {
	mu   sync.Mutex
	w    io.Writer
	form form
	part []byte // the beginning of a character
}

// form is what a door lets through and how it shows the rest.
type form uint8

const (
	asText     form = iota // \u{1b}
	asPainted              // the same, but the colours of this program pass
	asJSONText             // \u001b, which is the same string to a reader of JSON
)

// throughDoor returns the way to write to a file: through a door if it is a terminal.
func throughDoor(f *os.File) io.Writer {
	if isTerminal(f) {
		return &door{w: f}
	}
	return f
}

// inForm returns a way to the same place that lets other things through, for those who clean what they write themselves.
func inForm(w io.Writer, as form) io.Writer {
	if d, ok := w.(*door); ok {
		return &door{w: d.w, form: as}
	}
	return w
}

// isTerminal reports whether a stream is a terminal, or leads to one.
func isTerminal(stream any) bool {
	if _, ok := stream.(*door); ok {
		return true
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// samePlace reports whether what is written to two streams comes out at one place: a terminal, or the same file or pipe, as after 2>&1.
func samePlace(a, b any) bool {
	if isTerminal(a) && isTerminal(b) {
		return true
	}
	f, ok1 := a.(*os.File)
	g, ok2 := b.(*os.File)
	if !ok1 || !ok2 {
		return false
	}
	x, err1 := f.Stat()
	y, err2 := g.Stat()
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// Write implements io.Writer. A character may come in pieces.
func (d *door) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text := string(append(d.part, p...))
	whole := len(text)
	for i := max(0, whole-utf8.UTFMax+1); i < whole; i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRuneInString(text[i:]) {
			whole = i
		}
	}
	d.part = []byte(text[whole:])
	if _, err := io.WriteString(d.w, d.form.clean(text[:whole])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// palette is the sequences of the colours that this program and git's diffs use.
var palette = [...]string{"\x1b[0m", "\x1b[m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"}

func (f form) clean(text string) string {
	switch f {
	case asJSONText:
		return jsonText(text)
	case asPainted:
		var b strings.Builder
		for text != "" {
			at, colour := nextColour(text)
			b.WriteString(tool.CleanText(text[:at]))
			b.WriteString(colour)
			text = text[at+len(colour):]
		}
		return b.String()
	}
	return tool.CleanText(text)
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
	if tool.CleanText(text) == text {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if s := string(r); tool.CleanText(s) == s {
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

// oneLine makes one line of what somebody else has written, and hides nothing of it.
func oneLine(text string) string {
	text = tool.CleanText(text)
	text = strings.ReplaceAll(text, "\n", `\u{a}`)
	return strings.ReplaceAll(text, "\t", `\u{9}`)
}
