package contain

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keeperScript is process 1 of a namespace. It mounts /proc with the program $1 and the options $2,
// and makes $3, if given, the highest process number. It makes process numbers continue from a
// number that it reads, because commands name files after $$ and the names would repeat. Then it
// says that it is ready, and waits for orphans, which it inherits. Its child reads the names of
// signals and sends them to all other processes, until our end of the pipe is closed, by us or by
// our death. If a command kills the child, the script starts another; process 1 itself is safe from
// commands.
const keeperScript = `: keeps the processes of commands of attractor together
read -r last
"$1" -t proc -o "$2" proc /proc || exit
[ -z "$3" ] || echo "$3" >/proc/sys/kernel/pid_max || exit
{ echo "$last" >/proc/sys/kernel/ns_last_pid; } 2>/dev/null
echo ready
exec 3<&0 >/dev/null 2>&1
while :; do
	{ trap '' HUP INT QUIT TERM; while read -r signal; do kill -s "$signal" -- -1; done; } <&3 &
	wait $!
	[ $? -le 128 ] && exit
done`

// keeperTime limits the time that a keeper takes to be ready, and to end. Both take milliseconds,
// and longer on a busy machine.
const keeperTime = 10 * time.Second

// keeper is process 1 of a namespace. When it ends, the kernel ends everything in the namespace.
type keeper struct {
	cmd    *exec.Cmd
	orders *os.File // takes the names of signals, one a line; the keeper ends when this end is closed
	proc   *os.Root // the namespace's own /proc; nil before it is mounted

	killed  atomic.Bool
	ended   chan struct{} // closed when it has been waited for and nothing of the namespace is left
	waitErr error
}

// startKeeper starts a keeper in a new PID namespace, with the mounts of the calling thread. The
// kernel kills it when that thread ends. The pipe alone would not be enough: a command of root can
// hold it open, or stop the keeper's child. The caller waits for a keeper that is returned, and
// closes it if it comes with an error.
func (n *pidns) startKeeper(procOptions string) (_ *keeper, err error) {
	stdin, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answer, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), orders.Close())
	}
	pidMax := ""
	if n.pidMax > 0 {
		pidMax = strconv.FormatInt(n.pidMax, 10)
	}
	k := &keeper{cmd: exec.Command(n.shell, "-c", keeperScript, "sh", n.mount, procOptions, pidMax), orders: orders,
		ended: make(chan struct{})}
	k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = stdin, stdout, stdout
	k.cmd.Env, k.cmd.Dir = n.environ, "/"
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	k.cmd.ExtraFiles = inherited(nil)
	err = k.cmd.Start()
	closeErr := errors.Join(stdin.Close(), stdout.Close())
	if err != nil {
		return nil, errors.Join(err, closeErr, orders.Close(), answer.Close())
	}
	last := int64(k.cmd.Process.Pid)
	if n.pidMax > 0 {
		last = spareNumbers + last%(n.pidMax-spareNumbers)
	}
	return k, errors.Join(closeErr, k.ready(answer, last), answer.Close())
}

// ready tells the keeper the number after which those of commands begin, and waits until it is
// ready. Otherwise the error contains its output.
func (k *keeper) ready(answer *os.File, last int64) error {
	if err := answer.SetReadDeadline(time.Now().Add(keeperTime)); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(k.orders, last); err != nil {
		return err
	}
	line, err := bufio.NewReader(answer).ReadString('\n')
	if line == "ready\n" {
		return nil
	}
	return fmt.Errorf("its process 1 is not ready: %s: %w", oneLine(line), err)
}

// checkProc returns an error unless the mounted /proc is that of the keeper's namespace: there the
// keeper is process 1, and this process does not exist. The working directory must be the host's
// /proc.
func (k *keeper) checkProc() error {
	outside, err := os.ReadFile(path.Join(strconv.Itoa(k.cmd.Process.Pid), "stat"))
	if err != nil {
		return err
	}
	inside, err := k.proc.ReadFile("1/stat")
	if err != nil {
		return err
	}
	first, err1 := parseStat(k.cmd.Process.Pid, outside)
	same, err2 := parseStat(k.cmd.Process.Pid, inside)
	if _, err := k.proc.Readlink("self"); !errors.Is(err, fs.ErrNotExist) || first.member != same.member {
		return errors.Join(errors.New("the new /proc does not show the processes of the namespace"), err1, err2)
	}
	return errors.Join(err1, err2)
}

// wait waits for the keeper. The kernel lets it end when all other processes of its namespace have
// ended.
func (k *keeper) wait() {
	err := k.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil // how it ended does not matter
	}
	k.waitErr = errors.Join(err, k.orders.Close())
	if k.proc != nil {
		k.waitErr = errors.Join(k.waitErr, k.proc.Close())
	}
	close(k.ended)
}

// Signal kills the keeper, or has it send any other signal to all other processes at once.
func (k *keeper) Signal(sig syscall.Signal) error {
	if sig == syscall.SIGKILL {
		k.killed.Store(true)
		if err := k.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return nil
	}
	// The empty line is for a reader that is being killed just now, which may take one byte with
	// it.
	_, err := k.orders.WriteString("\n" + strings.TrimPrefix(unix.SignalName(sig), "SIG") + "\n")
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		return nil // it has ended
	}
	return err
}

// Alive reports whether there is a process besides the keeper and its child. After a KILL, it
// reports whether the keeper is left.
func (k *keeper) Alive() bool {
	select {
	case <-k.ended:
		return false
	default:
	}
	if k.killed.Load() {
		return true
	}
	members, err := k.members()
	return err != nil || len(members) > 0
}

// members returns the processes of the namespace and of those below it, by their numbers in it.
func (k *keeper) members() ([]member, error) {
	dir, err := k.proc.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	var list []member
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue // not a process
		}
		line, err := k.proc.ReadFile(path.Join(name, "stat"))
		if gone(err) {
			continue // it has ended meanwhile
		}
		if err != nil {
			return nil, err
		}
		stat, err := parseStat(pid, line)
		if err != nil {
			return nil, err
		}
		const keepers = "1" // the session of the keeper and of its child
		if !stat.dead && stat.session != keepers {
			stat.proc = k.proc
			list = append(list, stat.member)
		}
	}
	return list, nil
}

// Left describes the members.
func (k *keeper) Left() []string {
	return leftOf(k)
}

// Reached returns nothing: the kernel does not count the processes that a namespace has refused.
func (k *keeper) Reached() Reached { return Reached{} }

// Close ends the keeper, and with it what may be left in its namespace. It does not wait for a
// keeper that has been killed already.
func (k *keeper) Close() error {
	limit := keeperTime
	if k.killed.Load() {
		limit = 0
	}
	return k.end(limit)
}

// end kills the keeper and waits for its end. It is an error if that takes longer than the limit.
func (k *keeper) end(limit time.Duration) error {
	errKill := k.Signal(syscall.SIGKILL)
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-k.ended:
		return errors.Join(errKill, k.waitErr)
	case <-late.C:
	}
	select { // both may be ready, if this process was paused
	case <-k.ended:
		return errors.Join(errKill, k.waitErr)
	default:
		return errors.Join(errKill,
			fmt.Errorf("process %d, process 1 of a PID namespace, is still running after SIGKILL", k.cmd.Process.Pid))
	}
}
