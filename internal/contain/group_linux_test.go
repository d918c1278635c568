package contain

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

var looks = flag.Int("looks", 250, "look for members that execute or fork this often")

// A process that executes one program after the other has no environment and no command line for moments. It is a member all the time.
func TestE2_MembersThatExecute(t *testing.T) {
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script)
	cmd.Env = []string{MarkVar + "=executes.1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // killed
	})
	tree := group{leader: -1, reaped: make(chan struct{}), mark: "executes."}
	missed := 0
	for range *looks {
		list, err := tree.members()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(list, func(m member) bool { return m.pid == cmd.Process.Pid }) {
			missed++
		}
	}
	if missed > 0 {
		t.Errorf("%d of %d looks did not find the process", missed, *looks)
	}
}

// A process that forks while the processes are listed, and ends before it is looked at, leaves a member that is in no list.
func TestE2_MembersThatForkAndEnd(t *testing.T) {
	tree := group{leader: -1, reaped: make(chan struct{}), mark: "forks."}
	missed := 0
	for range *looks / 4 {
		cmd := exec.Command("/bin/sh", "-c", "read line; sleep 1000 & echo $!")
		cmd.Env = []string{MarkVar + "=forks.1"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() {
			_, err := in.Write([]byte("\n"))
			done <- errors.Join(err, cmd.Wait())
		}()
		var list []member
		for ended := false; !ended; {
			select {
			case err := <-done:
				if ended = true; err != nil {
					t.Error(err)
				}
			default:
			}
			if list, err = tree.members(); err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				missed++
			}
		}
		for _, m := range list {
			if err := m.signal(syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	if missed > 0 {
		t.Errorf("%d looks found nothing", missed)
	}
}
