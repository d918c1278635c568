package contain

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// member is a process of a tree.
type member struct {
	pid  int
	name string // of the executable, truncated by the kernel
	// when it started, in the kernel's ticks, which tells it apart from a later one with the same
	// number
	start   uint64
	grouped bool     // it is in the leader's process group
	inside  int      // its number in the command's namespace, if that is another one
	proc    *os.Root // the /proc in which it has its number, if that is not this process's
}

// procStat holds the fields of proc_pid_stat(5) that are used here.
type procStat struct {
	member
	dead           bool // a zombie
	exiting        bool // about to be one
	forked         bool // running, and still a copy of its parent: it may be about to execute a program
	kernel         bool // a kernel thread
	group, session string
}

// readStat reads a process's procStat. If the process has ended, gone reports true for the error.
func readStat(pid int) (procStat, error) {
	line, err := readProc("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, err
	}
	return parseStat(pid, line)
}

// readProc reads a file of a kernel's file system. An os.File would start the runtime's poller,
// also for programs that need none.
func readProc(name string) ([]byte, error) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, 0, 1<<10)
	for {
		n, err := syscall.Read(fd, buf[len(buf):cap(buf)])
		if n <= 0 || err != nil {
			return buf, errors.Join(err, syscall.Close(fd))
		}
		buf = slices.Grow(buf[:len(buf)+n], 1<<10)
	}
}

// parseStat parses a line of proc_pid_stat(5): pid (name) state ppid group session ... The name may
// contain anything, even a parenthesis, so the fields are counted from the last parenthesis.
func parseStat(pid int, line []byte) (procStat, error) {
	const (
		flagsField, startField = 9 - 3, 22 - 3 // numbered as in the manual, whose third field is our first
		// PF_EXITING, PF_FORKNOEXEC and PF_KTHREAD in the kernel's sched.h
		ending, noExec, kernelThread = 0x4, 0x40, 0x200000
	)
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return procStat{}, errors.New("not a line of /proc/PID/stat: " + oneLine(string(line)))
	}
	f := strings.Fields(string(line[end+1:]))
	if len(f) <= startField {
		return procStat{}, errors.New("not a line of /proc/PID/stat: " + oneLine(string(line)))
	}
	flags, errFlags := strconv.ParseUint(f[flagsField], 10, 64)
	start, errStart := strconv.ParseUint(f[startField], 10, 64)
	return procStat{
		member:  member{pid: pid, name: string(line[open+1 : end]), start: start},
		dead:    f[0] == "Z" || f[0] == "X",
		exiting: flags&ending != 0,
		forked:  flags&noExec != 0 && (f[0] == "R" || f[0] == "D"),
		kernel:  flags&kernelThread != 0,
		group:   f[2], session: f[3],
	}, errors.Join(errFlags, errStart)
}

// members returns the tree's processes from /proc, the oldest first, without zombies. Processes
// that /proc hides from this user are missing.
func (t group) members() (list []member, err error) {
	err = t.find(func(m member) bool {
		list = append(list, m)
		return true
	})
	slices.SortFunc(list, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid))
	})
	return list, err
}

// find calls visit for each of the tree's processes until it returns false, the youngest first
// unless process numbers have wrapped around.
func (t group) find(visit func(member) bool) error {
	proc, err := os.Open("/proc")
	if err != nil {
		return err
	}
	names, err := proc.Readdirnames(-1)
	errs := []error{err, proc.Close()}
	reused := t.reused()
	for _, name := range slices.Backward(names) {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue // not a process
		}
		m, is, err := t.owns(pid, reused)
		errs = append(errs, err)
		if is && !visit(m) {
			break
		}
	}
	return errors.Join(errs...)
}

// owns reports whether a process belongs to the tree. Processes that have ended or are older than
// the command do not, nor does this one.
func (t group) owns(pid int, reused bool) (member, bool, error) {
	stat, err := readStat(pid)
	if gone(err) || pid == os.Getpid() {
		return member{}, false, nil
	}
	if err != nil || stat.dead || stat.kernel || stat.start < t.began {
		return member{}, false, err
	}
	id := strconv.Itoa(t.leader)
	stat.grouped = !reused && stat.group == id
	inSession := !reused && t.session && stat.session == id
	return stat.member, stat.grouped || inSession || marked(pid, t.mark), nil
}

