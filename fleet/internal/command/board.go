package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/cli"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/tty"
	"github.com/attractor-go/attractor/llm"
)

// board shows how far the tasks of a batch are: a line for each that has ended and, on a terminal,
// what runs now, below those lines.
type board struct {
	out   io.Writer // gets the lines
	err   io.Writer // gets why tasks wait, without a live area
	style render.Style
	file  *os.File // the terminal; nil without a live area
	now   func() time.Time

	mu      sync.Mutex
	screen  *tty.Screen
	total   int
	began   time.Time
	ended   map[string]fleet.Status
	earlier int // of ended: they had ended before this run
	running map[string]*boardRow
	reasons map[string]bool // for which tasks wait, and that were told
	frame   int
	changed chan struct{}
	quit    chan struct{}
	done    chan struct{}
}

// boardRow is a task that runs.
type boardRow struct {
	id    string
	since time.Time
	live  *render.Live
	waits bool
}

// The live area is drawn again when something has changed, but not more often than once in
// boardGap, and once in boardTick for its times.
const (
	boardGap  = 125 * time.Millisecond
	boardTick = time.Second
)

// newBoard returns a board for a number of tasks. It has a live area if standard error is a
// terminal on which text can move.
func (p *program) newBoard(total int) *board {
	b := &board{out: p.out, err: p.err, now: time.Now, total: total, ended: map[string]fleet.Status{},
		running: map[string]*boardRow{}, reasons: map[string]bool{}, changed: make(chan struct{}, 1)}
	b.began = b.now()
	style, file := cli.Look(p.err)
	if file == nil || os.Getenv("CI") != "" {
		b.style, _ = cli.Look(p.out)
		return b
	}
	b.style, b.file = style, file
	width, height := tty.Size(file)
	b.screen = tty.NewScreen(file, width, height)
	b.quit, b.done = make(chan struct{}), make(chan struct{})
	go b.draw()
	return b
}

// close ends the live area.
func (b *board) close() {
	if b.screen == nil {
		return
	}
	close(b.quit)
	<-b.done
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.screen.Clear() // best effort, as all progress
	b.screen = nil
}

// status shows the new status of a task.
func (b *board) status(s fleet.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, over := b.ended[s.ID]; over {
		return
	}
	switch {
	case s.State.Final():
		b.ended[s.ID] = s
		delete(b.running, s.ID)
		if s.Ended.Before(b.began) {
			b.earlier++
			if succeeded(s) {
				break
			}
		}
		b.line(endLine(b.style, s))
	case s.State == fleet.Running:
		b.row(s.ID).waits = s.Waits
	default:
		delete(b.running, s.ID)
		b.waits(s)
	}
	b.tell()
}

// waits prints that a task waits until it is tried again, once for each reason: a fault that a
// person has to mend makes the task fail only after many attempts.
func (b *board) waits(s fleet.Status) {
	if s.State != fleet.Paused || s.Reason == "" || b.reasons[s.Reason] {
		return
	}
	b.reasons[s.Reason] = true
	text := fmt.Sprintf("%s waits and is tried again: %s", render.OneLine(s.ID), render.OneLine(s.Reason))
	if b.screen != nil {
		_ = b.screen.Draw(text+"\n", b.rows(), 0, 0) // best effort, as all progress
		return
	}
	fmt.Fprintln(b.err, "attractor-fleet: "+text)
}

// event shows an event of a task.
func (b *board) event(id string, ev agent.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, over := b.ended[id]; over {
		return
	}
	b.row(id).live.Event(ev)
	b.tell()
}

// row returns the row of a running task.
func (b *board) row(id string) *boardRow {
	r := b.running[id]
	if r == nil {
		r = &boardRow{id: id, since: b.now(), live: render.NewLive()}
		b.running[id] = r
	}
	return r
}

// line writes a line above the live area.
func (b *board) line(text string) {
	if b.screen != nil && cli.Same(b.out, b.file) {
		_ = b.screen.Draw(text+"\n", b.rows(), 0, 0) // best effort, as all progress
		return
	}
	fmt.Fprintln(b.out, text)
}

// tell wakes the goroutine that draws.
func (b *board) tell() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// draw draws the live area until close.
func (b *board) draw() {
	defer close(b.done)
	changes, stop := tty.Changes()
	defer stop()
	tick := time.NewTicker(boardTick)
	defer tick.Stop()
	for {
		select {
		case <-b.quit:
			return
		case change := <-changes:
			b.resize(change)
		case <-tick.C:
		case <-b.changed:
		}
		b.mu.Lock()
		b.frame++
		_ = b.screen.Draw("", b.rows(), 0, 0) // best effort, as all progress
		b.mu.Unlock()
		select {
		case <-b.quit:
			return
		case <-time.After(boardGap):
		}
	}
}

// resize adapts to another size of the terminal, or to the end of a stop by Ctrl-Z.
func (b *board) resize(change os.Signal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if tty.Continued(change) {
		b.screen.Forget()
	}
	width, height := tty.Size(b.file)
	b.screen.Resize(width, height)
	b.style.Width = width - 1
}

// maxRows limits the running tasks that are shown, and maxName the columns of their names.
const (
	maxRows = 12
	maxName = 24
)

