package contain

import (
	"syscall"
	"time"
)

// The names of the levels. Package env documents them.
const (
	CgroupPIDNS = "cgroup+pidns"
	PIDNS       = "pidns"
	Cgroup      = "cgroup"
	Group       = "group"
)

// MarkVar is the environment variable by which a command's processes are found. See env.MarkVar.
const MarkVar = "ATTRACTOR_PROCESS"

// SettleTime is the time that a tree has to end after KILL if somebody waits for its kill.
const SettleTime = 400 * time.Millisecond

// Tree is a command with all processes that it started, as its level of containment finds them.
type Tree interface {
	// Signal sends a signal to every process. Having none is not an error.
	Signal(sig syscall.Signal) error
	// Alive reports whether a process is left. Zombies do not count: they remain if process 1 does
	// not wait for orphans.
	Alive() bool
	// Left returns a line for each process, with its process id and command line, or one line that
	// says why they cannot be listed.
	Left() []string
	// Reached says which of the level's limits the command has reached, as far as the kernel counts
	// that.
	Reached() Reached
	// Close releases what the level took for the command. No process may be alive. A second call
	// does nothing.
	Close() error
}
