package contain

import (
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
)

// The limits whose controllers are enabled below a cgroup hold, and are written to the files of a
// command's own.
func TestL6_ByControllers(t *testing.T) {
	wanted := Limits{Processes: 7, Memory: 1 << 20}
	both := map[string]string{"pids.max": "7", "memory.max": "1048576", "memory.swap.max": "0"}
	for _, c := range []struct {
		enabled string
		wanted  Limits
		limits  Limits
		files   map[string]string
	}{
		{"cpu pids memory\n", wanted, wanted, both},
		{"cpu pids\n", wanted, Limits{Processes: 7}, map[string]string{"pids.max": "7"}},
		{"memory\n", wanted, Limits{Memory: 1 << 20},
			map[string]string{"memory.max": "1048576", "memory.swap.max": "0"}},
		{"pids memory\n", Limits{}, Limits{}, nil},
		{"\n", wanted, Limits{}, nil},
	} {
		dir := t.TempDir()
		l := &leaf{dir: path.Join(dir, "command")}
		if err := os.Mkdir(l.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"cgroup.subtree_control": c.enabled, "command/pids.max": "",
			"command/memory.max":      "",
			"command/memory.swap.max": "", "command/pids.events": "max 1\n",
			"command/memory.events": "oom 1\noom_kill 0\n"} {
			if err := os.WriteFile(path.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		limits, settings := limitsBelow(dir, c.wanted)
		if err := l.set(settings); err != nil || limits != c.limits {
			t.Errorf("%q: %+v, %v", c.enabled, limits, err)
		}
		for name := range both {
			if got := contentOf(t, path.Join(l.dir, name)); got != c.files[name] {
				t.Errorf("%q: %s has %q, want %q", c.enabled, name, got, c.files[name])
			}
		}
		if got := l.Reached(); got != (Reached{Processes: true}) {
			t.Errorf("reached: %+v", got)
		}
	}
	if limits, _ := limitsBelow(t.TempDir(), wanted); limits != (Limits{}) {
		t.Errorf("where there is no cgroup: %+v", limits)
	}
}

func TestL6_KernelReleases(t *testing.T) {
	for release, want := range map[string]bool{"6.14.0": true, "6.18.44-fc": true, "7.0-rc1": true, "6.13.9": false,
		"5.15.0-1": false, "6": false, "": false, "x.y": false} {
		if got := atLeast(release, 6, 14); got != want {
			t.Errorf("%q: %t", release, got)
		}
	}
}

// Process numbers limit the processes of a namespace where no controller does, and only of that
// namespace.
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
	if r, err := findCgroupPIDNS("/bin/sh", "", nil, readMountinfo, true); err == nil {
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
			if _, err := fmt.Sscan(last, &started); err != nil || started < limit-10 || started > limit ||
				exit.ExitStatus() == 0 {
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
	text, err := readProc(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