// rows returns the live area: the tasks that have run longest, and a summary.
func (b *board) rows() (rows []string) {
	_, height := tty.Size(b.file)
	most := max(1, min(maxRows, height/2))
	list := slices.SortedFunc(maps.Values(b.running), func(x, y *boardRow) int {
		return cmp.Or(x.since.Compare(y.since), strings.Compare(x.id, y.id))
	})
	shown := list[:min(len(list), most)]
	name := 0
	for _, r := range shown {
		name = max(name, min(len(r.id), maxName))
	}
	for _, r := range shown {
		rows = append(rows, r.text(b.style, name, b.now(), b.frame))
	}
	if more := len(list) - len(shown); more > 0 {
		rows = append(rows, fmt.Sprintf("  and %d more", more))
	}
	return append(rows, render.Fit(b.summary(), max(b.style.Width, 1)))
}

// text returns the row as text.
func (r *boardRow) text(style render.Style, name int, now time.Time, frame int) string {
	head := fmt.Sprintf("%-*s ", name, render.Fit(r.id, name))
	if style.Width > 0 {
		style.Width = max(style.Width-len(head), 1)
	}
	if r.waits {
		return head + "? waits for an answer"
	}
	line := r.live.Line(style, now, frame)
	if line == "" {
		line = "  " + spell(now.Sub(r.since)) + " getting ready"
	}
	return head + line
}

// summary returns a line that says how far all tasks are.
func (b *board) summary() string {
	counts := b.counts()
	parts := []string{fmt.Sprintf("%d of %d", len(b.ended), b.total)}
	if counts.bad > 0 {
		parts = append(parts, fmt.Sprintf("%d not done", counts.bad))
	}
	if waiting := b.total - len(b.ended) - len(b.running); waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", waiting))
	}
	if counts.usd > 0 {
		parts = append(parts, render.Money(counts.usd))
	}
	if counts.tokens.Input+counts.tokens.Output > 0 {
		parts = append(parts, fmt.Sprintf("↑%s ↓%s", render.Thousands(counts.tokens.Input),
			render.Thousands(counts.tokens.Output)))
	}
	took := b.now().Sub(b.began)
	if n := len(b.ended) - b.earlier; n > 0 && took > 0 {
		parts = append(parts, fmt.Sprintf("%.1f/min", float64(n)/took.Minutes()))
		if left := b.total - len(b.ended); left > 0 {
			parts = append(parts, "about "+spell(took*time.Duration(left)/time.Duration(n))+" to go")
		}
	}
	return strings.Join(append(parts, spell(took)), " · ")
}

// boardCounts are sums over all tasks.
type boardCounts struct {
	bad    int // have ended, and are not done
	tokens llm.Usage
	usd    float64
}

// counts sums up the tasks that have ended and, as far as it is known, those that run.
func (b *board) counts() (c boardCounts) {
	for _, s := range b.ended {
		if !succeeded(s) {
			c.bad++
		}
		if s.Result != nil {
			c.tokens, c.usd = c.tokens.Add(s.Result.Usage), c.usd+s.Result.CostUSD
		}
	}
	for _, r := range b.running {
		tokens, usd := r.live.Spent()
		c.tokens, c.usd = c.tokens.Add(tokens), c.usd+usd
	}
	return c
}

// succeeded reports whether a task is done as it was asked for.
func succeeded(s fleet.Status) bool {
	return s.State == fleet.Done && s.Result != nil && (s.Result.Reason == agent.ReasonCompleted ||
		s.Result.Reason == agent.ReasonDone)
}

// maxEndText limits the columns of a line about a task that has ended.
const maxEndText = 160

// endLine returns a line that says how a task has ended.
func endLine(style render.Style, s fleet.Status) string {
	sign, text := "✓", ""
	if r := s.Result; r != nil {
		text = fmt.Sprintf("%s · %s", render.Count(r.Turns, "turn"), render.Tokens(r.Usage, r.Turns))
		if r.CostUSD > 0 {
			text += " · " + render.Money(r.CostUSD)
		}
	}
	if !s.Started.IsZero() {
		text = strings.TrimPrefix(text+" · "+spell(s.Ended.Sub(s.Started)), " · ")
	}
	switch {
	case !succeeded(s):
		sign = "✗"
		text = why(s)
		if s.Verdict != nil {
			text += " · " + verdict(s.Verdict)
		}
	case s.Verdict != nil:
		text += " · " + verdict(s.Verdict)
	case s.Result.Text != "":
		text += " · " + render.OneLine(s.Result.Text)
	}
	most := maxEndText
	if style.Width > 0 {
		most = style.Width
	}
	return render.Fit(fmt.Sprintf("%s %s  %s", sign, s.ID, text), most)
}

// verdict returns a text that says whether a task has passed.
func verdict(v *fleet.Verdict) string {
	if v.Passed {
		return "passed"
	}
	return "not passed: " + render.OneLine(v.Reason)
}

// why returns why a task is not done.
func why(s fleet.Status) string {
	state := string(s.State)
	if s.State == fleet.Done && s.Result != nil {
		state = "stopped at " + string(s.Result.Reason)
	}
	if s.Reason == "" {
		return state
	}
	return state + ": " + render.OneLine(s.Reason)
}

// spell returns a duration rounded to whole seconds.
func spell(d time.Duration) string { return render.Elapsed(d.Round(time.Second)) }
