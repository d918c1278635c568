package contain

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// member is a process of a tree.
type member struct {
	pid     int
	name    string // of the executable, truncated by the kernel
	start   uint64 // when it started, in the kernel's ticks, which tells it apart from a later one with the same number
	grouped bool   // it is in the leader's process group
	inside  int    // its number in the command's namespace, if that is another one
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
	var buf [1024]byte // the longest line is under 600 characters
	line, err := readProc("/proc/"+strconv.Itoa(pid)+"/stat", buf[:0])
	if err != nil {
		return procStat{}, err
	}
	return parseStat(pid, line)
}

// readProc reads a file of /proc into a buffer, or into a larger one if it does not fit. A sweep reads hundreds of them, and plain
// system calls cost half as much as os.ReadFile.
func readProc(name string, buf []byte) ([]byte, error) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	for {
		n, err := syscall.Read(fd, buf[len(buf):cap(buf)])
		if n <= 0 || err != nil {
			return buf, errors.Join(err, syscall.Close(fd))
		}
		if buf = buf[:len(buf)+n]; len(buf) == cap(buf) {
			buf = slices.Grow(buf, len(buf))
		}
	}
}

// parseStat parses a line of proc_pid_stat(5): pid (name) state ppid group session ... The name may contain anything, even a
// parenthesis, so the fields are counted from the last parenthesis.
func parseStat(pid int, line []byte) (procStat, error) {
	const (
		flagsField, startField       = 9 - 3, 22 - 3       // numbered as in the manual, whose third field is our first
		ending, noExec, kernelThread = 0x4, 0x40, 0x200000 // PF_EXITING, PF_FORKNOEXEC and PF_KTHREAD in the kernel's sched.h
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

// members returns the tree's processes from /proc, the oldest first, without zombies. Processes that /proc hides from this user are
// missing.
func (t group) members() ([]member, error) {
	var mu sync.Mutex
	var list []member
	err := t.find(func(m member) bool {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, m)
		return true
	})
	slices.SortFunc(list, func(a, b member) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid)) })
	return list, err
}

// execTime limits how long find looks, every millisecond, at processes that may be executing a new program. Their environment and their command line
// are then empty, for microseconds, or for as long as a busy machine does not let them go on. It is less than SettleTime, in which KILL is repeated.
const execTime = 250 * time.Millisecond

// emptyLooks limits the looks at a process with a command line and no environment: it may have got its environment between two reads, and even be
// executing a further program.
const emptyLooks = 4

// environSize is larger than most environments.
const environSize = 16 << 10

// emptyLists is how many lists of processes must have no member: one that is forked while they are listed is in no list, and its parent may have
// ended before it is looked at.
const emptyLists = 2

// find calls visit for each of the tree's processes until it returns false, several at a time.
func (t group) find(visit func(member) bool) error {
	var found atomic.Bool
	looked := map[int]bool{}
	deadline := time.Now().Add(execTime)
	for range emptyLists {
		pids, err := processIDs()
		if err != nil {
			return err
		}
		pids = slices.DeleteFunc(pids, func(pid int) bool { return looked[pid] })
		for _, pid := range pids {
			looked[pid] = true
		}
		err = t.findAmong(pids, deadline, func(m member) bool {
			found.Store(true)
			return visit(m)
		})
		if err != nil || found.Load() {
			return err
		}
	}
	return nil
}

// findAmong is find for some processes. It looks again at those of which it is not clear what they are, at most until the deadline.
func (t group) findAmong(pids []int, deadline time.Time, visit func(member) bool) error {
	pids, err := t.look(pids, visit)
	for err == nil && len(pids) > 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond) // one pause for all of them: there may be many at a time
		pids, err = t.look(pids, visit)
	}
	return err
}

