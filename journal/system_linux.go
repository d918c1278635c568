package journal

import "golang.org/x/sys/unix"

// sync leaves out the times of the file, which would cost a second write. The size is data to fdatasync.
func (f diskFile) sync() error {
	return f.control(func(fd uintptr) error {
		return again(func() error { return unix.Fdatasync(int(fd)) })
	})
}
