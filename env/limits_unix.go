//go:build unix

package env

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// eachProcess sets the limits that the kernel has for each process. Go cannot set them in a child
// alone, so a shell does it.
func (l *limits) eachProcess(wanted Limits, userNamespaces bool) error {
	var errs []error
	set := func(resource int, wanted int64, command func(value string) string, unit int64) int64 {
		var host unix.Rlimit
		if wanted == 0 {
			return 0
		}
		if err := unix.Getrlimit(resource, &host); err != nil {
			errs = append(errs, os.NewSyscallError("getrlimit", err))
			return 0
		}
		if highest := uint64(host.Max); highest < math.MaxInt64 { // otherwise it is infinite
			wanted = min(wanted, int64(highest))
		}
		units := (wanted + unit - 1) / unit
		l.set = append(l.set, command(strconv.FormatInt(units, 10)))
		return units * unit
	}
	l.hold.FileSize = set(unix.RLIMIT_FSIZE, wanted.FileSize, func(value string) string { return "ulimit -f " + value },
		512)
	l.hold.OpenFiles = set(unix.RLIMIT_NOFILE, wanted.OpenFiles,
		func(value string) string { return "ulimit -n " + value }, 1)
	if userNamespaces && os.Getuid() != 0 && l.hold.Processes == 0 { // the kernel does not count root's
		l.hold.Processes = set(unix.RLIMIT_NPROC, wanted.Processes, func(value string) string {
			return "{ ulimit -u " + value + " 2>/dev/null || ulimit -p " + value + "; }" // shells differ
		}, 1)
	}
	if len(l.set) == 0 || len(errs) > 0 {
		return errors.Join(errs...)
	}
	if sh, err := exec.LookPath("/bin/sh"); err == nil {
		l.sh = sh // the smallest one
	}
	return nil
}
