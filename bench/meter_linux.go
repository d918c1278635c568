package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// meter measures process trees: by a cgroup, which counts every descendant, or by rusage, which
// counts those that were waited for.
type meter struct {
	group string // empty without cgroups
	runs  int
}

// newMeter makes a cgroup if this process may.
func newMeter() *meter {
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		m := &meter{group: filepath.Join(root, ownGroup(), fmt.Sprintf("bench-%d", os.Getpid()))}
		if os.Mkdir(m.group, 0o755) != nil {
			continue
		}
		if _, err := m.run(exec.Command("true")); err == nil {
			return m
		}
		m.close()
	}
	return &meter{}
}

// ownGroup returns the path of this process's cgroup in the unified hierarchy.
func ownGroup() string {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return path
		}
	}
	return ""
}

func (m *meter) how() string {
	if m.group == "" {
		return byRusage
	}
	return "cgroup: every descendant"
}

// run runs a command and returns its processor time. What it leaves running is killed.
func (m *meter) run(cmd *exec.Cmd) (c cost, err error) {
	if m.group == "" {
		return rusage(cmd)
	}
	m.runs++ // a cgroup that was killed once is not used again: a kernel may kill what is started in it
	leaf := filepath.Join(m.group, strconv.Itoa(m.runs))
	if err := os.Mkdir(leaf, 0o755); err != nil {
		return c, err
	}
	defer remove(leaf)
	dir, err := os.Open(leaf)
	if err != nil {
		return c, err
	}
	defer dir.Close()
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	c, err = rusage(cmd)
	end(leaf)
	if used, usedErr := cpuOf(leaf); usedErr == nil {
		c.cpu = used
	} else if err == nil {
		err = usedErr
	}
	return c, err
}

// cpuOf returns the processor time of a cgroup.
func cpuOf(group string) (time.Duration, error) {
	data, err := os.ReadFile(filepath.Join(group, "cpu.stat"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "usage_usec "); ok {
			us, err := strconv.ParseInt(n, 10, 64)
			return time.Duration(us) * time.Microsecond, err
		}
	}
	return 0, fmt.Errorf("%s/cpu.stat has no usage_usec", group)
}

// end kills the processes of a cgroup and waits until they are gone, a second at most.
func end(group string) {
	for range 1000 {
		data, err := os.ReadFile(filepath.Join(group, "cgroup.events"))
		if err != nil || strings.Contains(string(data), "populated 0") {
			return
		}
		_ = os.WriteFile(filepath.Join(group, "cgroup.kill"), []byte("1"), 0)
		time.Sleep(time.Millisecond)
	}
}

func (m *meter) close() {
	if m.group != "" {
		end(m.group)
		remove(m.group)
	}
}

// remove removes a cgroup and the cgroups below it. What remains is empty and does no harm.
func remove(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() {
			remove(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(dir)
}
