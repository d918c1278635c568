package cli

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// inputLine holds the line on which a person types an answer. Calls that need no permission go on
// meanwhile, so their progress is written around it. The zero value is ready.
type inputLine struct {
	mu    sync.Mutex
	w     io.Writer
	label string // what the line begins with; empty while nobody is asked
	left  bool   // text without a line end has been written below the line
	typed func() // is told that a person has ended the line; may be nil
}

// begin writes the label of the line to w.
func (l *inputLine) begin(w io.Writer, label string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w, l.label, l.left = w, label, false
	fmt.Fprint(w, label)
}

// end forgets the line. If nobody has typed one, what is written next begins on a line of its own.
func (l *inputLine) end(typed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !typed {
		fmt.Fprintln(l.w)
	} else if l.typed != nil {
		l.typed()
	}
	l.label = ""
}

// around returns a writer to w that begins below the line, if there is one, and repeats its label
// after each line that it writes.
func (l *inputLine) around(w io.Writer) io.Writer { return &aroundInput{l, w} }

// aroundInput writes around an input line.
type aroundInput struct {
	line *inputLine
	w    io.Writer
}

func (a *aroundInput) Write(text []byte) (int, error) {
	l := a.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.label == "" {
		return a.w.Write(text)
	}
	if !l.left {
		fmt.Fprintln(l.w)
	}
	n, err := a.w.Write(text)
	if l.left = !bytes.HasSuffix(text, []byte("\n")); !l.left {
		fmt.Fprint(l.w, l.label)
	}
	return n, err
}
