package orphans

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		Reap()
		if len(Below()) == 0 {
			return nil
		}
	}
	for _, pid := range Below() {
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

// Reap waits for children that have ended, such as those whose parent was killed. The init process
// of a PID namespace cannot end before its zombies are reaped. Nothing else may wait for children.
func Reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

// Below returns the ids of the processes below this one that have not ended, in order.
func Below() (pids []int) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	parent := map[int]int{}
	alive := map[int]bool{}
	for _, name := range files {
		line, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil || len(fields) < 2 {
			continue
		}
		parent[pid], _ = strconv.Atoi(fields[1]) // the kernel writes a number
		alive[pid] = fields[0] != "Z" && fields[0] != "X"
	}
	for pid := range parent {
		at := parent[pid]
		for steps := 0; at > 0 && at != os.Getpid() && steps < len(parent); steps++ {
			at = parent[at]
		}
		if at == os.Getpid() && alive[pid] {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}
