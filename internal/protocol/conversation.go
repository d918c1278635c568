package protocol

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// MaxLine limits a line, in bytes, images included.
const MaxLine = 32 << 20

// The bounds of what waits: replies that are not written yet, and lines with work. At these bounds
// no further lines are read.
const (
	maxReplies = 1024
	maxLines   = 64
	maxBytes   = 64 << 20
)

// The errors of Run.
var (
	// ErrClosed means that the program closed the session while an input was running.
	ErrClosed = errors.New("the session was closed while an input was running")
	// ErrNoInput means that no line was understood.
	ErrNoInput = errors.New("no line of the input was understood")
)

// The answers to lines that come too late, or too early.
var (
	errEnding  = errors.New("the session is ending")
	errSteer   = errors.New("no input is running that could be steered; send user")
	errNoTools = errors.New("no program can bring tools here")
)

// Conversation is a session that a program keeps open. See [New].
type Conversation struct {
	// PlainPrompt says that the prompt of Run is a text even if it begins with /.
	PlainPrompt bool
	// Host, if set, is told of what lines do.
	Host Host

	controls
	stop    context.CancelCauseFunc // ends Run
	started chan struct{}           // closed when Run has begun

	replies chan struct{} // has a token for each reply that waits to be written
	over    chan struct{} // closed when the session has ended

	queue       chan *input // lines that bring work
	bytes       atomic.Int64
	room        chan struct{}
	orders      atomic.Int64 // lines, also those of Do
	interrupted atomic.Int64 // the order of the last line that interrupts

	understood, refused atomic.Int64 // lines

	giving   sync.Mutex    // held while the session is given work
	running  bool          // the worker has work
	rested   chan struct{} // closed when it has none any more
	finished bool          // no more work is taken
	alone    string        // what the host does alone; empty if nothing
	restore  func() error  // undoes what the command of the input has changed; nil without one
	wake     chan bool     // whether an input is open that the worker has to continue

	told told

	result *agent.Result // of the last input; nil before the first
	err    error
}

// New prepares a conversation with a session that is about to start: it adds to the OnEvent,
// Closers, OnOwnEvent and OnMode of the Setup, which the caller has set. Asks is the [Asks] of the
// session. Keep keeps rules for later sessions and returns the name of the file.
func New(setup *attractor.Setup, asks *Asks, keep Keep) *Conversation {
	c := &Conversation{controls: controls{setup: setup, asks: asks, keep: keep,
		tools: &programTools{tell: setup.Tell, calls: map[string]chan tool.Result{}}}, started: make(chan struct{}),
		replies: make(chan struct{}, maxReplies), over: make(chan struct{}),
		queue: make(chan *input, maxLines), room: make(chan struct{}, 1), wake: make(chan bool, 1)}
	show, tell, change := setup.Options.OnEvent, setup.OnOwnEvent, setup.OnMode
	setup.Options.OnEvent = func(ev agent.Event) {
		c.follow(ev)
		show(ev)
	}
	setup.Options.Closers = append(setup.Options.Closers, over(c.over))
	setup.OnOwnEvent = func(ev attractor.Event) {
		tell(ev)
		if _, is := ev.(*Reply); is {
			<-c.replies
		}
	}
	setup.OnMode = func(m permit.Mode) {
		setup.Tell(&ModeChanged{EventHeader: agent.EventHeader{Kind: KindModeChanged}, Mode: m})
		if change != nil {
			change(m)
		}
	}
	return c
}

// Run works on a prompt with its parts, unless it is empty, and on what the lines of in say, until
// in ends and all work is done, or until ctx, the session or the program ends it. It returns the
// outcome of the last input, or nil without one. The caller closes the session. If in is nil, the
// only lines are those of Do, and without a prompt Run continues the last input.
//
// A read of in may still go on when Run returns; what it brings is ignored.
func (c *Conversation) Run(ctx context.Context, session *agent.Session, in io.Reader, prompt string,
	parts ...llm.Part) (*agent.Result, error) {
	ctx, c.stop = context.WithCancelCause(ctx)
	defer c.stop(nil)
	c.session = session
	close(c.started)
	if prompt != "" {
		if _, err := c.give(ctx, &input{Type: TypeUser, fields: fields{Text: prompt}, parts: parts,
			plain: c.PlainPrompt}); err != nil {
			c.finish(true)
			return nil, err
		}
	} else if in == nil {
		_ = c.ContinueLast() // nothing has ended yet
	}
	taken := make(chan struct{})
	if in == nil {
		close(taken)
	} else {
		go c.read(ctx, in)
		go func() {
			defer close(taken)
			c.takeAll(ctx)
		}()
	}
	for {
		select {
		case begun := <-c.wake:
			c.work(ctx, begun)
			continue
		case <-taken:
		case <-ctx.Done():
		case <-c.over:
			c.tellTakenOver(ctx)
			c.stop(errEnding)
		}
		<-taken
		for done := false; !done; done = c.finish(ctx.Err() != nil) {
			select {
			case begun := <-c.wake:
				c.work(ctx, begun)
			default:
			}
		}
		return c.outcome(ctx)
	}
}

// over is closed when a session has ended. One that was taken over has no event of that.
type over chan struct{}

// Close closes the channel.
func (o over) Close() error {
	close(o)
	return nil
}

// tellTakenOver tells the program why the session has ended, if no event says so.
func (c *Conversation) tellTakenOver(ctx context.Context) {
	if _, err := c.session.Advance(ctx); errors.Is(err, agent.ErrTakenOver) {
		c.setup.Tell(&agent.Warning{EventHeader: agent.EventHeader{Kind: agent.KindWarning}, Code: "taken_over",
			Text: "another process has taken over the session, which goes on there and ends here"})
	}
}

