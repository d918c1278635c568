package contain

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Conceal overwrites the environment of this process and makes it undumpable. See env.Conceal.
func Conceal() error {
	err := overwriteEnviron()
	return errors.Join(err, os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)))
}

// overwriteEnviron writes zeros over the entries of the environment.
func overwriteEnviron() (err error) {
	begin, end, err := environAddress()
	if err != nil || end <= begin {
		return err
	}
	const name = "/proc/self/mem"
	// os.OpenFile would start the poller, also for programs that need none
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("overwrite the environment: open %s: %w", name, err)
	}
	mem := os.NewFile(uintptr(fd), name)
	defer func() { err = errors.Join(err, mem.Close()) }()
	block := make([]byte, end-begin)
	if _, err := mem.ReadAt(block, begin); err != nil {
		return fmt.Errorf("overwrite the environment: %w", err)
	}
	for entry := range bytes.SplitSeq(block, []byte{0}) {
		if !bytes.HasPrefix(entry, []byte(MarkVar+"=")) { // whoever started this process finds it by the mark
			clear(entry)
		}
	}
	if _, err := mem.WriteAt(block, begin); err != nil {
		return fmt.Errorf("overwrite the environment: %w", err)
	}
	return nil
}

// environAddress returns where the environment is in memory: env_start and env_end of
// proc_pid_stat(5).
func environAddress() (begin, end int64, err error) {
	line, err := readProc("/proc/self/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("read /proc/self/stat: %w", err)
	}
	const beginField, endField = 50 - 3, 51 - 3 // numbered as in the manual, whose third field is our first
	f := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(f) <= endField {
		return 0, 0, errors.New("/proc/self/stat has no address of the environment")
	}
	begin, errBegin := strconv.ParseInt(f[beginField], 10, 64)
	end, errEnd := strconv.ParseInt(f[endField], 10, 64)
	return begin, end, errors.Join(errBegin, errEnd)
}
