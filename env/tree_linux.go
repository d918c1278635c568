package env

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// member is a process of a tree.
type member struct {
	pid  int
	name string // of the executable, cut by the kernel
}

// members lists the tree's processes from /proc, without zombies. What another user's /proc hides is missing.
func (t tree) members() ([]member, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := proc.Readdirnames(-1)
	if err = errors.Join(err, proc.Close()); err != nil {
		return nil, err
	}
	var list []member
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue // not a process
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // ended in between
		}
		if err != nil {
			return nil, err
		}
		if m, ok := t.parseStat(pid, stat); ok {
			list = append(list, m)
		}
	}
	return list, nil
}

// parseStat reads a line of proc_pid_stat(5): pid (name) state ppid group session ... The name may contain anything, even a
// parenthesis, so the fields count from the last one.
func (t tree) parseStat(pid int, stat []byte) (member, bool) {
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return member{}, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 4 || fields[0] == "Z" || fields[0] == "X" {
		return member{}, false
	}
	id := strconv.Itoa(t.leader)
	if fields[2] != id && (!t.session || fields[3] != id) {
		return member{}, false
	}
	return member{pid, string(stat[open+1 : end])}, true
}

// describe is the process id and the command line, or the name where there is none to read.
func (m member) describe() string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(m.pid) + "/cmdline")
	if err != nil || len(line) == 0 {
		line = []byte("(" + m.name + ")")
	}
	return strconv.Itoa(m.pid) + " " + plain(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
}
