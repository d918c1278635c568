package orphans

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func adopt() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
}

// end waits at most patience for children to end, kills those that are left, and returns their
// command lines and working directories.
func end(patience time.Duration) (lines []string) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		reap()
		if len(children()) == 0 {
			return nil
		}
	}
	for _, pid := range children() {
		dir := "/proc/" + strconv.Itoa(pid) + "/"
		line, err := os.ReadFile(dir + "cmdline")
		if err != nil {
			continue // it has ended
		}
		where, _ := os.Readlink(dir + "cwd") // empty if it ends just now; a temporary directory's name tells the test
		lines = append(lines, fmt.Sprintf("%d %sin %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '}), where))
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			lines = append(lines, err.Error())
		}
	}
	return lines
}

// reap waits for children that have ended. The init process of a PID namespace cannot end before
// its zombies are reaped. No test waits for children any more.
func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

// children returns the ids of this process's children, without zombies.
func children() (pids []int) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, name := range files {
		line, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		f := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && len(f) > 1 && f[0] != "Z" && f[0] != "X" && f[1] == strconv.Itoa(os.Getpid()) {
			pids = append(pids, pid)
		}
	}
	return pids
}
