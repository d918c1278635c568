package journal

import (
	"errors"

	"golang.org/x/sys/unix"
)

// sync does not sync the file's times, which would cost a second write. fdatasync does sync its
// size.
func (f diskFile) sync() error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
