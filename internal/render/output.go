package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/sanitize"
)

// The lines of an output that are shown below its call: at its beginning, and at its end. Of a
// command that failed the end is longer, because it says why.
const (
	headLines   = 3
	tailLines   = 3
	failedLines = 10
)

// The bytes that are kept for a person to open. Above maxAllKept the oldest texts are dropped.
const (
	maxKept    = 1 << 20 // of one output, half of its beginning and half of its end
	maxAllKept = 8 << 20 // of all outputs and thoughts
)

// Folded is an output or a thought that is shown only in part.
type Folded struct {
	N    int // its number in the session, from 1
	Head string
	Text string // clean

	opened bool
}

// folds holds what can be opened.
type folds struct {
	list []*Folded
	last int // the number of the newest
	size int
}

// add keeps a text.
func (f *folds) add(head, text string) *Folded {
	f.last++
	fold := &Folded{N: f.last, Head: head, Text: text}
	f.list = append(f.list, fold)
	for f.size += len(text); f.size > maxAllKept && len(f.list) > 1; {
		f.size -= len(f.list[0].Text)
		f.list = f.list[1:]
	}
	return fold
}

// Keep makes the session keep what it shows only in part, and name the number by which it can be
// opened. It also shows outputs and thoughts where the style is not rich.
func (s *Session) Keep() { s.kept = new(folds) }

// Open returns what was kept under a number, or nil. 0 means the newest that was not opened yet.
func (s *Session) Open(n int) *Folded {
	if s.kept == nil {
		return nil
	}
	for i := len(s.kept.list) - 1; i >= 0; i-- {
		if f := s.kept.list[i]; f.N == n || n == 0 && !f.opened {
			f.opened = true
			return f
		}
	}
	return nil
}

// Kept returns the numbers of the oldest and the newest that can be opened, 0 for none.
func (s *Session) Kept() (oldest, newest int) {
	if s.kept == nil || len(s.kept.list) == 0 {
		return 0, 0
	}
	return s.kept.list[0].N, s.kept.last
}

// shows reports whether outputs and thoughts are shown.
func (s *Session) shows() bool { return s.style.Rich || s.kept != nil }

// addOutput adds a piece of a call's live output.
func (s *Session) addOutput(e *agent.ToolCallOutputDelta) {
	if !s.shows() {
		return
	}
	b := s.printed[e.CallID]
	if b == nil {
		b = capture.New(capture.Options{Head: maxKept / 2, Tail: maxKept / 2})
		s.printed[e.CallID] = b
	}
	b.Write(env.Stdout, []byte(e.Text)) // in the order in which it came
}

// output appends what a command has printed, folded. It prefers the live output, because the result
// has words for the model around it.
func (s *Session) output(e *agent.ToolCallEnd, head string) {
	b := s.printed[e.CallID]
	delete(s.printed, e.CallID)
	if !s.shows() || e.Ran == nil {
		return
	}
	text, missing := "", int64(0)
	switch {
	case b != nil:
		text = b.Text()
		_, _, missing = b.Omission()
	case e.Ran.Bytes > 0:
		text = e.Output
	}
	most := tailLines
	if e.IsError {
		most = failedLines
	}
	s.fold(head, text, most, int(missing))
}

// fold appends the first and the last lines of a text, dimmed and cut at the width, and keeps it if
// something is missing. missing counts the lines that the text itself lacks.
func (s *Session) fold(head, text string, most, missing int) {
	text = strings.Trim(sanitize.Text(text), "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	var last []string
	if len(lines) > headLines+most+1 { // a single missing line takes no more room than the line about it
		last = lines[len(lines)-most:]
		missing += len(lines) - headLines - most
		lines = lines[:headLines]
	}
	lines, cut := s.rows(lines)
	last, cutLast := s.rows(last)
	more := ""
	switch {
	case missing > 0:
		more = "… " + Count(missing, "more line")
	case (cut || cutLast) && s.kept != nil:
		more = "… the lines are longer"
	}
	if more != "" {
		if s.kept != nil {
			more += s.toOpen(head, text)
		}
		lines = append(lines, s.paint(dim, s.fit("  "+more)))
	}
	for _, line := range append(lines, last...) {
		s.line("%s", line)
	}
}

// rows returns lines as they are shown, and whether one of them is longer.
func (s *Session) rows(lines []string) (rows []string, cut bool) {
	for _, line := range lines {
		line = strings.TrimRight("  "+line, " ")
		fits := s.fit(line)
		cut = cut || fits != line
		rows = append(rows, s.paint(dim, fits))
	}
	return rows, cut
}

// toOpen keeps a text and returns how it can be opened.
func (s *Session) toOpen(head, text string) string {
	return fmt.Sprintf(" (Ctrl-O, /output %d)", s.kept.add(head, text).N)
}

// maxColumns limits the columns of a line of an output where the style has no width.
const maxColumns = 200

// fit cuts a line at the width.
func (s *Session) fit(line string) string {
	width := maxColumns
	if s.style.Width > 0 {
		width = s.style.Width
	}
	if most := 4 * width; len(line) > most { // the rest cannot be seen
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return Fit(line, width)
}

// addThought adds a piece of the model's thoughts.
func (s *Session) addThought(e *agent.ThinkingDelta) {
	if !s.shows() {
		return
	}
	if s.thought.Len() == 0 {
		s.thinks = e.Time
	}
	if s.thought.Len() < maxKept {
		s.thought.WriteString(e.Text)
	}
}

// endThought appends a line for what the model has thought before an event.
func (s *Session) endThought(at time.Time) {
	text := strings.TrimSpace(sanitize.Text(s.thought.String()))
	if s.thought.Reset(); text == "" {
		return
	}
	head := fmt.Sprintf("thought for %s", Elapsed(at.Sub(s.thinks)))
	open := ""
	if s.kept != nil {
		open = s.toOpen(head, text)
	}
	line := fmt.Sprintf("∴ %s: ", head)
	room := maxSubject
	if s.style.Width > 0 {
		room = s.style.Width - Width(line) - Width(open)
	}
	first := strings.Trim(Shorten(strings.SplitN(text, "\n", 2)[0], maxSubject), "*# ")
	s.line("%s", s.paint(dim, line+Fit(first, max(room, minColumns))+open))
}
