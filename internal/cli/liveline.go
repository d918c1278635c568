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

// liveLine draws a line at the bottom of a terminal that says what runs. All that is written to the
// terminal passes through it, so that the line is erased before other text. The methods of a nil
// liveLine do nothing.
type liveLine struct {
	file *os.File

	mu      sync.Mutex
	screen  *tty.Screen
	style   render.Style
	state   *render.Live // nil until start
	rest    string       // the end of the answer, which is not finished yet
	frame   int
	drawn   bool
	inLine  bool // the text ends in the middle of a line, such as that of a question
	changed chan struct{}
	quit    chan struct{}
	done    chan struct{}
}

// The line is drawn again when something has changed, but not more often than once in liveGap, and
// once in liveTick for its time.
const (
	liveGap  = 125 * time.Millisecond
	liveTick = time.Second
)

// hasScreen reports whether a stream is a terminal on which text can move: neither dumb, nor read
// aloud.
func hasScreen(stream any, getenv func(string) string) bool {
	return isTerminal(stream) && !plainTerminal(getenv)
}

// withLiveLine returns the terminal with a live line, which start shows. It returns the terminal as
// it is and nil if the line is not wanted, or if no person looks at standard error, as in CI.
func withLiveLine(t terminal, wanted bool, getenv func(string) string) (terminal, *liveLine) {
	if !wanted || !hasScreen(t.err, getenv) || getenv("CI") != "" {
		return t, nil
	}
	file := terminalFile(t.err)
	if file == nil {
		return t, nil
	}
	width, height := tty.Size(file)
	l := &liveLine{file: file, screen: tty.NewScreen(file, width, height), style: styleOf(t.err, getenv),
		changed: make(chan struct{}, 1)}
	l.style.Width = width - 1
	t.err = sanitize.NewWriter(&throughLine{l, file}, sanitize.Plain)
	if out := terminalFile(t.out); out != nil {
		t.out = sanitize.NewWriter(&throughLine{l, out}, sanitize.Plain)
	}
	return t, l
}

// terminalFile returns the terminal to which a stream writes, or nil.
func terminalFile(stream any) *os.File {
	if w, ok := stream.(*sanitize.Writer); ok {
		stream = w.Below()
	}
	f, ok := stream.(*os.File)
	if !ok || !isTerminal(f) {
		return nil
	}
	return f
}

// throughLine writes to a file of the terminal, around the live line.
type throughLine struct {
	line *liveLine
	file *os.File
}

func (w *throughLine) Write(text []byte) (int, error) {
	l := w.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(text) == 0 {
		return 0, nil
	}
	whole := bytes.HasSuffix(text, []byte("\n"))
	if l.drawn && whole {
		return len(text), l.draw(string(text))
	}
	l.erase()
	l.inLine = !whole
	l.tell()
	return w.file.Write(text)
}

// start begins to draw the line.
func (l *liveLine) start() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = render.NewLive()
	l.quit, l.done = make(chan struct{}), make(chan struct{})
	go l.run(l.quit, l.done)
}

// stop erases the line and ends the drawing. It may be called more than once.
func (l *liveLine) stop() {
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

// event notes an event for the line.
func (l *liveLine) event(ev agent.Event) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != nil {
		l.state.Event(ev)
		l.tell()
	}
}

// unfinished sets the text that is shown above the line until it is finished.
func (l *liveLine) unfinished(text string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = text
	l.tell()
}

// width returns how many columns text may have, 0 for any.
func (l *liveLine) width() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.style.Width
}

// typed tells that a person has ended the line on which the text ended.
func (l *liveLine) typed() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inLine = false
	l.tell()
}

// bell rings: somebody is asked.
func (l *liveLine) bell() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.file, "\a") // best effort, as all progress
}

// tell wakes the goroutine that draws.
func (l *liveLine) tell() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// run draws until the end.
func (l *liveLine) run(quit, done chan struct{}) {
	defer close(done)
	changes, stop := tty.Changes()
	defer stop()
	tick := time.NewTicker(liveTick)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case change := <-changes:
			l.change(change)
		case <-tick.C:
		case <-l.changed:
		}
		l.redraw()
		select {
		case <-quit:
			return
		case <-time.After(liveGap):
		}
	}
}

// redraw draws the line, if it can be seen.
func (l *liveLine) redraw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inLine || l.state == nil {
		return
	}
	l.frame++
	_ = l.draw("") // best effort
}

// draw writes whole lines, and the live line below them.
func (l *liveLine) draw(above string) error {
	var live []string
	if l.state != nil {
		if text := l.state.Line(l.style, time.Now(), l.frame); text != "" {
			if l.rest != "" {
				live = l.style.Tail(l.rest, maxEnding)
			}
			live = append(live, text)
		}
	}
	if len(live) == 0 && above == "" && !l.drawn {
		return nil
	}
	l.drawn = len(live) > 0
	return l.screen.Draw(above, live, max(len(live)-1, 0), 0)
}

// maxEnding limits the lines of an answer that are shown before they are finished.
const maxEnding = 6

// erase removes the line from the screen.
func (l *liveLine) erase() {
	if l.drawn {
		l.drawn = false
		_ = l.screen.Clear() // best effort
	}
}

// change learns that the terminal has another size, or that the process goes on after Ctrl-Z.
func (l *liveLine) change(change os.Signal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if tty.Continued(change) {
		l.screen.Forget()
		l.drawn = false
	}
	width, height := tty.Size(l.file)
	l.screen.Resize(width, height)
	l.style.Width = width - 1
}
