package contain

import (
	"crypto/rand"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// childUse returns what the processes that this one has started and waited for have used. Every process adds page faults.
func childUse(t *testing.T) syscall.Rusage {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		t.Fatal(err)
	}
	return u
}

// The best level, as processes prove it, is found without one.
func TestK2_TheBestLevelIsFoundWithoutAProcess(t *testing.T) {
	best := Group
	for _, level := range []string{CgroupPIDNS, PIDNS, Cgroup} {
		v, err := Find(level, "/bin/sh")
		if err != nil {
			t.Logf("%s: %v", level, err)
			continue
		}
		if err := v.Close(true); err != nil {
			t.Error(err)
		}
		best = level
		break
	}
	before := childUse(t)
	v, err := Find("", "/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if v.Name() != best {
		t.Errorf("the level is %s, want %s", v.Name(), best)
	}
	if err := v.Close(true); err != nil {
		t.Error(err)
	}
	if after := childUse(t); after != before {
		t.Errorf("a process was started to find %s: %+v, before %+v", best, after, before)
	}
}

// A trial leaves nothing behind: neither a cgroup nor a change to the mounts or the capabilities of this process.
func TestK2_ATrialLeavesNothing(t *testing.T) {
	c, err := findCgroups("/bin/sh", false)
	if err != nil {
		t.Skipf("no cgroups here: %v", err)
	}
	n := livePIDNS(t)
	inner, err := c.make(rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := inner.Close(); err != nil {
			t.Error(err)
		}
	}()
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	mounts, caps := read("/proc/self/mountinfo"), capabilities(t)
	// It is not this process's cgroup, but with the privilege to make namespaces that does not matter.
	if err := (&cgroups{dir: inner.dir, own: true}).try(); err != nil {
		t.Errorf("the trial of cgroups: %v", err)
	}
	if err := n.try(true); err != nil {
		t.Errorf("the trial of namespaces: %v", err)
	}
	if entries, err := cgroupsBelow(inner.dir); err != nil || len(entries) > 0 {
		t.Errorf("left %q, %v", entries, err)
	}
	if now := read("/proc/self/mountinfo"); now != mounts {
		t.Errorf("the mounts were\n%s\nand are\n%s", mounts, now)
	}
	if now := capabilities(t); now != caps {
		t.Errorf("the capabilities were %v and are %v", caps, now)
	}
}

// capabilities returns the capabilities of this process.
func capabilities(t *testing.T) (caps [2]unix.CapUserData) {
	t.Helper()
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3, Pid: int32(os.Getpid())}
	if err := unix.Capget(&head, &caps[0]); err != nil {
		t.Fatal(err)
	}
	return caps
}
