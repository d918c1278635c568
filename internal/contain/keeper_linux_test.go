package contain

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/internal/await"
)

// A thread that was moved to other namespaces is never reused, and the first thread, which cannot
// end, is never moved.
func TestD4_ThreadsAreNotReused(t *testing.T) {
	const rounds = 500
	var mu sync.Mutex
	seen := make(map[int]bool)
	var wg sync.WaitGroup
	for range rounds {
		wg.Go(func() {
			result := make(chan error)
			ownThread(func() {
				result <- func() error {
					// The runtime marks new threads with the parent thread's marks.
					var before uintptr
					before, _, _ = unix.Syscall(unix.SYS_PRCTL, unix.PR_GET_TIMERSLACK, 0, 0)
					mu.Lock()
					defer mu.Unlock()
					if before == 4711 || unix.Gettid() == unix.Getpid() {
						t.Errorf("thread %d of process %d, its timers' slack is %d", unix.Gettid(), unix.Getpid(),
							before)
					}
					seen[unix.Gettid()] = true
					return unix.Prctl(unix.PR_SET_TIMERSLACK, 4711, 0, 0, 0)
				}()
			})
			if err := <-result; err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(seen) < 2 {
		t.Errorf("%d threads in %d rounds", len(seen), rounds)
	}
	await.For(t, "the end of the changed threads", func() bool {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		marked := 0
		for _, task := range tasks {
			slack, err := os.ReadFile("/proc/" + task.Name() + "/timerslack_ns")
			if err == nil && strings.TrimSpace(string(slack)) == "4711" {
				marked++
			}
		}
		return marked == 0
	})
}

// livePIDNS returns the level or skips the test.
func livePIDNS(t *testing.T) *pidns {
	t.Helper()
	n, err := findPIDNS("/bin/sh", "", nil, readMountinfo, true)
	if err != nil {
		t.Skipf("no PID namespaces here: %v", err)
	}
	return n
}

// A command for which no namespace can be made is refused, because it would see the host. The
// failure leaves nothing behind.
func TestI4_NoCommandWithoutItsNamespace(t *testing.T) {
	for name, broken := range map[string]func(*pidns){
		"no keeper": func(n *pidns) { n.shell = "/gone" },
		"no mount":  func(n *pidns) { n.mount = "false" },
		"the host's /proc": func(n *pidns) {
			n.mount = t.TempDir() + "/mount"
			if err := os.WriteFile(n.mount, []byte("#!/bin/sh\nexec /bin/mount --rbind /proc /proc\n"),
				0o700); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			levels := map[string]mechanism{PIDNS: livePIDNS(t)}
			broken(levels[PIDNS].(*pidns))
			if r, err := findCgroupPIDNS("/bin/sh", "", nil, readMountinfo, true); err == nil {
				endKeeper(t, r)
				broken(r.pidns)
				levels[CgroupPIDNS] = r
			}
			for level, r := range levels {
				dir := t.TempDir()
				v, err := Find(Group, "/bin/sh", Limits{})
				if err != nil {
					t.Fatal(err)
				}
				v.mechanism = r
				c := newCommand(t, "touch ran", false)
				c.Dir = dir
				if _, _, err := v.Start(c.Cmd, false, c.reaped, nil); err == nil {
					t.Errorf("%s: it starts", level)
				}
				if err := v.Close(true); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(dir + "/ran"); err == nil {
					t.Errorf("%s: it ran", level)
				}
			}
		})
	}
}

// endKeeper kills the keeper of the current namespace, as the kernel does when memory runs out.
func endKeeper(t *testing.T, r *cgroupPIDNS) {
	t.Helper()
	s, err := r.current()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.keeper.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	await.For(t, "the end of the keeper", s.ended)
}

// If an environment's namespace has ended, the next command gets a new one.
func TestI4_ANewNamespaceForALostOne(t *testing.T) {
	v, err := Find(CgroupPIDNS, "/bin/sh", Limits{})
	if err != nil {
		t.Skipf("%s is not reachable here: %v", CgroupPIDNS, err)
	}
	r := v.mechanism.(*cgroupPIDNS)
	first := newCommand(t, "exec sleep 1000", false)
	tree := first.start(t, v)
	endKeeper(t, r)
	if exit, _ := first.end(t, tree); exit.Signal() != unix.SIGKILL {
		t.Errorf("%v", exit)
	}
	second := newCommand(t, "ls -d /proc/1; exit 3", false)
	tree = second.start(t, v)
	if exit, printed := second.end(t, tree); exit.ExitStatus() != 3 || printed != "/proc/1\n" {
		t.Errorf("%v, %q", exit, printed)
	}
	s, err := r.current()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Close(true); err != nil {
		t.Error(err)
	}
	select { // Close has ended both
	case <-s.gone:
	default:
		t.Error("the thread still exists")
	}
	select {
	case <-s.keeper.ended:
	default:
		t.Error("the keeper still exists")
	}
	if _, err := r.current(); err == nil {
		t.Error("a namespace was made after Close")
	}
}

// A probe must fail on a machine where any step fails, and name the step.
func TestD4_AProbeOfNoNamespaceFails(t *testing.T) {
	for name, broken := range map[string]func(*pidns){
		"keeper": func(n *pidns) { n.shell = "/gone" },
		"mount":  func(n *pidns) { n.mount = "/bin/false" },
		"proc":   func(n *pidns) { n.mount = "/bin/true" }, // the old /proc stays mounted
	} {
		n := livePIDNS(t)
		broken(n)
		if err := n.probe("/bin/sh"); err == nil {
			t.Errorf("%s: it passes", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

// Orphans do not remain zombies, whichever shell the keeper is.
func TestD4_KeepersReapOrphans(t *testing.T) {
	for _, shell := range []string{"/bin/sh", "dash", "bash"} {
		t.Run(shell, func(t *testing.T) {
			n := livePIDNS(t)
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("no %s to try: %v", shell, err)
			}
			n.shell = path
			// Each orphan waits until its parent has ended. The shell starts no process of its own
			// after them.
			cmd := exec.Command("bash", "-c", `for i in 1 2 3 4 5 6 7 8; do
				(setsid sh -c 'while [ "$(cut -d" " -f4 /proc/$$/stat)" != 1 ]; do :; done; echo orphan' & ); done
				while all=(/proc/[0-9]*); [ ${#all[@]} -gt 3 ]; do :; done
				for p in "${all[@]}"; do read -r stat < $p/stat && echo "$stat"; done`)
			out := new(strings.Builder)
			cmd.Stdout = out
			tree, err := n.start(cmd, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(await.Limit, func() { // do not wait forever for zombies
				if err := tree.Signal(unix.SIGKILL); err != nil {
					t.Error(err)
				}
			})
			defer timer.Stop()
			err = cmd.Wait()
			if err != nil || strings.Count(out.String(), "orphan\n") != 8 || strings.Contains(out.String(), ") Z ") {
				t.Errorf("%v: %s", err, out)
			}
			if err := errors.Join(tree.Close(), tree.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A start that another command blocks ends with the namespace.
func TestI4_BlockedStartEnds(t *testing.T) {
	n, err := preparePIDNS("/bin/sh", "", nil)
	if err != nil {
		t.Skipf("no PID namespaces here: %v", err)
	}
	s, err := n.open()
	if err != nil {
		t.Skipf("no PID namespace for all commands here: %v", err)
	}
	s.limit = time.Second
	ready := func() error { return nil }
	if err := s.start(ready, func(before func() error) error { // returns when the keeper ends
		return errors.Join(before(), unix.Waitid(unix.P_PID, s.keeper.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT,
			nil))
	}); err != nil {
		t.Error(err)
	}
	if !s.ended() {
		t.Error("the namespace still exists")
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
