package env

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// order reads pipes in the order in which they became readable. The kernel keeps that order in an
// epoll's ready list. A goroutine for each pipe loses it: with one line to each stream, every
// second command came out in the wrong order. Data written to a stream that already has unread data
// is read together with it, and so may overtake the other stream: of "a" to stdout, "b" to stderr
// and "c" to stdout within microseconds, "c" may come before "b".
type order struct {
	f     *os.File // an epoll that the Go runtime's own epoll watches
	conn  syscall.RawConn
	pipes []*pipe
	conns []syscall.RawConn // of the pipes

	// The state of wait, kept so that reading gigabytes does not allocate.
	events  [2]unix.EpollEvent // one for each stream
	ready   int                // number of events
	waitErr error
	poll    func(epoll uintptr) bool

	closing sync.Once
	err     error
}

// newOrder returns a reader of pipes in order. The result must be closed even if there is an error.
func newOrder(pipes []*pipe) (*order, error) {
	r := &order{pipes: pipes}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return r, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that os.NewFile hands it to the runtime's poller
		return r, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(fd))
	}
	r.f = os.NewFile(uintptr(fd), "epoll")
	if r.conn, err = r.f.SyscallConn(); err != nil {
		return r, err
	}
	for i, p := range pipes {
		conn, err := p.f.SyscallConn()
		if err != nil {
			return r, err
		}
		r.conns = append(r.conns, conn)
		if err := r.control(unix.EPOLL_CTL_ADD, i); err != nil {
			return r, err
		}
	}
	return r, nil
}

// control adds a pipe to the epoll or takes it away.
func (r *order) control(op, i int) error {
	var epollErr, ctlErr error
	pipeErr := r.conns[i].Control(func(pipe uintptr) {
		epollErr = r.conn.Control(func(epoll uintptr) {
			event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}
			ctlErr = unix.EpollCtl(int(epoll), op, int(pipe), &event)
		})
	})
	return errors.Join(pipeErr, epollErr, os.NewSyscallError("epoll_ctl", ctlErr))
}

// read delivers output until all pipes have ended or stop is called.
func (r *order) read(o *output) {
	buf := make([]byte, readSize)
	for open := len(r.pipes); open > 0; {
		ready, err := r.wait()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if err != nil {
			o.addError(err)
			return
		}
		for _, event := range ready {
			i := int(event.Fd)
			o.readNow(r.pipes[i], r.conns[i], buf)
			if r.pipes[i].ended {
				o.addError(r.control(unix.EPOLL_CTL_DEL, i))
				open--
			}
		}
	}
}

// wait returns the indexes of the readable pipes, in order. The next call reuses the memory.
func (r *order) wait() ([]unix.EpollEvent, error) {
	if r.poll == nil {
		r.poll = func(epoll uintptr) bool {
			r.ready, r.waitErr = unix.EpollWait(int(epoll), r.events[:], 0)
			for errors.Is(r.waitErr, syscall.EINTR) {
				r.ready, r.waitErr = unix.EpollWait(int(epoll), r.events[:], 0)
			}
			return r.ready > 0 || r.waitErr != nil
		}
	}
	r.ready, r.waitErr = 0, nil
	err := r.conn.Read(r.poll)
	if err = errors.Join(err, os.NewSyscallError("epoll_wait", r.waitErr)); err != nil {
		return nil, err
	}
	return r.events[:r.ready], nil
}

// stop makes read return.
func (r *order) stop() error { return r.f.SetReadDeadline(time.Unix(1, 0)) }

// close closes the epoll. A second call does nothing.
func (r *order) close() error {
	r.closing.Do(func() {
		if r.f != nil {
			r.err = r.f.Close()
		}
	})
	return r.err
}
