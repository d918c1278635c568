package env

import "github.com/attractor-go/attractor/internal/contain"

// The levels of containment. They differ in how they find the processes that a command started when
// these have to end. LocalOptions.Containment selects one, Local.Confinement reports it; by default
// the first one in this list that works is used. At every level Kill and Close send TERM, wait for
// the grace time and send KILL, and a command's user ids, paths, environment and working directory
// are the same. The processor time given is what the level adds to a command; `bash -c true` itself
// takes one millisecond.
const (
	// ContainCgroupPIDNS is ContainCgroup in a PID namespace that is made for the first command of
	// the environment and that all its commands share. A keeper process is process 1 of the
	// namespace and adopts orphans. It ends when the host ends, however that happens, and the
	// kernel then kills everything in the namespace. Commands see each other but no process of the
	// host, whose /proc is detached from their mounts (see Local.Confinement). They run without
	// CAP_SYS_PTRACE, because a process that is just starting would show the host's memory to
	// others that have it; it still shows the host's environment if the host does not call Conceal.
	// The level needs what ContainCgroup and ContainPIDNS need, and CAP_SYS_PTRACE; 0.5 ms.
	//
	// Commands notice the same differences as at ContainPIDNS, but they see each other's mounts.
	ContainCgroupPIDNS = contain.CgroupPIDNS
	// ContainPIDNS is a PID namespace for each command, with its own /proc. A keeper, a small
	// shell, is process 1 of the namespace and adopts orphans. It ends when the host ends, however
	// that happens, and the kernel then kills everything in the namespace, so nothing escapes even
	// if the host is killed.
	//
	// The host must have CAP_SYS_ADMIN and a mount program and be allowed to mount and unmount;
	// user namespaces are not used. It needs Linux 5.2. A command notices these differences: it
	// cannot see or signal the processes of other commands, including those that an earlier command
	// left running, and process ids in Exit.Left are those inside the namespace. Its parent's
	// process id is 0. Nobody else sees its mounts if mounts are private or if they are directly on
	// the file system that holds /proc. Process ids continue from command to command as they do
	// without a namespace, if the kernel allows it. A command does not start if no namespace can be
	// made for it. Linux only; 3 ms.
	ContainPIDNS = contain.PIDNS
	// ContainCgroup is a cgroup (version 2) for each command, below the host's own. Processes do
	// not escape it by setsid, a double fork, nohup or an empty environment, and the kernel kills
	// all of them at once. Root can leave it by moving itself to another cgroup. If the host itself
	// is killed, its commands continue until LocalOptions.EndAbandoned ends them, and a later Local
	// removes the empty cgroups. Linux 5.14 or later, and the host's own cgroup must be writable;
	// 0.3 ms.
	ContainCgroup = contain.Cgroup
	// ContainGroup is the command's process group. On Linux a sweep over /proc also finds every
	// process of this user that has the command's mark, MarkVar, in its environment, whatever its
	// group, session and parent. A process that clears its environment and leaves the group, as
	// `env -i setsid` does, is not found. If the host itself is killed, its commands continue until
	// LocalOptions.EndAbandoned ends them. On Linux 1 ms with a hundred processes on the machine,
	// and more with more.
	ContainGroup = contain.Group
)

// MarkVar is the environment variable that marks a command's processes. They are found by it at
// ContainGroup, and at ContainCgroup after their host was killed. On Linux it is set at every
// level, so that commands see the same environment. The value is the host's id, which names the
// file that the host holds locked, a dot and a random id. If this process itself runs in a command,
// the marks of that command and a slash come first.
const MarkVar = contain.MarkVar

// Conceal overwrites this process's environment variables, except MarkVar, where /proc/PID/environ
// shows them, and makes its memory and files readable by root alone (PR_SET_DUMPABLE). Call it
// first thing in a program that has keys in its environment and runs commands. os.Getenv still
// works, because Go keeps copies; C code in this process finds the variables empty. A program must
// be dumpable while it starts a process in a new user namespace.
//
// Linux only; elsewhere Conceal does nothing.
func Conceal() error { return contain.Conceal() }
