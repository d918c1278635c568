package env_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
)

// adder is the variable that makes TestU11_Adder count: its directory and how far.
const adder = "ATTRACTOR_TEST_ADDER"

// TestU11_Adder runs as the other processes of TestU11_SessionsLoseNoEdit.
func TestU11_Adder(t *testing.T) {
	dir, count, given := strings.Cut(os.Getenv(adder), "|")
	if !given {
		t.Skip("not run: it is the helper of TestU11_SessionsLoseNoEdit")
	}
	l := newLocal(t, dir, env.LocalOptions{})
	env.SetLockWait(l, await.Limit)
	n, err := strconv.Atoi(count)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		for {
			err := addOne(t, l)
			if err == nil {
				break
			}
			if !errors.Is(err, env.ErrChanged) {
				t.Fatal(err)
			}
		}
	}
}

// addOne adds one to the number in a file if nobody else changes it meanwhile.
func addOne(t *testing.T, l *env.Local) error {
	t.Helper()
	was := read(t, l.WorkDir()+"/count")
	n, err := strconv.Atoi(was)
	if err != nil {
		t.Fatal(err)
	}
	return l.Replace(t.Context(), "count", env.HashOf([]byte(was)), []byte(strconv.Itoa(n+1)), 0o666)
}

// Sessions that share nothing but the kernel lose none of each other's edits: with other homes, of
// other users, and where the directory has another name.
func TestU11_SessionsLoseNoEdit(t *testing.T) {
	const times = 150
	nobody := []string{peer.Need(t, "setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups"}
	container := []string{
		peer.Need(t, "bwrap"), "--dev-bind", "/", "/", "--tmpfs", "/mnt", "--bind", "DIR", "/mnt/elsewhere",
		"--unshare-pid", "--proc", "/proc",
	}
	for name, wrap := range map[string][]string{"another home": nil, "another user": nobody, "a container": container} {
		t.Run(name, func(t *testing.T) {
			if wrap != nil && os.Getuid() != 0 && name == "another user" {
				t.Skip("only root can become another user")
			}
			dir := sharedDir(t)
			other := dir
			args := append([]string{}, wrap...)
			for i, arg := range args {
				if arg == "DIR" {
					args[i], other = dir, "/mnt/elsewhere"
				}
			}
			here, there := adderIn(t, dir, times, nil), adderIn(t, other, times, args)
			for _, p := range []*exec.Cmd{here, there} {
				if err := p.Wait(); err != nil {
					t.Errorf("%v\n%s", err, p.Stdout)
				}
			}
			if got := read(t, dir+"/count"); got != strconv.Itoa(2*times) {
				t.Errorf("the edits make %s, want %d", got, 2*times)
			}
		})
	}
}

// sharedDir returns a directory with a file that everybody may change.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "attractor-shared-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	write(t, dir+"/count", "0")
	if err := errors.Join(os.Chmod(dir, 0o777), os.Chmod(dir+"/count", 0o666)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// adderIn starts a process that counts in a directory. It has a home of its own.
func adderIn(t *testing.T, dir string, times int, wrap []string) *exec.Cmd {
	t.Helper()
	home := sharedDir(t)
	program := home + "/test"
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := peer.WriteProgram(program, data); err != nil {
		t.Fatal(err)
	}
	args := append(append([]string{}, wrap...), program, "-test.run=^TestU11_Adder$")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = []string{
		"HOME=" + home, "TMPDIR=" + home, "XDG_STATE_HOME=" + home + "/state", "PATH=" + os.Getenv("PATH"),
		fmt.Sprintf("%s=%s|%d", adder, dir, times),
	}
	cmd.Dir = home
	out := new(strings.Builder)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// Who keeps a directory locked is named, and nothing is changed.
func TestU11_HolderIsNamed(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/f", "x")
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
	}()
	if err := unix.Flock(fd, unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	needNumbers(t, fd)
	l := newLocal(t, dir, env.LocalOptions{Locks: t.TempDir()})
	env.SetLockWait(l, time.Millisecond)
	for what, err := range map[string]error{
		"Replace": l.Replace(t.Context(), "f", env.HashOf([]byte("x")), []byte("y"), 0o644),
		"Delete":  l.Delete(t.Context(), "f", env.HashOf([]byte("x"))),
		"Lock":    lockErr(t, l, "f"),
	} {
		if !errors.Is(err, env.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("is locked by process %d (",
			os.Getpid())) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := read(t, dir+"/f"); got != "x" {
		t.Errorf("the file has %q", got)
	}
}

// needNumbers skips the test if /proc/locks names the file system of a locked file otherwise than
// fstat does.
func needNumbers(t *testing.T, fd int) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	where := fmt.Sprintf(" %02x:%02x:%d ", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	if !strings.Contains(read(t, "/proc/locks"), where) {
		t.Skipf("/proc/locks does not have%sof this file system", where)
	}
}

func lockErr(t *testing.T, l *env.Local, name string) error {
	t.Helper()
	unlock, err := l.Lock(t.Context(), name)
	if err == nil {
		unlock()
	}
	return err
}
