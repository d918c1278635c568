package contain

import "syscall"

// The names of the levels. Package env says what each is.
const (
	CgroupPIDNS = "cgroup+pidns"
	PIDNS       = "pidns"
	Cgroup      = "cgroup"
	Group       = "group"
)

// MarkVar is the environment variable that marks the processes of commands. See env.MarkVar.
const MarkVar = "ATTRACTOR_PROCESS"

// Tree is everything that a command started and that its level of containment finds again.
type Tree interface {
	// Signal sends a signal to all of it. That nothing is there is no error.
	Signal(sig syscall.Signal) error
	// Alive reports whether a process of it is left. Zombies do not count: where process 1 does not wait for orphans, they
	// stay for ever.
	Alive() bool
	// Left describes its processes, one line each: the process id and the command line. When they cannot be listed, a
	// line says so.
	Left() []string
	// Close gives back what the level took for the command. Nothing may be left alive. A second call does nothing.
	Close() error
}
