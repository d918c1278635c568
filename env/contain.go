package env

// The levels of containment: how everything that a command started is found again when it has to end. LocalOptions.Containment
// takes them and Local.Containment reports them.
const (
	// ContainCgroup is a cgroup (version 2) for each command, below the host's own. Nothing gets out of it by setsid, a
	// double fork or nohup, and the kernel kills all of it at once. Linux only.
	ContainCgroup = "cgroup"
	// ContainPIDNS is a PID namespace for each command. Local does not offer it: a namespace needs a process 1 that
	// outlives the shell, a mount of /proc in a mount namespace, and other process ids, all of which a command sees.
	ContainPIDNS = "pidns"
	// ContainGroup is the command's process group. On Linux a sweep over /proc adds every process of this user that has
	// the command's mark in its environment, MarkVar, whatever group, session and parent it has; what clears its
	// environment (env -i) and leaves the group is not found.
	ContainGroup = "group"
)

// MarkVar is the environment variable by which a command's processes are found at ContainGroup. It is set at every level on
// Linux, so that commands see the same whatever the level is. The value is a random id, after those of the commands in which
// this process itself runs, if any, and a slash.
const MarkVar = "ATTRACTOR_PROCESS"
