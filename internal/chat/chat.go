package chat

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/tty"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/worktree"
)

// Options holds what a conversation needs.
type Options struct {
	// Config is the configuration of the first session. Run adds those who are asked. Sessions that
	// the person changes to have a configuration of their own where they were begun with one.
	Config attractor.Config
	// Opened returns what a person should know of a session that was opened, as whole lines.
	Opened func(*attractor.Setup) string
	// View, if set, shows each session on a page, which can steer it, from before its start on. It
	// returns what a person should know of that, as whole lines.
	View func(*protocol.Page) string
	// Prompt is the first message. Empty means that the person types it.
	Prompt string
	// Images go with the first message.
	Images []llm.Part

	// In and Out are the terminal. Style says how text looks on it.
	In, Out *os.File
	Style   render.Style
	// Plain writes lines only: nothing is drawn again, and the terminal itself edits what is typed.
	Plain bool
	// Keep keeps rules that a person has allowed for later sessions.
	Keep render.Keep
	// Export writes a session that is kept to a file, which it replaces.
	Export func(ctx context.Context, s *attractor.Setup, file string) error
	// Hint returns a line that says what to do about a failed model call, or "".
	Hint func(error) string
	// History is the file of what was typed. Empty keeps it in memory only.
	History string
	// Signals gets the signals that end the conversation. SIGINT counts as Ctrl-C.
	Signals <-chan os.Signal
}

// Ended says how a conversation has ended.
type Ended struct {
	// Session is the id of the last session, or empty if nothing of it was kept.
	Session string
	// Worktree is that of the last session, or nil.
	Worktree *worktree.Worktree
	// Signal ended the conversation; nil if the person did.
	Signal os.Signal
}

// Run holds a conversation until the person or a signal ends it. It returns an error if the first
// session could not be opened.
func Run(ctx context.Context, o Options) (Ended, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &program{Options: o, ctx: ctx, posts: make(chan func()), ended: make(chan struct{}),
		turn: render.NewTurns(), changed: make(chan struct{}, 1)}
	defer close(p.ended)
	var err error
	if p.history, err = tty.OpenHistory(o.History); err != nil {
		p.warn("what was typed before cannot be read: " + err.Error())
	}
	input, err := p.openFront()
	if err != nil {
		return Ended{}, err
	}
	closed := false
	defer func() {
		if !closed { // in a panic, whose text has to be readable
			_ = p.front.close()
		}
	}()
	changes, stop := tty.Changes()
	defer stop()
	p.open(o.Config, o.Prompt)
	p.loop(input, changes)
	p.refresh(true)
	err, closed = p.front.close(), true
	ended := Ended{Session: p.kept, Worktree: p.worktree, Signal: p.signal}
	if p.failed != nil {
		return ended, p.failed
	}
	return ended, err
}

// program is a running conversation. All fields but the channels belong to the goroutine of the
// loop.
type program struct {
	Options
	ctx     context.Context
	posts   chan func()
	ended   chan struct{} // closed when nobody takes posts any more
	turn    render.Turns
	changed chan struct{} // has a value if the mode has changed

	front   front
	history *tty.History
	editor  tty.Editor
	decoder tty.Decoder
	// withdrawn is when a question ended without the person, who may be about to answer it.
	// doubtful says that no question was asked since.
	withdrawn time.Time
	doubtful  bool

	above   strings.Builder // finished lines that are not on the screen yet
	partial string          // the beginning of a line of the answer
	drawn   time.Time       // when the screen was drawn last
	dirty   bool            // something has changed since

	current  *conversation // nil while none is open
	task     *task         // nil while nothing runs
	question *question     // nil while nothing is asked
	stopping bool          // the task was asked to end
	armed    bool          // the next Ctrl-C ends the conversation
	waiting  string        // a message for the session that is starting
	hint     string        // what the last key has to say
	begun    bool          // a session has been open
	leaving  bool          // the conversation ends
	echoed   bool          // the terminal itself has shown the line that is acted on
	over     bool          // it has ended
	gone     bool          // nothing more is typed: the terminal is gone
	kills    int           // how often the person or a signal has asked for the end
	signal   os.Signal
	kept     string // the id of the session, if there is something to resume
	worktree *worktree.Worktree
	failed   error // why the first session could not be opened
}

