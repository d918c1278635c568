package soak

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/attractor-go/attractor/internal/orphans"
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
	f["processes"] = len(orphans.Below())
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
