package contain

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/internal/peer"
)

// countingShell returns the path of a shell, and a function that returns how often it was started.
func countingShell(t *testing.T) (shell string, starts func() int) {
	t.Helper()
	dir := t.TempDir()
	shell, count := path.Join(dir, "sh"), path.Join(dir, "count")
	if err := os.WriteFile(shell, []byte("#!/bin/sh\necho >> "+"'"+count+"'"+"\nexec /bin/sh \"$@\"\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	return shell, func() int {
		lines, err := os.ReadFile(count)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return len(lines)
	}
}

// bestLevel returns the best level that a process proves to work.
func bestLevel(t *testing.T) string {
	t.Helper()
	for _, level := range []string{CgroupPIDNS, PIDNS, Cgroup} {
		v, err := Find(level, "/bin/sh", Limits{})
		if err != nil {
			t.Logf("%s: %v", level, err)
			continue
		}
		if err := v.Close(true); err != nil {
			t.Error(err)
		}
		return level
	}
	return Group
}

// The best level, as processes prove it, is found without one if the trials are certain.
func TestK2_TheBestLevelIsFoundWithoutAProcess(t *testing.T) {
	best := bestLevel(t)
	trials := []error{}
	if c, err := findCgroups("/bin/sh", readMountinfo, true); err == nil {
		trials = append(trials, c.try())
	}
	if best == CgroupPIDNS || best == PIDNS {
		trials = append(trials, new(pidns).try(readMountinfo, capTrace, unix.CAP_SETPCAP))
	}
	shell, starts := countingShell(t) // every process of a level is started with the shell
	v, err := Find("", shell, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if v.Name() != best {
		t.Errorf("the level is %s, want %s", v.Name(), best)
	}
	if err := v.Close(true); err != nil {
		t.Error(err)
	}
	if err := errors.Join(trials...); err != nil {
		t.Skipf("the trials are not certain here: %v", err)
	}
	if n := starts(); n > 0 {
		t.Errorf("%d processes were started to find %s", n, best)
	}
	if best == Group {
		return // which needs no proof
	}
	if v, err = Find(best, shell, Limits{}); err != nil {
		t.Fatal(err)
	}
	if err := v.Close(true); err != nil || starts() == 0 {
		t.Errorf("the proof of %s was counted as %d processes, %v", best, starts(), err)
	}
}

// A trial leaves no cgroup behind and changes no mounts.
func TestK2_ATrialLeavesNothing(t *testing.T) {
	c, err := findCgroups("/bin/sh", readMountinfo, true)
	if err != nil {
		t.Skipf("no cgroups here: %v", err)
	}
	inner, err := c.make(rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := inner.Close(); err != nil {
			t.Error(err)
		}
	}()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	t.Log((&cgroups{dir: inner.dir, own: true}).try(), new(pidns).try(readMountinfo))
	if left, err := cgroupsBelow(inner.dir); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
	if now, err := os.ReadFile("/proc/self/mountinfo"); err != nil || string(now) != string(mounts) {
		t.Errorf("the mounts were\n%s\nand are\n%s%v", mounts, now, err)
	}
}

// A trial of namespaces is certain only of a process that nothing restricts. Each wrapper takes
// something away.
func TestK2_ATrialIsNotCertainOfARestrictedProcess(t *testing.T) {
	peer.Need(t, "setpriv")
	const inside = "ATTRACTOR_TEST_TRIAL"
	if os.Getenv(inside) != "" {
		t.Logf("the trial says: %v.", new(pidns).try(readMountinfo, capTrace, unix.CAP_SETPCAP))
		return
	}
	if err := new(pidns).try(readMountinfo, capTrace, unix.CAP_SETPCAP); err != nil {
		t.Skipf("the trial is not certain here: %v", err)
	}
	for name, wrap := range map[string]string{
		"nothing":             `exec "$0" "$@"`,
		"no CAP_SYS_ADMIN":    `exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$0" "$@"`,
		"no CAP_SYS_PTRACE":   `exec setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "$0" "$@"`,
		"secure bits":         `exec setpriv --securebits=+noroot "$0" "$@"`,
		"a user namespace":    `exec unshare -r "$0" "$@"`,
		"two procfs":          `exec unshare -m sh -c 'mount -t proc proc /mnt && exec "$0" "$@"' "$0" "$@"`,
		"a procfs on procfs":  `exec unshare -m sh -c 'mount -t proc proc /proc && exec "$0" "$@"' "$0" "$@"`,
		"another file system": `exec unshare -m sh -c 'mount -t tmpfs none /proc && exec "$0" "$@"' "$0" "$@"`,
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", wrap, os.Args[0],
				"-test.run=^TestK2_ATrialIsNotCertainOfARestrictedProcess$", "-test.v", "-test.count=1")
			cmd.Env = append(os.Environ(), inside+"=1")
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "the trial says: ") {
				t.Fatalf("%v\n%s", err, out)
			}
			if certain := strings.Contains(string(out), "the trial says: <nil>."); certain != (name == "nothing") {
				t.Errorf("the trial is certain: %t\n%s", certain, out)
			}
		})
	}
}
