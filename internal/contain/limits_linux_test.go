package contain

import (
	"fmt"
	"strings"
	"testing"
)

func TestL6_HierarchiesOfVersion1(t *testing.T) {
	const mounts = "31 1 0:30 / /sys/fs/cgroup/pids rw shared:4 - cgroup cgroup rw,pids\n" +
		"32 1 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n" +
		`33 1 0:32 /docker/a /my\040memory rw - cgroup memory rw,memory` + "\n" +
		"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	for _, c := range []struct{ own, controller, want string }{
		{"8:pids:/\n0::/\n", "pids", "/sys/fs/cgroup/pids"},
		{"8:pids:/a:b\n", "pids", "/sys/fs/cgroup/pids/a:b"},
		{"3:cpu,cpuacct:/x\n8:pids:/\n", "cpuacct", "/sys/fs/cgroup/cpu/x"},
		{"4:memory:/docker/a/b\n", "memory", "/my memory/b"},
		{"4:memory:/docker/ab\n", "memory", ""},
		{"4:memory:/../x\n", "memory", ""},
		{"0::/\n", "memory", ""},
		{"8:pids:/\n", "memory", ""},
		{"5:io:/\n", "io", ""},
	} {
		if got := ownDirV1(mounts, c.own, c.controller); got != c.want {
			t.Errorf("%s of %q is at %q, want %q", c.controller, c.own, got, c.want)
		}
	}
}

func TestL6_KernelReleases(t *testing.T) {
	for release, want := range map[string]bool{"6.14.0": true, "6.18.44-fc": true, "7.0-rc1": true, "6.13.9": false, "5.15.0-1": false, "6": false, "": false, "x.y": false} {
		if got := atLeast(release, 6, 14); got != want {
			t.Errorf("%q: %t", release, got)
		}
	}
}

// Process numbers limit the processes of a namespace where no controller does, and only of that namespace.
func TestL6_ByProcessNumbers(t *testing.T) {
	const limit = 100
	if pidMaxOf(limit) == 0 {
		t.Skip("the kernel has one pid_max for the whole machine")
	}
	before := contentOf(t, "/proc/sys/kernel/pid_max")
	n := livePIDNS(t)
	if got := n.limitNumbers(limit, func() error { return n.probe("/bin/sh") }); got != limit {
		t.Fatalf("the limit is %d", got)
	}
	levels := map[string]mechanism{PIDNS: n}
	if r, err := findCgroupPIDNS("/bin/sh", "", readMountinfo, true); err == nil {
		if got := r.pidns.limitNumbers(limit, func() error { return r.probe("/bin/sh") }); got != limit {
			t.Fatalf("the limit is %d", got)
		}
		if err := r.end(); err != nil { // it has a namespace from before
			t.Fatal(err)
		}
		levels[CgroupPIDNS] = r
	}
	for name, m := range levels {
		t.Run(name, func(t *testing.T) {
			v, err := Find(Group, "/bin/sh", Limits{})
			if err != nil {
				t.Fatal(err)
			}
			v.mechanism = m
			c := newCommand(t, `n=0; trap 'echo "started $n"' EXIT; while [ $n -lt 900 ]; do sleep 600 2>/dev/null >&2 & n=$((n+1)); done`, false)
			exit, printed := c.end(t, c.start(t, v))
			var started int
			_, last, _ := strings.Cut(printed, "started ")
			if _, err := fmt.Sscan(last, &started); err != nil || started < limit-10 || started > limit || exit.ExitStatus() == 0 {
				t.Errorf("%d processes: %v, %q, %v", started, exit, printed, err)
			}
			if err := v.Close(true); err != nil {
				t.Error(err)
			}
		})
	}
	if after := contentOf(t, "/proc/sys/kernel/pid_max"); after != before {
		t.Errorf("the machine's limit is now %s, was %s", after, before)
	}
}

func contentOf(t *testing.T, name string) string {
	t.Helper()
	text, err := readProc(name, make([]byte, 0, 64))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
