package chat

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/tty"
	"github.com/attractor-go/attractor/sanitize"
)

// openFront opens the terminal and returns what is typed on it.
func (p *program) openFront() (<-chan tty.Piece, error) {
	if p.Plain {
		f := &plain{in: p.In, out: sanitize.NewWriter(p.Out, sanitize.Plain), lines: make(chan tty.Piece)}
		p.front = f
		go f.read(p.In, p.ended)
		return f.lines, nil
	}
	terminal, err := tty.Open(p.In, p.Out)
	if err != nil {
		return nil, fmt.Errorf("cannot use the terminal: %w", err)
	}
	width, height := tty.Size(p.Out)
	p.Style.Width, p.Style.Rich = width-1, true
	p.front = &rich{program: p, terminal: terminal, screen: tty.NewScreen(p.Out, width, height), width: width,
		height: height}
	return terminal.Input(), nil
}

// rich is a terminal with a live area. Errors of writing are ignored: the terminal is gone, and its
// hangup ends the conversation.
type rich struct {
	*program
	terminal      *tty.Terminal
	screen        *tty.Screen
	width, height int
	frame         int // counts the drawings of what runs
}

// The live area takes at most a part of the terminal.
const (
	partialRows = 6
	inputShare  = 3 // a third of the lines, at least
	leastInput  = 3
	hintRows    = 3
)

// draw implements front.
func (f *rich) draw(above string, p *program) {
	f.resize()
	width := f.width - 1
	var rows []string
	if rest := p.rest(); rest != "" {
		rows = append(rows, p.Style.Tail(rest, partialRows)...)
	}
	if p.task != nil && p.question == nil {
		rows = append(rows, f.running(p))
	}
	prompt := "> "
	if p.question != nil {
		prompt = p.question.label
	}
	input, row, column := p.editor.Rows(prompt, width, max(leastInput, f.height/inputShare))
	row += len(rows)
	rows = append(rows, input...)
	rows = append(rows, f.status(p)...)
	_ = f.screen.Draw(above, rows, row, column)
}

// rest returns the text of an answer that is not finished.
func (p *program) rest() string {
	if p.current == nil {
		return p.partial
	}
	return p.partial + p.current.view.Rest()
}

// running returns the line that says what runs.
func (f *rich) running(p *program) string {
	f.frame++
	if c := p.current; c != nil && p.task.steers && !p.leaving && !p.stopping {
		if line := c.live.Line(p.Style, time.Now(), f.frame); line != "" {
			return line
		}
	}
	what := p.task.what
	switch {
	case p.leaving:
		what = "ending"
	case p.stopping:
		what = "interrupting"
	}
	return fmt.Sprintf("%s · %v", p.Style.Faint(what), time.Since(p.task.began).Truncate(time.Second))
}

// status returns the lines below the input: one, or the hint.
func (f *rich) status(p *program) (rows []string) {
	if p.hint != "" {
		rows = p.Style.Wrap(p.hint)
		if len(rows) > hintRows {
			rows = append(rows[:hintRows-1], strings.Join(rows[hintRows-1:], " ")) // the screen cuts it
		}
		for i, row := range rows {
			rows[i] = p.Style.Hint(row)
		}
		return rows
	}
	if p.current == nil || p.question != nil {
		return nil
	}
	_, model, effort := p.current.setup.Model()
	text := string(p.current.setup.Mode()) + " · " + render.OneLine(model)
	if effort != "" {
		text += " " + render.OneLine(effort)
	}
	return []string{p.Style.Faint("  " + text + " · /help")}
}

func (f *rich) bell() { _ = f.screen.Bell() }

func (f *rich) keys(data []byte) []tty.Key { return f.decoder.Decode(data) }

// discard implements front. What is not read yet may have the beginning of a paste, whose rest is
// still to come.
func (f *rich) discard() (unread int) {
	f.decoder.Discard()
	return f.terminal.Discard()
}

// change acts on a new size, and on the end of a stop.
func (f *rich) change(sig os.Signal) {
	if tty.Continued(sig) {
		_ = f.terminal.Raw()
		f.screen.Forget() // others have written below it
	}
}

// resize takes a new size into account. The signal that tells of it may come later than the next
// drawing.
func (f *rich) resize() {
	width, height := tty.Size(f.Out)
	if width == f.width && height == f.height {
		return
	}
	f.width, f.height = width, height
	f.screen.Resize(width, height)
	if f.Style.Width = width - 1; f.current != nil {
		f.current.view.Resize(f.Style.Width)
	}
}

// suspend stops the process, as Ctrl-Z does elsewhere.
func (f *rich) suspend() {
	_ = f.screen.Clear()
	if err := f.terminal.Restore(); err == nil {
		if err = tty.Suspend(); err != nil {
			f.hint = "cannot stop: " + err.Error()
		}
	}
	_ = f.terminal.Raw()
	f.dirty = true
}

// home clears the screen, above which everything is still in the terminal's history.
func (f *rich) home() { _ = f.screen.Home() }

func (f *rich) close() error {
	err := f.screen.Clear()
	err = errors.Join(err, f.terminal.Close())
	if errors.Is(err, syscall.EIO) { // the terminal is gone
		return nil
	}
	return err
}

// plain is a terminal of lines. Errors of writing are ignored, as those of rich are.
type plain struct {
	in       *os.File
	out      io.Writer
	lines    chan tty.Piece
	prompted bool // the cursor is after a prompt
	label    string
}

// draw implements front.
func (f *plain) draw(above string, p *program) {
	if above != "" {
		if f.prompted {
			above = "\n" + above
		}
		_, _ = io.WriteString(f.out, above)
		f.prompted = false
	}
	label := "> "
	if p.question != nil {
		label = p.question.label
	}
	if p.hint != "" {
		if f.prompted {
			_, _ = io.WriteString(f.out, "\n")
		}
		_, _ = io.WriteString(f.out, p.hint+"\n")
		p.hint, f.prompted = "", false
	}
	if p.over || p.leaving || p.question == nil && p.task != nil || f.prompted && label == f.label {
		return
	}
	if f.prompted {
		label = "\n" + label
	}
	_, _ = io.WriteString(f.out, label)
	f.prompted, f.label = true, strings.TrimPrefix(label, "\n")
}

// maxLine limits a line that is typed.
const maxLine = 64 << 10

// read reads lines. The terminal has edited them.
func (f *plain) read(in io.Reader, ended <-chan struct{}) {
	defer close(f.lines)
	lines := bufio.NewReaderSize(in, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		piece := tty.Piece{Data: []byte(strings.TrimRight(string(line), "\r\n")), Time: time.Now()}
		if err == nil || errors.Is(err, bufio.ErrBufferFull) {
			select {
			case f.lines <- piece:
				continue
			case <-ended:
				return
			}
		}
		return
	}
}

func (f *plain) bell() {}

// keys implements front. A line is sent as it was typed.
func (f *plain) keys(line []byte) []tty.Key {
	f.prompted = false // the terminal has ended the line of the prompt
	return []tty.Key{{Code: tty.KeyText, Text: string(line)}, {Code: tty.KeyEnter}}
}

func (f *plain) discard() (unread int) {
	tty.Discard(f.in)
	return 0
}

func (f *plain) change(os.Signal) {}

func (f *plain) suspend() {}

func (f *plain) home() {}

func (f *plain) close() error { return nil }
