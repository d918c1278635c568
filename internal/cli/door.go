package cli

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/attractor-go/attractor/internal/tty"
	"github.com/attractor-go/attractor/sanitize"
)

// throughDoor returns a writer to the file, which is a [sanitize.Writer] if the file is a terminal.
func throughDoor(f *os.File) io.Writer {
	if isTerminal(f) {
		return sanitize.NewWriter(f, sanitize.Plain)
	}
	return f
}

// inForm returns a writer to the same place that cleans in another form, for callers that clean a
// part themselves.
func inForm(w io.Writer, as sanitize.Form) io.Writer {
	if d, ok := w.(*sanitize.Writer); ok {
		return d.In(as)
	}
	return w
}

// widthOf returns how many columns a line on a terminal may have.
func widthOf(stream any) int {
	f := terminalFile(stream)
	if f == nil {
		return 0
	}
	width, _ := tty.Size(f)
	return width - 1
}

// isTerminal reports whether a stream is a terminal or writes to one.
func isTerminal(stream any) bool {
	if _, ok := stream.(*sanitize.Writer); ok {
		return true
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// samePlace reports whether two streams write to the same terminal, file or pipe, as after 2>&1.
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
