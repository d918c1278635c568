package env

import "github.com/attractor-go/attractor/internal/contain"

// The levels of containment: how everything that a command started is found again when it has to end. LocalOptions.Containment
// takes them and Local.Containment reports them. They are rungs of a ladder: the first that works here is used. At all of them
// Kill and Close send TERM to what they find, wait for the grace time and kill; user ids, paths, the environment and the working
// directory of a command are the same. The processor time given is what the level adds to a command, measured beside `bash -c true`,
// which costs one millisecond.
const (
	// ContainCgroupPIDNS is ContainCgroup in a PID namespace that serves all commands of the environment, and lives as long: a
	// keeper, process 1 in there, inherits orphans and ends with the host, however that ends, and the kernel ends
	// everything with it. Commands see each other, and no process of the host, whose /proc is detached from their mounts (see
	// Local.HidesHost). They have no CAP_SYS_PTRACE, because one that is just being started shows the host's memory to whoever has it; a
	// program that does not call Conceal still shows its environment so. It needs what both levels need, and CAP_SYS_PTRACE; 0.5 ms.
	//
	// What is different for a command is what ContainPIDNS says of /proc and mounts; mounts of one command are seen by the next.
	ContainCgroupPIDNS = contain.CgroupPIDNS
	// ContainPIDNS is a PID namespace for each command, with a /proc of its own instead of the host's, held by a keeper: a small
	// shell, process 1 in there, which inherits orphans and ends with the host, however that ends. With the keeper the kernel ends
	// everything, so that nothing gets away, not even from a host that is killed.
	//
	// It is not offered where it would need a user namespace: the host must have CAP_SYS_ADMIN and a mount program, and be
	// allowed to mount and unmount; Linux 5.2. What is different for a command: it sees the processes of no other command,
	// and cannot signal them (also not what an earlier command has left running; process ids in Exit.Left are those inside); its
	// parent has the number 0; and what it mounts is seen by nobody else where mounts are private, or directly on the file system on
	// which /proc is mounted. Numbers of processes go on from command to command as they do without a namespace, where the kernel
	// lets them. A command for which no namespace can be made does not start. Linux only; 3 ms.
	ContainPIDNS = contain.PIDNS
	// ContainCgroup is a cgroup (version 2) for each command, below the host's own. Nothing gets out of it by setsid, a
	// double fork, nohup or an empty environment, and the kernel kills all of it at once. Root can leave it by moving
	// itself to another cgroup. When the host itself is killed, its commands go on, until LocalOptions.EndAbandoned; a later
	// Local removes the cgroups that have become empty. Linux only, where the host's own cgroup may be written to; 0.3 ms.
	ContainCgroup = contain.Cgroup
	// ContainGroup is the command's process group. On Linux a sweep over /proc adds every process of this user that has
	// the command's mark in its environment, MarkVar, whatever group, session and parent it has; what clears its
	// environment and leaves the group, as `env -i setsid` does, is not found. When the host itself is killed, its commands
	// go on, until LocalOptions.EndAbandoned. On Linux 1 ms with a hundred processes on the machine, and more with more.
	ContainGroup = contain.Group
)

// MarkVar is the environment variable by which a command's processes are found at ContainGroup, and at ContainCgroup after their host was
// killed. It is set at every level on Linux, so that commands see the same whatever the level is. The value is the host's id, which
// names the file that it holds locked, a dot and a random id, after those of the commands in which this process itself runs, if any,
// and a slash.
const MarkVar = contain.MarkVar

// Conceal overwrites the environment variables of this process where /proc/PID/environ shows them, all but MarkVar, and lets only
// root look into its memory and files from then on (PR_SET_DUMPABLE). It is for the first line of a program that has keys in its
// environment and runs commands. os.Getenv goes on as before, because Go has copies; C code in this process finds the variables
// empty. To start a process in a new user namespace a program must be dumpable as long as that takes.
//
// Linux only; elsewhere Conceal does nothing.
func Conceal() error { return contain.Conceal() }
