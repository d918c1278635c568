package contain

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/internal/lookpath"
)

// pidns starts each command in a new PID namespace, next to a keeper.
type pidns struct {
	shell, mount string   // the keeper's programs
	environ      []string // of the keepers
	certain      bool     // a trial showed that the level works
	pidMax       int64    // the kernel.pid_max of the namespaces; 0 leaves the kernel's
}

// findPIDNS returns the level, or an error that says why no namespace can be made. With proof a
// trial is not enough.
func findPIDNS(shell, outer string, roots []string, mounts mountinfo, proof bool) (*pidns, error) {
	n, err := preparePIDNS(shell, outer, roots)
	if err == nil {
		if n.certain = !proof && n.try(mounts) == nil; !n.certain {
			err = n.probe(shell)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("PID namespace: %w", err)
	}
	return n, nil
}

// preparePIDNS returns the level with the programs that it needs, not yet tried out. They are in
// none of the roots.
func preparePIDNS(shell, outer string, roots []string) (*pidns, error) {
	n := &pidns{shell: shell, environ: []string{}} // nil would mean this process's environment
	if sh, err := exec.LookPath("/bin/sh"); err == nil {
		n.shell = sh // the smallest one, since one is started for each command
	}
	var err error
	if n.mount, err = lookpath.System("mount", os.Getenv("PATH"), roots...); err != nil {
		return nil, err
	}
	if outer != "" { // so that the group in which this process runs finds the keepers too
		n.environ = append(n.environ, MarkVar+"="+strings.TrimSuffix(outer, "/"))
	}
	return n, nil
}

func (n *pidns) name() string { return PIDNS }

func (n *pidns) hides() bool { return true }

func (n *pidns) close() error { return nil }

// limit limits the processes of each command by the process numbers of its namespace.
func (n *pidns) limit(wanted Limits) Limits {
	return Limits{Processes: n.limitNumbers(wanted.Processes, func() error { return n.probe(n.shell) })}
}

// limitNumbers limits the processes of each namespace by the highest process number, and returns
// the limit, or 0 if that does not work here. probe tries it out; it is called unless a trial has
// shown that the level works.
func (n *pidns) limitNumbers(processes int64, probe func() error) int64 {
	n.pidMax = pidMaxOf(processes)
	if n.pidMax > 0 && !n.certain && probe() != nil {
		n.pidMax = 0
	}
	if n.pidMax == 0 {
		return 0
	}
	return processes
}

// probe makes a namespace and runs a command in it.
func (n *pidns) probe(shell string) error {
	cmd := exec.Command(shell, "-c", probeScript)
	var t Tree
	err := probe(cmd, func() (_ Tree, err error) {
		t, err = n.start(cmd, "", nil)
		return t, err
	})
	if k, ok := t.(*keeper); ok {
		// long enough for a busy machine, so that the level is always the same
		err = errors.Join(err, k.end(keeperTime))
	}
	return err
}

// probeScript prints ok if the command sees itself by its own number, and process 1, in /proc.
const probeScript = `read -r pid rest </proc/self/stat; [ "$pid" = $$ ] && [ -d /proc/1 ] && echo ok || echo no; read -r x`

// probe does everything that a command needs: it starts one that prints ok if all is well, such as
// probeScript, finds it and kills it.
func probe(cmd *exec.Cmd, start func() (Tree, error)) (err error) {
	stdin, forEver, err := os.Pipe() // no input comes, so it waits to be killed
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stdin.Close(), forEver.Close()) }()
	answer, stdout, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Close()) }()
	cmd.Stdin, cmd.Stdout = stdin, stdout
	t, err := start()
	closeErr := stdout.Close()
	if err != nil {
		return errors.Join(err, closeErr)
	}
	errs := []error{closeErr, answer.SetReadDeadline(time.Now().Add(keeperTime))}
	line, err := bufio.NewReader(answer).ReadString('\n')
	found := len(t.Left())
	errs = append(errs, err, t.Signal(syscall.SIGKILL))
	if found == 0 { // then the signal has not reached it
		errs = append(errs, cmd.Process.Kill())
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		errs = append(errs, fmt.Errorf("the command ended with %v", err))
	}
	if line != "ok\n" || found != 1 {
		errs = append(errs, fmt.Errorf("the command says %q, and %d processes were found", strings.TrimSpace(line),
			found))
	}
	if !within(keeperTime, pollTime/5, func() bool { return !t.Alive() }) {
		errs = append(errs, errors.New("something is left after the kill"))
	}
	return errors.Join(errs...)
}

// start starts a command in a new namespace, next to a keeper.
func (n *pidns) start(cmd *exec.Cmd, _ string, before func() error) (_ Tree, err error) {
	var k *keeper
	started := make(chan struct{})
	ownThread(func() {
		if k, err = n.enter(); err == nil {
			err = toStart(cmd, before)()
		}
		close(started)
		if k != nil {
			k.wait() // on this thread, with which the keeper ends
		}
	})
	<-started
	if k == nil {
		return nil, err // a nil *keeper would be a Tree that is not nil
	}
	return k, err
}

// enter makes the namespaces and a keeper, and moves the calling thread so that what it starts is
// in them. The command remains our child, so that we get its exit. The keeper is killed when the
// thread ends.
func (n *pidns) enter() (_ *keeper, err error) {
	// From here on the thread has mounts and a working directory of its own.
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return nil, os.NewSyscallError("unshare", err)
	}
	proc, err := isolatedProc()
	if err != nil {
		return nil, err
	}
	k, err := n.startKeeper(proc.options)
	if err != nil {
		return k, err
	}
	if err := proc.replace(); err != nil {
		return k, err
	}
	if k.proc, err = os.OpenRoot("/proc"); err != nil {
		return k, err
	}
	if err := k.checkProc(); err != nil {
		return k, err
	}
	return k, errors.Join(joinPIDNS(k.cmd.Process.Pid), os.NewSyscallError("chdir", unix.Chdir("/")))
}

// joinPIDNS moves what the calling thread starts into the namespace of another process. The working
// directory must be a /proc in which that process has the given number.
func joinPIDNS(pid int) error {
	fd, err := unix.Open(strconv.Itoa(pid)+"/ns/pid", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("open ns/pid", err)
	}
	err = unix.Setns(fd, unix.CLONE_NEWPID)
	return errors.Join(os.NewSyscallError("setns", err), os.NewSyscallError("close", unix.Close(fd)))
}

// ownThread runs f on a new thread that ends with f, and returns at once. It is for changes to a
// thread that must not be used afterwards.
func ownThread(f func()) {
	taken := make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked, so the runtime ends the thread with this goroutine
		if unix.Gettid() == unix.Getpid() {
			// The first thread cannot end, and /proc/self shows it. While it is locked here, the
			// runtime takes another one.
			ownThread(f)
			runtime.UnlockOSThread()
			close(taken)
			return
		}
		close(taken)
		f()
	}()
	<-taken
}
