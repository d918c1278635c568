package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/tty"
	"github.com/attractor-go/attractor/sanitize"
)

// console is a [render.Person] on a terminal, who is asked one question at a time. A line answers a
// question only if the person typed it while the question was on the screen.
type console struct {
	in   io.Reader
	out  io.Writer
	line *lastLine // through which out leads
	turn render.Turns

	tty      *os.File // the controlling terminal; nil if there is none
	terminal *os.File // in, if that is a terminal
	lines    *bufio.Reader
	stale    chan typed // the read that a canceled question has left, on a terminal where reads cannot be ended
	// withdrawn is when the question before ended without the person: they may be about to answer
	// it. doubtful is until when a line may still be their answer to it.
	withdrawn, doubtful time.Time
}

// typed holds a line that a person has typed.
type typed struct {
	line string
	err  error
}

// maxAnswer limits a line that a person types, in bytes. A terminal itself takes at most 4,096.
const maxAnswer = 64 << 10

func newConsole(in io.Reader, out io.Writer) *console {
	c := &console{in: in, out: out, line: lineOf(out), turn: render.NewTurns(),
		lines: bufio.NewReaderSize(in, maxAnswer)}
	if c.line == nil {
		c.line = &lastLine{out: out}
		c.out = &throughLine{c.line, out}
	}
	return c
}

// openConsole returns a console on standard input if that is a terminal, else on the controlling
// terminal, because the prompt may come through a pipe. It returns nil if there is no terminal. If
// standard error is none, the questions go to the controlling terminal too.
func openConsole(t terminal) *console {
	controlling, noTTY := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	in, ok := t.in.(*os.File)
	if ok = ok && term.IsTerminal(int(in.Fd())); ok {
		if own, err := tty.Reopen(in); err == nil {
			in = own
		}
	} else if noTTY != nil {
		return nil
	} else {
		in = controlling
	}
	out := t.err
	if noTTY == nil && !isTerminal(t.err) {
		out = sanitize.NewWriter(controlling, sanitize.Plain)
	}
	c := newConsole(in, out)
	c.terminal = in
	if noTTY == nil {
		c.tty = controlling
	}
	return c
}

// Take waits until nobody else asks. The caller then writes its question, discards what was typed
// so far, reads the answer and calls release.
func (c *console) Take(ctx context.Context) (release func(), err error) {
	if release, err = c.turn.Take(ctx); err == nil {
		c.line.bell()
	}
	return release, err
}

// ask returns the line with which a person answers a question that is not about a tool call.
func (c *console) ask(ctx context.Context, label string) (string, error) {
	release, err := c.Take(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	c.Discard()
	return c.ReadLine(ctx, label)
}

// Say shows a text.
func (c *console) Say(text string) { fmt.Fprint(c.out, render.InRows(text, widthOf(c.out))) }

// Discard discards what was typed so far. The rest of a text that was pasted is no answer either.
func (c *console) Discard() {
	if f, ok := c.in.(*os.File); ok {
		tty.Discard(f)
		c.lines = bufio.NewReaderSize(c.in, maxAnswer)
	}
}

// errNobody reports the end of the input.
var errNobody = errors.New("nobody answered")

// ReadLine writes a label and returns the next line, or an error when the context ends first. A
// line that may have been meant for a question that was withdrawn before does not count.
func (c *console) ReadLine(ctx context.Context, label string) (string, error) {
	if time.Since(c.withdrawn) < render.ForgottenAfter {
		c.doubtful = time.Now().Add(render.WithdrawnFor)
	}
	c.withdrawn = time.Time{}
	for {
		line, err := c.readLine(ctx, label)
		switch {
		case err == nil && time.Now().Before(c.doubtful):
			c.Say("This line does not count, because it may have been meant for the question before, which has " +
				"ended. Please type it again.\n")
			continue
		case ctx.Err() != nil:
			c.withdrawn = time.Now()
		}
		return line, err
	}
}

// readLine writes a label and returns the next line.
func (c *console) readLine(ctx context.Context, label string) (string, error) {
	c.line.ask(label)
	complete := false
	defer func() { c.line.answered(complete) }()
	if c.stale != nil {
		select {
		case <-c.stale:
			c.stale = nil
			c.Say("This line does not count, because another question was open when the terminal began to read it. " +
				"Please type it again.\n")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	done, lines := make(chan typed, 1), c.lines
	go func() {
		line, err := lines.ReadSlice('\n')
		done <- typed{string(line), err}
	}()
	select {
	case read := <-done:
		complete = strings.HasSuffix(read.line, "\n")
		switch {
		case errors.Is(read.err, bufio.ErrBufferFull):
			return "", fmt.Errorf("the answer has more than %d bytes", maxAnswer)
		case read.err != nil: // what was typed without Enter is no answer
			return "", c.ended(ctx)
		}
		return strings.TrimSpace(read.line), nil
	case <-ctx.Done():
		c.endRead(done)
		return "", context.Cause(ctx)
	}
}

// hangupWait bounds the wait for the signal of a terminal that is gone. There is none if SIGHUP is
// ignored.
const hangupWait = time.Second

// ended returns the error for the end of the input. If the terminal is gone, its SIGHUP ends the
// session, but a read may learn of it first.
func (c *console) ended(ctx context.Context) error {
	if c.terminal != nil && hungUp(c.terminal) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(hangupWait):
		}
	}
	return errNobody
}

// hungUp reports whether a terminal is gone.
func hungUp(f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return true
	}
	gone := true
	err = raw.Control(func(fd uintptr) { gone = !term.IsTerminal(int(fd)) })
	return err != nil || gone
}

// endRead ends the read of a question that was canceled, so that it does not take the answer to the
// next one.
func (c *console) endRead(done chan typed) {
	in, ok := c.in.(interface{ SetReadDeadline(time.Time) error })
	if !ok || in.SetReadDeadline(time.Unix(1, 0)) != nil {
		c.stale = done
		return
	}
	<-done
	_ = in.SetReadDeadline(time.Time{}) // it has just worked
}

// Close closes the terminals.
func (c *console) Close() error {
	var err error
	if f, ok := c.in.(*os.File); ok && f != os.Stdin && f != c.tty {
		err = f.Close()
	}
	if c.tty != nil {
		err = errors.Join(err, c.tty.Close())
	}
	return err
}
