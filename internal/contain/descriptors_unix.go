//go:build unix

package contain

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// blindDescriptors is the number of descriptors to try where they cannot be listed.
const blindDescriptors = 256

// inherited returns ExtraFiles with which a command gets its standard descriptors and the given
// files and no other descriptor. A nil entry closes each further descriptor that the command would
// inherit because it was open when this process began, or because a C library opened it. What Go
// opens is closed on exec anyway.
func inherited(files []*os.File) []*os.File {
	const first = 3
	last := 0
	for _, fd := range descriptors() {
		if fd <= last || fd < first {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			last = fd
		}
	}
	all := make([]*os.File, max(len(files), last-first+1, 0)) // a nil entry is closed in the child
	copy(all, files)
	return all
}

// descriptors returns the numbers of the descriptors that may be open.
func descriptors() (list []int) {
	if dir, err := os.Open("/dev/fd"); err == nil {
		names, err := dir.Readdirnames(-1)
		if dir.Close() == nil && err == nil {
			for _, name := range names {
				if fd, err := strconv.Atoi(name); err == nil {
					list = append(list, fd)
				}
			}
			return list
		}
	}
	for fd := range blindDescriptors {
		list = append(list, fd)
	}
	return list
}
