//go:build unix && !linux

package contain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// psTime limits the time that ps takes.
const psTime = time.Second

// member is a process of a tree.
type member struct {
	pid     int
	line    string
	grouped bool // it is in the leader's process group
}

// members returns the tree's processes as ps lists them, without zombies. It does not tell a
// session from its leader's group.
func (t group) members() ([]member, error) {
	if t.reused() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), psTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "/bin/ps", "-axo", "pid=,pgid=,stat=,command=").Output()
	if err != nil {
		return nil, fmt.Errorf("ps: %w", err)
	}
	var list []member
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[1] != strconv.Itoa(t.leader) || strings.HasPrefix(fields[2], "Z") {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		if err != nil {
			return nil, fmt.Errorf("ps: %w", err)
		}
		list = append(list, member{pid, strings.Join(fields[3:], " "), true})
	}
	return list, nil
}

// find calls visit for each of the tree's processes until it returns false.
func (t group) find(visit func(member) bool) error {
	members, err := t.members()
	for _, m := range members {
		if !visit(m) {
			break
		}
	}
	return err
}

// signal signals the process. It is no error if the process has ended.
func (m member) signal(sig syscall.Signal) error {
	err := syscall.Kill(m.pid, sig)
	if err == nil || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return os.NewSyscallError("kill", err)
}

// startTime is zero: ps has the command lines already.
const startTime = 0

// describe returns the process id and the command line.
func (m member) describe(time.Time) (line string, running bool) {
	return strconv.Itoa(m.pid) + " " + oneLine(m.line), true
}
