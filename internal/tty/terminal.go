package tty

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Piece holds what a terminal has sent, and when it was read.
type Piece struct {
	Data []byte
	Time time.Time
}

// Terminal is a terminal that sends each key at once.
type Terminal struct {
	in, out  *os.File
	reopened bool
	was      *term.State // nil while the terminal is as before
	input    chan Piece
	done     chan struct{}
}

// The modes of a terminal that are on while it is in use: a paste is marked as one. Shells turn
// that on and off by themselves.
const (
	begin = "\x1b[?2004h"
	end   = "\x1b[?2004l"
)

// Open begins to read keys. The caller must close the Terminal.
func Open(in, out *os.File) (*Terminal, error) {
	t := &Terminal{in: in, out: out, input: make(chan Piece), done: make(chan struct{})}
	if own, err := Reopen(in); err == nil {
		t.in, t.reopened = own, true
	}
	if err := t.Raw(); err != nil {
		return nil, errors.Join(err, t.Restore(), t.closeIn())
	}
	go t.read()
	return t, nil
}

// Raw makes the terminal send each key at once.
func (t *Terminal) Raw() error {
	err := withDescriptor(t.in, func(fd int) error {
		was, err := term.MakeRaw(fd)
		if t.was == nil {
			t.was = was
		}
		return err
	})
	if err == nil {
		_, err = io.WriteString(t.out, begin)
	}
	return err
}

// Restore leaves the terminal as it was.
func (t *Terminal) Restore() error {
	if t.was == nil {
		return nil
	}
	_, err := io.WriteString(t.out, end)
	err = errors.Join(err, withDescriptor(t.in, func(fd int) error { return term.Restore(fd, t.was) }))
	t.was = nil
	return err
}

// withDescriptor calls do with a file's descriptor. [os.File.Fd] would make reads of the file block
// for good.
func withDescriptor(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	err = raw.Control(func(fd uintptr) { done = do(int(fd)) })
	return errors.Join(err, done)
}

// The size of a terminal that does not know its own, and the bounds of what is believed.
const (
	defaultWidth, defaultHeight = 80, 24
	minWidth, minHeight         = 10, 3
	maxWidth, maxHeight         = 1000, 1000
)

// Size returns the columns and lines of a terminal.
func Size(out *os.File) (width, height int) {
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return defaultWidth, defaultHeight
	}
	return min(max(width, minWidth), maxWidth), min(max(height, minHeight), maxHeight)
}

// Input returns what the terminal sends. The channel is closed when the terminal is gone.
func (t *Terminal) Input() <-chan Piece { return t.input }

func (t *Terminal) read() {
	defer close(t.input)
	buf := make([]byte, 32<<10)
	for {
		n, err := t.in.Read(buf)
		if n > 0 {
			select {
			case t.input <- Piece{append([]byte(nil), buf[:n]...), time.Now()}:
			case <-t.done:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// Discard returns how many bytes were typed and not read yet, for the caller to discard when they
// arrive. Where that is not known, it discards them itself and returns 0.
func (t *Terminal) Discard() (unread int) {
	n, err := Unread(t.in)
	if err != nil {
		Discard(t.in)
		return 0
	}
	return n
}

// Close leaves the terminal as it was.
func (t *Terminal) Close() error {
	close(t.done)
	return errors.Join(t.Restore(), t.closeIn())
}

// closeIn ends the reads, where that is possible.
func (t *Terminal) closeIn() error {
	if t.reopened {
		return t.in.Close()
	}
	return nil
}