// marked reports whether a process of this user was started with the mark in its environment, or is
// a copy of one that was.
func marked(pid int, mark string) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	var info syscall.Stat_t
	if err := syscall.Stat(dir, &info); err != nil || int(info.Uid) != os.Geteuid() {
		return false
	}
	environ, err := environment(func(file string) ([]byte, error) { return readProc(path.Join(dir, file)) },
		time.Now().Add(startTime))
	return err == nil && hasMark(environ, mark)
}

// environment returns a process's environment. read reads its files in /proc. While a process
// executes a program, the kernel shows it without an environment and without a command line. So an
// empty one counts if the command line is the same before and after, or at the deadline.
func environment(read func(file string) ([]byte, error), deadline time.Time) ([]byte, error) {
	var before []byte
	for {
		environ, err := read("environ")
		if err != nil || len(environ) > 0 {
			return environ, err
		}
		line, err := read("stat")
		if err != nil {
			return nil, err
		}
		cmdline, err := read("cmdline")
		if err != nil {
			return nil, err
		}
		stat, err := parseStat(0, line)
		same := len(cmdline) > 0 && bytes.Equal(cmdline, before)
		if err != nil || stat.dead || stat.exiting || same || time.Now().After(deadline) {
			return nil, err
		}
		if before = cmdline; len(cmdline) == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// hasMark reports whether the mark is among those in a process's environment, inner and outer ones.
func hasMark(environ []byte, mark string) bool {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(MarkVar+"=")); ok && bytes.Contains(value, []byte(mark)) {
			return true
		}
	}
	return false
}

// signal signals the process, unless its number belongs to another process by now. It is no error
// if the process has ended.
func (m member) signal(sig syscall.Signal) error {
	p, err := os.FindProcess(m.pid) // refers to the process and not its number, where the kernel can
	if err != nil {
		return err
	}
	if stat, err := readStat(m.pid); err != nil || stat.start != m.start {
		if gone(err) {
			err = nil
		}
		return errors.Join(err, p.Release())
	}
	err = p.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	return errors.Join(os.NewSyscallError("kill", err), p.Release())
}

// startTime limits how long a look at a tree waits for processes that are executing a program.
// After that they are named by the program that they ran, and taken for ones without an
// environment.
const startTime = 500 * time.Millisecond

// describe returns the process id and the command line, or the name if there is no command line,
// and false if the process has ended. It waits until the deadline for a process that is just
// starting.
func (m member) describe(deadline time.Time) (line string, running bool) {
	read := os.ReadFile
	dir := "/proc"
	if m.proc != nil {
		read, dir = m.proc.ReadFile, "."
	}
	cmdline, running := startedAs(func(file string) ([]byte, error) {
		return read(path.Join(dir, strconv.Itoa(m.pid), file))
	}, deadline)
	if len(cmdline) == 0 {
		cmdline = []byte("(" + m.name + ")")
	}
	return strconv.Itoa(cmp.Or(m.inside, m.pid)) + " " + oneLine(string(bytes.ReplaceAll(cmdline, []byte{0},
		[]byte{' '}))), running
}

// startedAs returns a process's command line, and false if the process has ended. read reads its
// files in /proc. Right before its execve a process has the command line of another, and right
// after it none, so startedAs waits for both to pass, at most until the deadline.
func startedAs(read func(file string) ([]byte, error), deadline time.Time) (cmdline []byte, running bool) {
	for {
		line, err := read("stat")
		if err != nil {
			return nil, !gone(err)
		}
		stat, err := parseStat(0, line)
		if err != nil || stat.dead || stat.exiting {
			return nil, err != nil
		}
		if cmdline, err = read("cmdline"); err != nil {
			return nil, !gone(err)
		}
		if len(cmdline) > 0 && !stat.forked || time.Now().After(deadline) {
			return cmdline, true
		}
		time.Sleep(time.Millisecond)
	}
}
