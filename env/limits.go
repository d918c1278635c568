package env

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/internal/contain"
)

// DefaultProcesses is the limit of a command's processes when Limits.Processes is zero.
const DefaultProcesses = 4096

// Limits bounds what commands may use. Zero means the default, negative means no limit. A limit
// that cannot be set on this machine does not hold: Local.Confinement then says unlimited, and
// Local.Confinement has only the limits that hold.
type Limits struct {
	// Processes is the largest number of processes and threads that a command and everything that
	// it starts may have at a time. The default is DefaultProcesses. More processes cannot be
	// started (EAGAIN).
	//
	// It needs a cgroup with the controller pids, or PID namespaces (ContainPIDNS,
	// ContainCgroupPIDNS) on Linux 6.14 or later, or LocalOptions.UserNamespaces. The cgroup is one
	// of version 2, below which the controller is enabled for the host's user. By namespaces at
	// ContainCgroupPIDNS the limit holds for all commands together. A command that runs as root may
	// be able to lift the limit.
	Processes int64 `json:"processes,omitempty"`
	// Memory is the most memory in bytes, including swap, that a command and everything that it
	// starts may have. There is none by default. The kernel kills a process that needs more. It
	// needs a cgroup with the controller memory.
	Memory int64 `json:"memory,omitempty"`
	// FileSize is the largest size in bytes to which a command may grow a file, rounded up to 512.
	// There is none by default. A process that writes more gets SIGXFSZ, which ends it, or EFBIG.
	FileSize int64 `json:"file_size,omitempty"`
	// OpenFiles is the largest number of files that each process may have open at a time. By
	// default it is the host's.
	OpenFiles int64 `json:"open_files,omitempty"`
}

// withDefaults returns the limits to set: zero means none, nothing is negative.
func (l Limits) withDefaults() Limits {
	if l.Processes == 0 {
		l.Processes = DefaultProcesses
	}
	return Limits{max(l.Processes, 0), max(l.Memory, 0), max(l.FileSize, 0), max(l.OpenFiles, 0)}
}

// text lists the limits that hold. Processes and memory are always in the list.
func (l Limits) text() string {
	list := []string{"processes unlimited", "memory unlimited"}
	if l.Processes > 0 {
		list[0] = fmt.Sprintf("at most %d processes", l.Processes)
	}
	if l.Memory > 0 {
		list[1] = "memory " + bytesText(l.Memory)
	}
	if l.FileSize > 0 {
		list = append(list, "files up to "+bytesText(l.FileSize))
	}
	if l.OpenFiles > 0 {
		list = append(list, fmt.Sprintf("%d open files", l.OpenFiles))
	}
	return strings.Join(list, ", ")
}

// bytesText returns a number of bytes in the largest unit that needs no fraction.
func bytesText(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n%unit.size == 0 {
			return strconv.FormatInt(n/unit.size, 10) + " " + unit.name
		}
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

// limits describes the limits of a Local.
type limits struct {
	any  bool     // some limit is wanted
	hold Limits   // those that hold
	sh   string   // the shell that sets the limits of each process
	set  []string // its commands
}

// newLimits returns the limits that hold, where the level sets the given ones and the shell may set
// others.
func newLimits(wanted Limits, level contain.Limits, userNamespaces bool, shell string) (limits, error) {
	l := limits{any: wanted != Limits{}, sh: shell, hold: Limits{Processes: level.Processes, Memory: level.Memory}}
	if err := l.eachProcess(wanted, userNamespaces); err != nil {
		return limits{}, err
	}
	return l, nil
}

// wrap returns a command's arguments with the shell that sets its limits and then becomes the
// command.
func (l limits) wrap(args []string) []string {
	if len(l.set) == 0 {
		return args
	}
	return append([]string{l.sh, "-c", strings.Join(l.set, " && ") + ` && exec "$0" "$@"`}, args...)
}

// reached names the limits that a command has reached.
func (l limits) reached(tree contain.Reached, exit Exit) (names []string) {
	if tree.Processes {
		names = append(names, fmt.Sprintf("at most %d processes", l.hold.Processes))
	}
	if tree.Memory {
		names = append(names, "memory "+bytesText(l.hold.Memory))
	}
	const code = 128 + 25 // of a shell whose command was ended by SIGXFSZ
	if l.hold.FileSize > 0 && (exit.Signal == "SIGXFSZ" || exit.Code == code) {
		names = append(names, "files up to "+bytesText(l.hold.FileSize))
	}
	return names
}