// conversation is a session that is open.
type conversation struct {
	config  attractor.Config
	setup   *attractor.Setup
	session *agent.Session
	view    *render.Session
	names   []attractor.Command // what can be called by /NAME
	used    bool                // it has an input
	steered int                 // messages that were sent while it worked and that the model has not got
	typed   []string            // what the model will be told of the person's own commands
	live    *render.Live
	lines   *protocol.Conversation // which has the session work
	unserve func()                 // ends what lines does
	end     func()                 // ends the starts of servers; nil in tests
}

// front shows the conversation on a kind of terminal.
type front interface {
	// draw shows finished lines, and the live area below them. A front may leave out the live area.
	draw(above string, p *program)
	bell()
	// keys returns the keys in what was typed.
	keys(data []byte) []tty.Key
	// discard discards what was typed and not read yet. It returns how many bytes it could not
	// discard, which are still to be read.
	discard() (unread int)
	// change acts on a new size, and on the end of a stop.
	change(sig os.Signal)
	suspend()
	// home clears the screen.
	home()
	close() error
}

// post hands a function to the loop. It returns false if the conversation has ended.
func (p *program) post(f func()) bool {
	select {
	case p.posts <- f:
		return true
	case <-p.ended:
		return false
	}
}

// The times between two drawings, and between two of what runs.
const (
	frame  = 40 * time.Millisecond
	tick   = 250 * time.Millisecond
	escape = 50 * time.Millisecond // after which a lone ESC is the key
)

// maxAbove bounds the lines that wait for the next drawing.
const maxAbove = 64 << 10

// loop takes what happens until the conversation has ended.
func (p *program) loop(input <-chan tty.Piece, changes <-chan os.Signal) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !p.over {
		p.refresh(false)
		timer.Reset(p.next())
		select {
		case piece, ok := <-input:
			if !ok {
				input, p.gone = nil, true
				p.leave()
				break
			}
			p.take(piece)
		case f := <-p.posts:
			f()
		case <-p.changed:
			p.dirty = true
		case sig := <-changes:
			p.front.change(sig)
			p.dirty = true
		case sig := <-p.Signals:
			p.signalled(sig)
		case <-timer.C:
			p.keys(p.decoder.Flush())
			p.dirty = p.dirty || p.task != nil
		}
	}
}

// next returns how long the loop may wait.
func (p *program) next() time.Duration {
	switch {
	case p.decoder.Waiting():
		return escape
	case p.dirty || p.above.Len() > 0:
		return max(0, frame-time.Since(p.drawn))
	case p.task != nil:
		return tick
	}
	return time.Hour
}

// refresh draws what has changed, not too often unless now says so.
func (p *program) refresh(now bool) {
	if !p.dirty && p.above.Len() == 0 && !now {
		return
	}
	if !now && time.Since(p.drawn) < frame && p.above.Len() < maxAbove {
		return
	}
	above := p.above.String()
	p.above.Reset()
	p.front.draw(above, p)
	p.drawn, p.dirty = time.Now(), false
}

// say shows finished lines.
func (p *program) say(text string) {
	if text == "" {
		return
	}
	p.endPartial()
	p.above.WriteString(text)
	if !strings.HasSuffix(text, "\n") {
		p.above.WriteByte('\n')
	}
	p.dirty = true
}

// warn shows what went wrong, without the secrets of the session that is open.
func (p *program) warn(text string) {
	if p.current != nil {
		text = p.current.setup.Secrets.String(text)
	}
	p.say(p.Style.Warning(render.Error(text)))
}

// note shows what a command of the conversation has done.
func (p *program) note(text string) { p.say(p.Style.Faint(p.Style.Prose(text))) }