// ContinueLast continues the last input, unless a line has begun another one. It returns an error
// if the session is ending.
func (c *Conversation) ContinueLast() error {
	<-c.started
	c.giving.Lock()
	defer c.giving.Unlock()
	switch {
	case c.finished:
		return errEnding
	case !c.running:
		c.start(true)
	}
	return nil
}

// finish refuses further work and returns true, unless the worker has some. With force it does so
// in any case.
func (c *Conversation) finish(force bool) (done bool) {
	c.giving.Lock()
	defer c.giving.Unlock()
	c.finished = !c.running || force
	return c.finished
}

// follow notes from the events that the program gets whether it knows that an input runs.
func (c *Conversation) follow(ev agent.Event) {
	switch ev.(type) {
	case *agent.ProcessingEnd:
		c.told.end()
	case *agent.UserInput:
		c.told.begin()
	}
}

// told holds whether the program was told of the end of the input that ran last.
type told struct {
	mu   sync.Mutex
	next chan struct{} // closed when another input begins; nil unless the last one has ended
}

// end notes that the program is told of the end of an input.
func (t *told) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == nil {
		t.next = make(chan struct{})
	}
}

// begin notes that an input begins, or goes on.
func (t *told) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next != nil {
		close(t.next)
		t.next = nil
	}
}

// ended reports whether the program was told of the end, and returns a channel that is closed when
// another input begins.
func (t *told) ended() (next <-chan struct{}, ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next, t.next != nil
}

// outcome returns what Run returns.
func (c *Conversation) outcome(ctx context.Context) (*agent.Result, error) {
	switch cause := context.Cause(ctx); {
	case c.err != nil || c.result != nil && cause == nil:
		return c.result, c.err
	case cause != nil && cause != ErrClosed && cause != errEnding: // the caller's, such as a time limit
		return c.result, cause
	case c.result == nil && c.refused.Load() > 0 && c.understood.Load() == 0:
		return nil, fmt.Errorf("%w: %d refused; the REPLY events say why", ErrNoInput, c.refused.Load())
	}
	return c.result, nil
}

// read reads lines until they end or one closes the session.
func (c *Conversation) read(ctx context.Context, r io.Reader) {
	defer close(c.queue)
	lines := texts.NewLines(r, MaxLine)
	for {
		line, err := lines.Next()
		in := &input{}
		switch {
		case errors.Is(err, texts.ErrTooLong):
			err = fmt.Errorf("the line is longer than %d MiB", MaxLine>>20)
		case err != nil:
			if !errors.Is(err, io.EOF) {
				c.setup.Tell(&agent.Warning{EventHeader: agent.EventHeader{Kind: agent.KindWarning}, Code: "input",
					Text: "cannot read the input: " + err.Error()})
			}
			c.asks.Close("the input has ended")
			c.tools.close("its input has ended")
			return
		case len(bytes.TrimSpace(line)) == 0:
			continue
		default:
			in, err = decode(line)
		}
		in.number, in.order = int64(lines.N), c.orders.Add(1)
		if err != nil {
			c.refused.Add(1)
			c.reply(in, Reply{}, err)
			continue
		}
		c.understood.Add(1)
		if r, controls := c.control(ctx, in); controls {
			c.send(r)
		} else {
			c.enqueue(ctx, in)
		}
		if in.Type == TypeClose {
			c.stop(ErrClosed)
			return
		}
	}
}

// enqueue gives a line to the goroutine that takes work, or refuses it if that is about to end.
// While the queue is full, it blocks.
func (c *Conversation) enqueue(ctx context.Context, in *input) {
	for c.bytes.Load() > maxBytes && ctx.Err() == nil {
		select {
		case <-c.room:
		case <-ctx.Done():
		}
	}
	if ctx.Err() == nil { // afterwards no lines are taken, and the queue may have room
		c.bytes.Add(int64(in.size))
		select {
		case c.queue <- in:
			return
		case <-ctx.Done():
		}
	}
	c.reply(in, Reply{}, errEnding)
}

// takeAll takes the lines with work, one after the other.
func (c *Conversation) takeAll(ctx context.Context) {
	for {
		select {
		case in, ok := <-c.queue:
			if !ok {
				return
			}
			c.take(ctx, in)
		case <-ctx.Done():
			if len(c.queue) == 0 {
				return
			}
		}
	}
}

// take gives the session what a line says, and replies.
func (c *Conversation) take(ctx context.Context, in *input) {
	r, err := Reply{}, error(errEnding)
	switch {
	case ctx.Err() != nil:
	case in.Type != TypeSet && c.interrupted.Load() > in.order:
		err = errors.New("an interrupt came before the line was taken, so it was not")
	default:
		r, err = c.give(ctx, in)
	}
	c.bytes.Add(-int64(in.size))
	select {
	case c.room <- struct{}{}:
	default:
	}
	c.reply(in, r, err)
}

// control carries out a line that controls what runs. It returns false for lines that bring work.
func (c *Conversation) control(ctx context.Context, in *input) (r *Reply, controls bool) {
	switch in.Type {
	case TypeInterrupt:
		c.interrupted.Store(in.order)
		c.interrupt()
	case TypeClose:
		c.asks.Close("the session is closed")
		c.tools.close("the session is closed")
		c.setup.StopCommand()
	default:
		return c.controls.control(ctx, in)
	}
	return c.answer(in, Reply{}, nil), true
}

// reply sends the reply to a line, with the error's text.
func (c *Conversation) reply(in *input, r Reply, err error) { c.send(c.answer(in, r, err)) }

// send tells the program a reply. It waits while too many replies wait to be written.
func (c *Conversation) send(r *Reply) {
	select {
	case c.replies <- struct{}{}:
		c.setup.Tell(r)
	case <-c.over: // there are no events any more
	}
}
