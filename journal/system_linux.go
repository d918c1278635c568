package journal

import "golang.org/x/sys/unix"

// sync does not sync the file's times, which would cost a second write. fdatasync does sync its
// size.
func (f diskFile) sync() error {
	return f.control(func(fd uintptr) error {
		return again(func() error { return unix.Fdatasync(int(fd)) })
	})
}