// processIDs returns the numbers of the machine's processes, the youngest first unless numbers have wrapped around.
func processIDs() ([]int, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := proc.Readdirnames(-1)
	if err = errors.Join(err, proc.Close()); err != nil {
		return nil, err
	}
	pids := make([]int, 0, len(names))
	for _, name := range slices.Backward(names) {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// look calls visit for the processes that belong to the tree and returns those to look at again. It returns none once visit has
// returned false. It uses all processors, because it competes with the processes that it looks for.
func (t group) look(pids []int, visit func(member) bool) (again []int, err error) {
	var (
		mu      sync.Mutex // for again and err
		next    atomic.Int64
		stopped atomic.Bool
		workers sync.WaitGroup
	)
	reused := t.reused()
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			buf := make([]byte, 0, environSize)
			for i := next.Add(1); int(i) <= len(pids) && !stopped.Load(); i = next.Add(1) {
				pid := pids[i-1]
				m, is, lookErr := t.owns(pid, reused, buf)
				if is == yes && !visit(m) {
					stopped.Store(true)
				}
				if is == unclear || lookErr != nil {
					mu.Lock()
					again, err = append(again, pid), errors.Join(err, lookErr)
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	if stopped.Load() {
		again = nil
	}
	return again, err
}

// answer says whether a process belongs to a tree.
type answer int

const (
	no answer = iota
	yes
	unclear // it may be executing a new program
)

// owns reports whether a process belongs to the tree. Processes that have ended or are older than the command do not.
func (t group) owns(pid int, reused bool, buf []byte) (member, answer, error) {
	stat, err := readStat(pid)
	if gone(err) {
		err, stat.dead = nil, true
	}
	if err != nil || stat.dead || stat.kernel || stat.start < t.began {
		return member{}, no, err
	}
	id := strconv.Itoa(t.leader)
	stat.grouped = !reused && stat.group == id
	if stat.grouped || !reused && t.session && stat.session == id {
		return stat.member, yes, nil
	}
	is := marked(pid, t.mark, buf)
	if is == unclear && stat.exiting {
		is = no
	}
	return stat.member, is, nil
}

// marked reports whether a process of this user was started with the mark in its environment, or is a copy of one that was.
func marked(pid int, mark string, buf []byte) answer {
	dir := "/proc/" + strconv.Itoa(pid)
	var info syscall.Stat_t
	if err := syscall.Stat(dir, &info); err != nil || int(info.Uid) != os.Geteuid() {
		return no
	}
	for range emptyLooks {
		environ, err := readProc(dir+"/environ", buf)
		switch {
		case err != nil:
			return no // it has ended, or nobody may read its environment
		case hasMark(environ, mark):
			return yes
		case len(environ) > 0:
			return no
		}
		if line, err := readProc(dir+"/cmdline", buf); err == nil && len(line) == 0 {
			return unclear
		}
	}
	return no
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

// signal signals the process, unless its number belongs to another process by now. It is no error if the process has ended.
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

// startTime limits how long describe waits for processes that are about to execute a program. After that they are named by the program
// that they run.
const startTime = 500 * time.Millisecond

// describe returns the process id and the command line, or the name if there is no command line, and false if the process has ended.
// It waits until the deadline for a process that is just starting.
func (m member) describe(deadline time.Time) (line string, running bool) {
	dir := "/proc/" + strconv.Itoa(m.pid) + "/"
	cmdline, running := startedAs(func(file string) ([]byte, error) { return os.ReadFile(dir + file) }, deadline)
	return m.line(cmdline), running
}

// startedAs returns a process's command line, and false if the process has ended. read reads its files in /proc. Right before its
// execve a process has the command line of another, and right after it none, so startedAs waits for both to pass, at most until the
// deadline.
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

// line returns the description of a process with a command line as the kernel has it.
func (m member) line(cmdline []byte) string {
	if len(cmdline) == 0 {
		cmdline = []byte("(" + m.name + ")")
	}
	return strconv.Itoa(cmp.Or(m.inside, m.pid)) + " " + oneLine(string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
}
