package contain

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestD4_WhereCgroupsAreTried(t *testing.T) {
	const (
		unified = "29 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
		hybrid  = "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n" +
			"41 31 0:38 / /sys/fs/cgroup/unified rw shared:9 master:2 - cgroup2 cgroup2 rw\n"
		bind = `50 1 0:26 /docker/a /mnt/my\040groups rw - cgroup2 cgroup rw` + "\n"
	)
	for name, c := range map[string]struct {
		mounts, own string
		want        []string
	}{
		"unified":         {unified, "0::/system.slice/x.service\n", []string{"/sys/fs/cgroup/system.slice/x.service"}},
		"hybrid":          {hybrid, "2:cpu:/a\n1:name=systemd:/b\n0::/\n", []string{"/sys/fs/cgroup/unified"}},
		"version 1 alone": {"40 31 0:37 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "2:cpu:/a\n", nil},
		"not mounted":     {"", "0::/a\n", nil},
		"delegated slice": {unified, "0::/user.slice/user-7.slice/session-2.scope\n", []string{
			"/sys/fs/cgroup/user.slice/user-7.slice/session-2.scope",
			"/sys/fs/cgroup/user.slice/user-7.slice/user@7.service"}},
		"another user's slice": {unified, "0::/user.slice/user-8.slice/s\n",
			[]string{"/sys/fs/cgroup/user.slice/user-8.slice/s"}},
		"part of the hierarchy": {bind, "0::/docker/a/b\n", []string{"/mnt/my groups/b"}},
		"its very root":         {bind, "0::/docker/a\n", []string{"/mnt/my groups"}},
		"another part":          {bind, "0::/docker/ab\n", nil},
		"outside the namespace": {unified, "0::/../x\n", nil},
		"two mounts":            {unified + hybrid, "0::/x\n", []string{"/sys/fs/cgroup/x", "/sys/fs/cgroup/unified/x"}},
		"twice the same place":  {unified + unified, "0::/x\n", []string{"/sys/fs/cgroup/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			mounts, err := parseMounts(c.mounts)
			if err != nil {
				t.Fatal(err)
			}
			if got := cgroupDirs(mounts, c.own, 7); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestD4_StatOfAwkwardNames(t *testing.T) {
	const rest = " S 1 22 23 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 9"
	for name, line := range map[string]string{"plain": "5 (sh)" + rest, "a) Z (b": "5 (a) Z (b)" + rest} {
		stat, err := parseStat(5, []byte(line))
		if err != nil || stat.dead || stat.group != "22" || stat.session != "23" || stat.start != 777 || stat.kernel {
			t.Errorf("%s: %+v, %v", name, stat, err)
		}
	}
	if _, err := parseStat(5, []byte("5 (sh) S")); err == nil {
		t.Error("a short line is not an error")
	}
}

func TestD4_MarksAreFound(t *testing.T) {
	for environ, want := range map[string]bool{
		"A=b\x00" + MarkVar + "=ID\x00":          true,
		MarkVar + "=OUT/ID/IN\x00":               true,
		"X" + MarkVar + "=ID\x00":                false,
		MarkVar + "=OTHER\x00ID=ID\x00":          false,
		"A=" + MarkVar + "=ID\x00":               false,
		MarkVar + "=ID" + strings.Repeat("x", 9): true,
	} {
		if got := hasMark([]byte(environ), "ID"); got != want {
			t.Errorf("%q: %t", environ, got)
		}
	}
}

// command is a script for a shell in its own group or session, with pipes.
type command struct {
	*exec.Cmd
	in, out *os.File // the test's ends
	reaped  chan struct{}
	waitErr error
}

func newCommand(t *testing.T, script string, session bool) *command {
	t.Helper()
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &command{Cmd: exec.Command("/bin/sh", "-c", script), in: in, out: out, reaped: make(chan struct{})}
	c.Stdin, c.Stdout, c.Stderr, c.Env = stdin, stdout, stdout, os.Environ()
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: !session, Setsid: session}
	t.Cleanup(func() { // the child has copies, and a second start still needs its ends
		for _, f := range []*os.File{in, out, stdin, stdout} {
			if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
				t.Error(err)
			}
		}
	})
	return c
}

// start starts the command at a level.
func (c *command) start(t *testing.T, v Level) Tree {
	t.Helper()
	cmd, tree, err := v.Start(c.Cmd, c.SysProcAttr.Setsid, c.reaped, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Cmd = cmd
	go func() {
		c.waitErr = c.Wait()
		close(c.reaped)
	}()
	return tree
}

// end waits for the command, ends the rest of its tree and returns its exit and output.
func (c *command) end(t *testing.T, tree Tree) (exit syscall.WaitStatus, printed string) {
	t.Helper()
	<-c.reaped
	var failed *exec.ExitError
	if c.waitErr != nil && !errors.As(c.waitErr, &failed) {
		t.Error(c.waitErr)
	}
	if err := errors.Join(End(tree, c.reaped, 0, SettleTime), closeWithin(keeperTime, tree),
		c.Stdout.(*os.File).Close(), c.out.SetReadDeadline(time.Now().Add(keeperTime))); err != nil {
		t.Error(err)
	}
	text, err := io.ReadAll(c.out)
	if err != nil {
		t.Error(err)
	}
	return c.ProcessState.Sys().(syscall.WaitStatus), string(text)
}

// A command for which no cgroup can be made, or that cannot enter one, still runs.
func TestD4_OneCommandWithoutACgroup(t *testing.T) {
	empty := t.TempDir()
	for name, dir := range map[string]string{"none can be made": path.Join(empty, "gone"),
		"none can be entered": empty} {
		for _, session := range []bool{false, true} {
			v, err := Find(Group, "/bin/sh", Limits{})
			if err != nil {
				t.Fatal(err)
			}
			v.mechanism = &cgroups{dir: dir}
			c := newCommand(t, "echo out; setsid sleep 1000 & read x", session)
			tree := c.start(t, v)
			if _, ok := tree.(group); !ok {
				t.Errorf("%s: the command runs in a %T", name, tree)
			}
			if _, err := c.in.WriteString("\n"); err != nil {
				t.Error(err)
			}
			if exit, printed := c.end(t, tree); exit.ExitStatus() != 0 || printed != "out\n" {
				t.Errorf("%s: %v, %q", name, exit, printed)
			}
			if _, _, err := v.Start(newCommand(t, "echo \x00", session).Cmd, session, nil, nil); err == nil {
				t.Error("a command that cannot start at any level is not an error")
			}
			if err := v.Close(true); err != nil {
				t.Error(err)
			}
		}
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestD4_AProbeOfNoCgroupFails(t *testing.T) {
	dir := t.TempDir()
	c := &cgroups{dir: dir, own: true}
	if c.try() == nil || c.probe("/bin/sh") == nil {
		t.Error("an ordinary directory was taken for a cgroup")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// liveLeaf starts a script in a cgroup and waits until it prints something.
func liveLeaf(t *testing.T, script string) (*leaf, *exec.Cmd) {
	t.Helper()
	c, err := findCgroups("/bin/sh", readMountinfo, true)
	if err != nil {
		t.Skipf("no cgroups here: %v", err)
	}
	l, err := c.make(rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.toStart(cmd, nil)(); err != nil {
		t.Fatal(errors.Join(err, l.Close()))
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	return l, cmd
}

func endLeaf(t *testing.T, l *leaf, cmd *exec.Cmd) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for l.Alive() {
		if err := l.Signal(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("still there: %q", l.Left())
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Errorf("exit is %v", err)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(l.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", l.dir, err)
	}
	if err := l.Signal(syscall.SIGKILL); err != nil || l.Alive() || l.Left() != nil {
		t.Errorf("a removed cgroup: %v, alive %t, left %q", err, l.Alive(), l.Left())
	}
}

// A command may make cgroups below its own, as a program that uses this package does.
func TestD4_CgroupsBelow(t *testing.T) {
	l, cmd := liveLeaf(t, `echo ready; exec sleep 1000`)
	if err := os.Mkdir(path.Join(l.dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	inner, err := (&cgroups{dir: path.Join(l.dir, "a")}).make("b")
	if err != nil {
		t.Fatal(err)
	}
	below := exec.Command("sleep", "1000")
	if err := inner.toStart(below, nil)(); err != nil {
		t.Fatal(err)
	}
	if left := l.Left(); len(left) != 2 {
		t.Errorf("left %q, want both processes", left)
	}
	endLeaf(t, l, cmd)
	if err := inner.Close(); err != nil { // it is removed with the one above it
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := below.Wait(); !errors.As(err, &exit) {
		t.Errorf("the inner process ended with %v", err)
	}
}

// A signal is not sent to a new process with the same process id.
func TestD4_SignalChecksTheProcess(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen, err := readStat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	other := seen.member
	other.start--
	// If the first one were sent, it would win, because the first signal ends a running process.
	for _, err := range []error{other.signal(syscall.SIGTERM), seen.signal(syscall.SIGKILL)} {
		if err != nil {
			t.Error(err)
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("exit is %v", err)
	}
	if err := seen.signal(syscall.SIGKILL); err != nil {
		t.Errorf("a process that has ended: %v", err)
	}
}

// Tidying removes only empty cgroups that no host holds.
func TestD4_OnlyAbandonedCgroupsAreRemoved(t *testing.T) {
	l, cmd := liveLeaf(t, "echo ready; exec sleep 1000")
	defer endLeaf(t, l, cmd)
	c := &cgroups{dir: l.dir} // below the test's own, away from other hosts
	held, err := c.make("held")
	if err != nil {
		t.Fatal(err)
	}
	empty, err := c.make("empty")
	if err != nil {
		t.Fatal(err)
	}
	foreign := path.Join(c.dir, "foreign")
	for _, dir := range []string{foreign, path.Join(empty.dir, "below")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.removeEmpty(); n != 0 {
		t.Errorf("%d cgroups of a running host were removed", n)
	}
	if err := empty.held.Close(); err != nil { // as the kernel does when the host ends
		t.Fatal(err)
	}
	if n := c.removeEmpty(); n != 1 || empty.exists() || !held.exists() {
		t.Errorf("%d removed; the empty one exists: %t, the held one: %t", n, empty.exists(), held.exists())
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("the cgroup of another name: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
}
