package env

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/internal/filelock"
)

// lockRange is the number of bytes of a lock file that are locked. It avoids the end of the number
// range, which some systems treat specially.
const lockRange = 1 << 62

// lockName returns the only lock file of a kind. Its bytes are locked separately.
func lockName(kind string, _ int64) string { return kind }

// tryLock takes the lock of a byte of an open file, or returns filelock.ErrLocked. The lock belongs
// to the open file description: two openings in one process exclude each other, and closing the
// file ends it. If the kernel does not have such locks, all processes lock the whole file.
func tryLock(f *os.File, at int64) error {
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1})
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
			return filelock.ErrLocked
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EINVAL):
			return filelock.TryLock(f, filelock.Exclusive)
		case err != nil:
			return os.NewSyscallError("fcntl", err)
		}
		return nil
	}
}

// lockHolder returns the process that has locked a directory, or "" if the kernel does not tell.
func lockHolder(id dirID) string {
	f, err := os.Open("/proc/locks")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // nothing was written
	where := fmt.Sprintf("%02x:%02x:%d", unix.Major(id.device), unix.Minor(id.device), id.inode)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// 1: FLOCK  ADVISORY  WRITE 4242 fd:01:131 0 EOF, see proc_locks(5)
		words := strings.Fields(lines.Text())
		if len(words) < 6 || words[1] != "FLOCK" || words[5] != where || words[4] == "0" {
			continue // 0 is a process that this one cannot see
		}
		holder := "process " + words[4]
		if name, err := os.ReadFile("/proc/" + words[4] + "/comm"); err == nil {
			holder += fmt.Sprintf(" (%s)", strings.TrimSpace(string(name)))
		}
		return holder
	}
	return ""
}
