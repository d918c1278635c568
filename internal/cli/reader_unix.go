//go:build unix

package cli

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// watchReader calls gone when nobody can read what is written to a pipe or a socket any more,
// because a write may come only much later. For other files it does nothing. The caller calls stop.
func watchReader(f *os.File, gone func()) (stop func(), err error) {
	quit, wake, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		defer quit.Close()
		fds := []unix.PollFd{{Fd: int32(f.Fd())}, {Fd: int32(quit.Fd()), Events: unix.POLLIN}}
		for {
			_, err := unix.Poll(fds, -1)
			switch {
			case errors.Is(err, unix.EINTR):
				continue
			case err != nil || fds[1].Revents != 0:
				return
			case fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0:
				gone()
				return
			}
			fds[0].Fd = -1 // something else, which would come again and again
		}
	})
	return func() {
		wake.Close()
		watching.Wait()
	}, nil
}
