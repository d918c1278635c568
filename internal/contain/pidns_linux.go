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
)

// pidns starts each command in a PID namespace of its own, next to a keeper.
type pidns struct {
	shell, mount string   // what a keeper is and runs
	environ      []string // of the keepers
}

// findPIDNS tries to make a namespace, and returns why that does not work.
func findPIDNS(shell, outer string) (*pidns, error) {
	n, err := preparePIDNS(shell, outer)
	if err == nil {
		err = n.probe(shell)
	}
	if err != nil {
		return nil, fmt.Errorf("PID namespace: %w", err)
	}
	return n, nil
}

// preparePIDNS finds the programs that make a namespace.
func preparePIDNS(shell, outer string) (*pidns, error) {
	n := &pidns{shell: shell, environ: []string{}} // nil would stand for all of ours
	if sh, err := exec.LookPath("/bin/sh"); err == nil {
		n.shell = sh // the smallest of the machine, for it is started for every command
	}
	var err error
	for _, candidate := range [...]string{"mount", "/bin/mount", "/usr/bin/mount"} {
		if n.mount, err = exec.LookPath(candidate); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if outer != "" { // a group of ours in which this process runs finds the keepers, too
		n.environ = append(n.environ, MarkVar+"="+strings.TrimSuffix(outer, "/"))
	}
	return n, nil
}

func (n *pidns) name() string { return PIDNS }

func (n *pidns) hides() bool { return true }

func (n *pidns) close() error { return nil }

// probe makes a namespace and runs a command in it.
func (n *pidns) probe(shell string) error {
	cmd := exec.Command(shell, "-c", probeScript)
	var k *keeper
	err := probe(cmd, func() (t Tree, err error) {
		if k, err = n.launch(cmd); k != nil {
			t = k
		}
		return t, err
	})
	if k != nil {
		err = errors.Join(err, k.end(keeperTime)) // however busy the machine is, the level is the same
	}
	return err
}

// probeScript is a command that says whether it sees itself, by its own number, and process 1.
const probeScript = `read -r pid rest </proc/self/stat; [ "$pid" = $$ ] && [ -d /proc/1 ] && echo ok || echo no; read -r x`

// probe does once with a command that runs probeScript all that others will need: start, find and kill.
func probe(cmd *exec.Cmd, start func() (Tree, error)) (err error) {
	stdin, forEver, err := os.Pipe() // nothing comes, so it waits for the kill
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
	if found == 0 { // that has not taken it along
		errs = append(errs, cmd.Process.Kill())
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		errs = append(errs, fmt.Errorf("the command ended with %v", err))
	}
	if line != "ok\n" || found != 1 {
		errs = append(errs, fmt.Errorf("its /proc is not that of its processes, of which %d were found", found))
	}
	for end := time.Now().Add(keeperTime); t.Alive(); time.Sleep(pollTime / 5) {
		if time.Now().After(end) {
			return errors.Join(append(errs, errors.New("not empty after the kill"))...)
		}
	}
	return errors.Join(errs...)
}

// start starts a command in a namespace of its own.
func (n *pidns) start(cmd *exec.Cmd, _ string) (Tree, error) {
	k, err := n.launch(cmd)
	if k == nil {
		return nil, err // and not a *keeper that is nil
	}
	return k, err
}

// launch starts a command next to a keeper. A keeper that comes with an error is to be closed.
func (n *pidns) launch(cmd *exec.Cmd) (k *keeper, err error) {
	started := make(chan struct{})
	ownThread(func() {
		if k, err = n.enter(); err == nil {
			err = cmd.Start()
		}
		close(started)
		if k != nil {
			k.wait() // here, because the keeper ends with this thread
		}
	})
	<-started
	return k, err
}

// enter makes the namespaces, with a keeper, and moves the calling thread so that what it starts is in them. The command is our
// child all the same, so that its exit comes to us as it is. The keeper is killed when the thread ends.
func (n *pidns) enter() (_ *keeper, err error) {
	// Apart from the others from here on: the mounts, the working directory, and what is mounted below.
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return nil, os.NewSyscallError("unshare", err)
	}
	// The host's /proc remains the working directory, by which it is reached when it is mounted nowhere.
	if err := unix.Chdir("/proc"); err != nil {
		return nil, os.NewSyscallError("chdir", err)
	}
	list, err := ownMounts()
	if err != nil {
		return nil, err
	}
	proc, err := findProc(list)
	if err != nil {
		return nil, err
	}
	if err := proc.isolate(); err != nil {
		return nil, err
	}
	k, err := n.keep(proc.options)
	if err != nil {
		return k, err
	}
	if err := proc.replace(); err != nil {
		return k, err
	}
	if k.proc, err = os.OpenRoot("/proc"); err != nil {
		return k, err
	}
	return k, errors.Join(joinPIDNS(k.cmd.Process.Pid), os.NewSyscallError("chdir", unix.Chdir("/")))
}

// joinPIDNS makes what the calling thread starts a member of another process's namespace. The working directory must be a
// /proc in which that process has the given number.
func joinPIDNS(pid int) error {
	fd, err := unix.Open(strconv.Itoa(pid)+"/ns/pid", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("open ns/pid", err)
	}
	err = unix.Setns(fd, unix.CLONE_NEWPID)
	return errors.Join(os.NewSyscallError("setns", err), os.NewSyscallError("close", unix.Close(fd)))
}

// ownThread starts f on a thread that ends with it, for what must not be done to a thread that goes on, and returns at once.
func ownThread(f func()) {
	taken := make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked: the runtime ends the thread with this goroutine
		if unix.Gettid() == unix.Getpid() {
			// The first thread cannot end, and it is what /proc/self shows. While it is locked here, another is found.
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
