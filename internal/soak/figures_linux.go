package soak

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// ofSystem counts what /proc and the cgroup file system show. Of mounts it counts those that
// sessions could make: of /proc, of cgroups and in the directories.
func (f Figures) ofSystem(dirs []string) {
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		kib, _ := strconv.Atoi(strings.Fields(rest)[0]) // the kernel writes a number
		f[rss] = kib << 10
	}
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		f["descriptors"] = len(fds)
	}
	f["mounts"] = 0
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		counted := append([]string{"/proc", "/sys/fs/cgroup"}, dirs...)
		for line := range strings.Lines(string(mounts)) {
			at := strings.Fields(line)[4]
			if slices.ContainsFunc(counted, func(dir string) bool { return strings.HasPrefix(at, dir) }) {
				f["mounts"]++
			}
		}
	}
	f["processes"] = len(descendants())
	f["cgroups"] = abandonedCgroups()
}

// abandonedCgroups counts the cgroups of commands whose host has ended. A living host holds a lock
// on each of its cgroups.
func abandonedCgroups() (n int) {
	_ = filepath.WalkDir("/sys/fs/cgroup", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // a cgroup that has just ended
		}
		// the names that commands get; others are of tests
		if id, ok := strings.CutPrefix(d.Name(), "attractor-"); !ok || len(id) < 20 {
			return nil
		}
		if dir, err := os.Open(name); err == nil {
			if syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
				n++
			}
			dir.Close() // it was only looked at
		}
		return filepath.SkipDir
	})
	return n
}

// descendants returns the processes below this one that have not ended, by id.
func descendants() map[int]bool {
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
	below := map[int]bool{}
	for pid := range alive {
		at := parent[pid]
		for steps := 0; at > 0 && at != os.Getpid() && steps < len(parent); steps++ {
			at = parent[at]
		}
		if at == os.Getpid() && alive[pid] {
			below[pid] = true
		}
	}
	return below
}

// killOne kills a process below this one that works in a directory or, if that is empty, in any,
// except one. It reports whether there was one.
func killOne(dice *rand.Rand, dir string, except int) bool {
	all := slices.DeleteFunc(slices.Sorted(maps.Keys(descendants())), func(pid int) bool {
		cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		return pid == except || err != nil || !strings.HasPrefix(cwd, dir)
	})
	if len(all) == 0 {
		return false
	}
	p, err := os.FindProcess(all[dice.IntN(len(all))])
	if err != nil {
		return false
	}
	defer p.Release() // it only forgets the process
	return descendants()[p.Pid] && p.Kill() == nil
}

// reap waits for processes that have ended and whose parent was killed. Nothing else may wait for
// processes.
func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}
