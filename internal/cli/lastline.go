package cli

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/tty"
	"github.com/attractor-go/attractor/sanitize"
)

// lastLine keeps the last line of a terminal below all other text: the line that says what runs,
// and the one on which a person types an answer, because calls that need no permission go on
// meanwhile. All that is written to the terminal passes through it.
type lastLine struct {
	out io.Writer // to the terminal

	mu    sync.Mutex
	label string // what the line of a person begins with; empty while nobody is asked
	left  bool   // text without a line end has been written below that line
	// inLine says that other text ends in the middle of a line.
	inLine bool

	file   *os.File    // the terminal
	screen *tty.Screen // nil where nothing is drawn again
	style  render.Style
	state  *render.Live // nil until start
	rest   string       // the end of the answer, which is not finished yet
	frame  int
	drawn  bool      // the line that says what runs is on the screen
	at     time.Time // when it was drawn last
	dirty  bool      // something has changed since
	quit   chan struct{}
	done   chan struct{}
}

// The line that says what runs is drawn again when something has changed, but not more often than
// once in liveGap, and once in liveTick for its time.
const (
	liveGap  = 125 * time.Millisecond
	liveTick = time.Second
)

// hasScreen reports whether a stream is a terminal on which text can move: neither dumb, nor read
// aloud.
func hasScreen(stream any, getenv func(string) string) bool {
	return isTerminal(stream) && !plainTerminal(getenv)
}

// withLastLine returns the terminal with a last line, and nil if standard error is no terminal.
// Live says whether the line may say what runs once start is called. It does not if no person looks
// at standard error, as in CI.
func withLastLine(t terminal, live bool, getenv func(string) string) (terminal, *lastLine) {
	file := terminalFile(t.err)
	if file == nil {
		return t, nil
	}
	l := &lastLine{file: file, out: t.err}
	live = live && hasScreen(t.err, getenv) && getenv("CI") == ""
	if live {
		width, height := tty.Size(file)
		l.screen, l.style = tty.NewScreen(file, width, height), styleOf(t.err, getenv)
		l.style.Width = width - 1
	}
	t.err = sanitize.NewWriter(&throughLine{l, file}, sanitize.Plain)
	if out := terminalFile(t.out); live && out != nil {
		t.out = sanitize.NewWriter(&throughLine{l, out}, sanitize.Plain)
	}
	return t, l
}

// terminalFile returns the terminal to which a stream writes, or nil.
func terminalFile(stream any) *os.File {
	switch w := stream.(type) {
	case *sanitize.Writer:
		return terminalFile(w.Below())
	case *throughLine:
		return terminalFile(w.to)
	case *os.File:
		if isTerminal(w) {
			return w
		}
	}
	return nil
}

// lineOf returns the last line through which a stream leads, or nil.
func lineOf(stream io.Writer) *lastLine {
	if w, ok := stream.(*sanitize.Writer); ok {
		stream = w.Below()
	}
	if w, ok := stream.(*throughLine); ok {
		return w.line
	}
	return nil
}

// throughLine writes to a terminal, above its last line.
type throughLine struct {
	line *lastLine
	to   io.Writer
}

func (w *throughLine) Write(text []byte) (int, error) {
	l := w.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(text) == 0 {
		return 0, nil
	}
	whole := bytes.HasSuffix(text, []byte("\n"))
	switch {
	case l.label != "":
		if !l.left {
			_, _ = io.WriteString(w.to, "\n") // the error is that of the text, too
		}
		n, err := w.to.Write(text)
		if l.left = !whole; whole {
			_, _ = io.WriteString(l.out, l.label)
		}
		return n, err
	case l.drawn && whole:
		return len(text), l.draw(string(text))
	}
	l.erase()
	l.inLine, l.dirty = !whole, true
	return w.to.Write(text)
}

// ask begins the line of a person.
func (l *lastLine) ask(label string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	l.label, l.left = label, false
	_, _ = io.WriteString(l.out, label) // the read of the answer fails, too
}

// answered ends the line of a person. If nobody has typed one, what is written next begins on a
// line of its own.
func (l *lastLine) answered(typed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !typed {
		_, _ = io.WriteString(l.out, "\n")
	}
	l.label, l.inLine, l.dirty = "", false, true
}

// bell rings, where text can move: somebody is asked.
func (l *lastLine) bell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.screen != nil {
		_ = l.screen.Bell() // best effort, as all progress
	}
}

// start begins to say what runs. The methods below do nothing where there is no last line.
func (l *lastLine) start() {
	if l == nil || l.screen == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = render.NewLive()
	l.quit, l.done = make(chan struct{}), make(chan struct{})
	go l.run(l.quit, l.done)
}

// stop erases what runs, and draws it no more. It may be called more than once.
func (l *lastLine) stop() {
	if l == nil {
		return
	}
	l.mu.Lock()
	quit, done := l.quit, l.done
	l.quit = nil
	l.mu.Unlock()
	if quit == nil {
		return
	}
	close(quit)
	<-done
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = nil
	l.erase()
}

// event returns the text for an event, at the width of the terminal, and notes the event for the
// line that says what runs.
func (l *lastLine) event(ev agent.Event, progress *render.Session) (text string) {
	if l == nil || l.screen == nil {
		return progress.Event(ev)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	progress.Resize(l.style.Width)
	text = progress.Event(ev)
	if l.state != nil {
		l.state.Event(ev)
	}
	l.rest, l.dirty = progress.Rest(), true
	return text
}

// run draws until the end.
func (l *lastLine) run(quit, done chan struct{}) {
	defer close(done)
	changes, stop := tty.Changes()
	defer stop()
	tick := time.NewTicker(liveGap)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case change := <-changes:
			l.change(change)
		case <-tick.C:
			l.redraw()
		}
	}
}

// redraw draws what runs, if that is due and can be seen.
func (l *lastLine) redraw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.label != "" || l.inLine || !l.dirty && time.Since(l.at) < liveTick {
		return
	}
	l.frame++
	_ = l.draw("") // best effort
}

// draw writes whole lines, and what runs below them.
func (l *lastLine) draw(above string) error {
	var live []string
	if l.state != nil {
		if text := l.state.Line(l.style, time.Now(), l.frame); text != "" {
			if l.rest != "" {
				live = l.style.Tail(l.rest, maxEnding)
			}
			live = append(live, text)
		}
	}
	l.at, l.dirty = time.Now(), false
	if len(live) == 0 && above == "" && !l.drawn {
		return nil
	}
	l.drawn = len(live) > 0
	return l.screen.Draw(above, live, max(len(live)-1, 0), 0)
}

// maxEnding limits the lines of an answer that are shown before they are finished.
const maxEnding = 6

// erase removes what runs from the screen.
func (l *lastLine) erase() {
	if l.drawn {
		l.drawn = false
		_ = l.screen.Clear() // best effort
	}
}

// change learns that the terminal has another size, or that the process goes on after Ctrl-Z.
func (l *lastLine) change(change os.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if tty.Continued(change) {
		l.screen.Forget()
		l.drawn = false
	}
	width, height := tty.Size(l.file)
	l.screen.Resize(width, height)
	l.style.Width, l.dirty = width-1, true
}
