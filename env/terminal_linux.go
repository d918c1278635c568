package env

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal connects a command by a terminal and returns the child's end. The terminal is the
// controlling one of the command's new session.
func (p *process) terminal(c Command) (theirs []*os.File, err error) {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	if p.output, err = newOutput(c.Output, &pipe{stream: Stdout, f: ours}); err != nil {
		return nil, err
	}
	p.stdin = &input{f: ours, eof: []byte{4}} // ^D, the end of the input for a terminal
	number, err := prepareTerminal(ours, *c.TTY)
	if err != nil {
		return nil, err
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	return []*os.File{slave}, nil
}

// prepareTerminal unlocks the other end, sets the size and returns its number; see ptmx(4).
func prepareTerminal(f *os.File, size Size) (number int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var ioctlErr error
	err = conn.Control(func(raw uintptr) {
		fd := int(raw)
		if ioctlErr = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); ioctlErr != nil {
			return
		}
		if number, ioctlErr = unix.IoctlGetInt(fd, unix.TIOCGPTN); ioctlErr != nil {
			return
		}
		ioctlErr = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
	return number, errors.Join(err, os.NewSyscallError("ioctl", ioctlErr))
}
