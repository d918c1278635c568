package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// person sits at a terminal on which a command runs.
type person struct {
	*testing.T
	cmd  *exec.Cmd
	ours *os.File // the terminal's other side

	mu     sync.Mutex
	news   *sync.Cond
	screen string // everything so far
	seen   int    // how much of it expect has gone through
	ended  error  // the end of the output
}

// openTerminal returns the two sides of a terminal of 80 columns: the person's and the program's.
func openTerminal(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this system has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { ours.Close() })
	number := 0
	raw, err := ours.SyscallConn() // Fd would make reads block, and Close would wait for them
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		err = errors.Join(unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0),
			unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
		if err == nil {
			number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	return ours, theirs
}

// startOnTerminal starts a command on a terminal. Its streams are the terminal, except those that
// are set.
func startOnTerminal(t *testing.T, cmd *exec.Cmd) *person {
	t.Helper()
	ours, theirs := openTerminal(t)
	if cmd.Stdin == nil {
		cmd.Stdin = theirs
	}
	if cmd.Stdout == nil {
		cmd.Stdout = theirs
	}
	if cmd.Stderr == nil {
		cmd.Stderr = theirs
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	cmd.ExtraFiles = []*os.File{theirs}
	p := &person{T: t, cmd: cmd, ours: ours}
	p.news = sync.NewCond(&p.mu)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	go p.watch()
	return p
}

// watch reads what the terminal shows until the command has ended.
func (p *person) watch() {
	buf, raw := make([]byte, 32<<10), ""
	for {
		n, err := p.ours.Read(buf)
		p.mu.Lock()
		raw += string(buf[:n])
		// a line above the live line ends in \r\n already
		p.screen = strings.NewReplacer("\r\r\n", "\n", "\r\n", "\n").Replace(raw)
		p.ended = err
		p.news.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// expect waits until the screen shows a text below what the last expect found, and returns what is
// above it.
func (p *person) expect(text string) (above string) {
	p.Helper()
	from := p.seen
	shown := p.next(text)
	p.mu.Lock()
	defer p.mu.Unlock()
	if shown == "" {
		p.Fatalf("the screen never shows %q; since the last answer:\n%s", text, p.screen[from:])
	}
	return p.screen[from : p.seen-len(text)]
}

// next waits until the screen shows one of the texts below what the last expect found, and returns
// it. It returns nothing at the end.
func (p *person) next(texts ...string) (shown string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		end := len(p.screen) + 1
		for _, text := range texts {
			if at := strings.Index(p.screen[p.seen:], text); at >= 0 && p.seen+at+len(text) < end {
				shown, end = text, p.seen+at+len(text)
			}
		}
		switch {
		case shown != "":
			p.seen = end
			return shown
		case p.ended != nil:
			return ""
		}
		p.news.Wait()
	}
}

// write types a text.
func (p *person) write(text string) {
	p.Helper()
	if _, err := io.WriteString(p.ours, text); err != nil {
		p.Fatal(err)
	}
}

// wait waits for the end of the command and returns the whole screen and the exit code.
func (p *person) wait() (screen string, code int) {
	p.Helper()
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.ended == nil {
		p.news.Wait()
	}
	if !errors.Is(p.ended, syscall.EIO) && !errors.Is(p.ended, io.EOF) { // EIO marks the end of a terminal's output
		p.Fatal(p.ended)
	}
	return p.screen, p.cmd.ProcessState.ExitCode()
}
