//go:build unix && !linux

package env

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// psTime bounds the wait for ps.
const psTime = time.Second

// member is a process of a tree.
type member struct {
	pid  int
	line string
}

// members lists the tree's processes as ps tells, without zombies. A session is not told apart from its leader's group.
func (t tree) members() ([]member, error) {
	ctx, cancel := context.WithTimeout(context.Background(), psTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-axo", "pid=,pgid=,stat=,command=").Output()
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
		list = append(list, member{pid, strings.Join(fields[3:], " ")})
	}
	return list, nil
}

// describe is the process id and the command line.
func (m member) describe() string { return strconv.Itoa(m.pid) + " " + plain(m.line) }
