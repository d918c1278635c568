package env

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// member is a process of a tree.
type member struct {
	pid     int
	name    string // of the executable, cut by the kernel
	start   uint64 // when it started, in the kernel's ticks, which tells it apart from a later one with the same number
	grouped bool   // it is in the leader's process group
}

// procStat is what we read of proc_pid_stat(5).
type procStat struct {
	member
	dead           bool // a zombie
	kernel         bool // a thread of the kernel
	group, session string
}

// readStat reads about a process. See gone for the error when it has ended.
func readStat(pid int) (procStat, error) {
	// A sweep reads hundreds of these, so by plain system calls, at half the cost of os.ReadFile. The kernel gives all of
	// it in one read; the longest line is under 600 characters.
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return procStat{}, err
	}
	var buf [1024]byte
	n, err := syscall.Read(fd, buf[:])
	if err := errors.Join(err, syscall.Close(fd)); err != nil {
		return procStat{}, err
	}
	return parseStat(pid, buf[:n])
}

// parseStat reads a line of proc_pid_stat(5): pid (name) state ppid group session ... The name may contain anything, even a
// parenthesis, so the fields count from the last one.
func parseStat(pid int, line []byte) (procStat, error) {
	const (
		flagsField, startField = 9 - 3, 22 - 3 // as in the manual, whose third is our first
		kernelThread           = 0x00200000    // PF_KTHREAD in the kernel's sched.h
	)
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return procStat{}, errors.New("not a line of /proc/PID/stat: " + plain(string(line)))
	}
	f := strings.Fields(string(line[end+1:]))
	if len(f) <= startField {
		return procStat{}, errors.New("not a line of /proc/PID/stat: " + plain(string(line)))
	}
	flags, errFlags := strconv.ParseUint(f[flagsField], 10, 64)
	start, errStart := strconv.ParseUint(f[startField], 10, 64)
	return procStat{
		member: member{pid: pid, name: string(line[open+1 : end]), start: start},
		dead:   f[0] == "Z" || f[0] == "X",
		kernel: flags&kernelThread != 0,
		group:  f[2], session: f[3],
	}, errors.Join(errFlags, errStart)
}

// members lists the tree's processes from /proc, without zombies. What another user's /proc hides is missing.
func (t group) members() ([]member, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := proc.Readdirnames(-1)
	if err = errors.Join(err, proc.Close()); err != nil {
		return nil, err
	}
	reused := t.reused()
	id := strconv.Itoa(t.leader)
	var list []member
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue // not a process
		}
		stat, err := readStat(pid)
		if gone(err) {
			continue // ended in between
		}
		if err != nil {
			return nil, err
		}
		if stat.dead || stat.kernel {
			continue
		}
		if stat.start < t.began {
			continue // older than the command
		}
		stat.grouped = !reused && stat.group == id
		if stat.grouped || !reused && t.session && stat.session == id || marked(pid, t.mark) {
			list = append(list, stat.member)
		}
	}
	return list, nil
}

// marked reports whether a process of this user was started with the mark in its environment, or is a copy of one that was.
func marked(pid int, mark string) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	var info syscall.Stat_t
	if err := syscall.Stat(dir, &info); err != nil || int(info.Uid) != os.Geteuid() {
		return false
	}
	// While a process executes a new program, both are empty for some microseconds.
	for range 5 {
		environ, err := os.ReadFile(dir + "/environ")
		if err != nil {
			return false // ended, or of the kind that nobody may look into
		}
		if len(environ) > 0 {
			return hasMark(environ, mark)
		}
		if line, err := os.ReadFile(dir + "/cmdline"); err != nil || len(line) > 0 {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// hasMark looks for the mark among those in a process's environment, inner and outer ones.
func hasMark(environ []byte, mark string) bool {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(MarkVar+"=")); ok && bytes.Contains(value, []byte(mark)) {
			return true
		}
	}
	return false
}

// signal sends a signal, unless the number belongs to another process by now. That it has ended is no error.
func (m member) signal(sig syscall.Signal) error {
	p, err := os.FindProcess(m.pid) // holds the process, not the number, where the kernel can
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

// describe is the process id and the command line, or the name where there is none to read.
func (m member) describe() string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(m.pid) + "/cmdline")
	if err != nil || len(line) == 0 {
		line = []byte("(" + m.name + ")")
	}
	return strconv.Itoa(m.pid) + " " + plain(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
}
