package sandbox

import (
	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/internal/landlock"
)

// changing lists system calls by which a command changes what Landlock does not protect: modes,
// owners, times and attributes of files, objects of System V and POSIX that all processes share,
// and other processes. A pair of sockets needs no address.
func changing() []uint32 {
	return []uint32{
		unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
		unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN,
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV,
		unix.SYS_MSGCTL,
		unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
		unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
		unix.SYS_IOPRIO_SET, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETATTR,
		unix.SYS_SCHED_SETAFFINITY,
	}
}

// signaling lists system calls by which a command signals other processes. Kill is not among them.
func signaling() []uint32 {
	return []uint32{unix.SYS_TKILL, unix.SYS_TGKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO,
		unix.SYS_PIDFD_SEND_SIGNAL}
}

// newest is the last system call that was looked at for this filter. Later ones may change files,
// so they do not exist for commands.
const newest = unix.SYS_FILE_SETATTR

// observing returns the filter of system calls for commands that change nothing, with a version of
// Landlock. What later versions refuse, it refuses itself. Commands open no sockets.
//
// It lets clone3 pass, because the thread starts the command by it. A user namespace that a command
// makes by it is of no use: there are neither mounts nor sockets in it. Only root can leave the
// cgroup of its command by it.
func observing(a *architecture, abi int) program {
	var p program
	p.begin(a)
	p.add(above, newest, 0, 1)
	p.add(result, failing(unix.ENOSYS), 0, 0)
	p.answer(unix.EPERM, changing()...)
	p.answer(unix.EPERM, a.changes...)
	p.zero(unix.SYS_PRLIMIT64, 0)      // limits of other processes
	p.zero(unix.SYS_SETPRIORITY, 0, 1) // and priorities
	p.bits(call{unix.SYS_FLOCK, 1}, unix.LOCK_EX)
	p.commands(unix.SYS_FCNTL, unix.F_SETOWN, unix.F_SETOWN_EX, unix.F_SETSIG, unix.F_SETLEASE, unix.F_SET_RW_HINT,
		unix.F_SET_FILE_RW_HINT)
	p.ioctls()
	p.pairs()
	for _, o := range a.opens {
		p.forReading(o, abi)
	}
	if abi < landlock.Truncating {
		p.answer(unix.EPERM, unix.SYS_TRUNCATE)
	}
	if abi < landlock.Scoped {
		p.answer(unix.EPERM, signaling()...)
		p.zero(unix.SYS_KILL, 0)    // a command signals its own process group, as timeout does,
		p.zero(unix.SYS_SETPGID, 1) // and joins no other
	}
	p.common(a, nil)
	return p
}

// zero refuses a call unless all of the arguments are 0. The kernel compares only their lower
// halves.
func (p *program) zero(number uint32, args ...uint32) {
	n := uint8(2 * len(args))
	p.add(equal, number, 0, n+2)
	for i, arg := range args {
		p.add(load, argument(arg), 0, 0)
		p.add(equal, 0, 0, n-uint8(2*i)-1)
	}
	p.add(result, allow, 0, 0)
	p.add(result, failing(unix.EPERM), 0, 0)
}

// commands refuses a call whose second argument is one of the numbers.
func (p *program) commands(number uint32, refused ...uint32) {
	n := uint8(len(refused))
	p.add(equal, number, 0, n+3)
	p.add(load, argument(1), 0, 0)
	for i, c := range refused {
		p.add(equal, c, n-uint8(i), 0)
	}
	p.add(result, allow, 0, 0)
	p.add(result, failing(unix.EPERM), 0, 0)
}

// ioctls refuses all requests of ioctl but those of terminals, of which common refuses some, and
// those that describe files.
func (p *program) ioctls() {
	const ofTerminals, flags, extents = 0x5400, 0x80086601, 0xc020660b // FS_IOC_GETFLAGS and FS_IOC_FIEMAP
	p.add(equal, unix.SYS_IOCTL, 0, 7)
	p.add(load, argument(1), 0, 0)
	p.add(equal, flags, 4, 0)
	p.add(equal, extents, 3, 0)
	p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xffffff00, 0, 0)
	p.add(equal, ofTerminals, 1, 0)
	p.add(result, failing(unix.ENOTTY), 0, 0)
	p.add(load, 0, 0, 0) // there is more about it
}

// pairs refuses pairs of sockets that can send to an address.
func (p *program) pairs() {
	p.add(equal, unix.SYS_SOCKETPAIR, 0, 6)
	p.add(load, argument(1), 0, 0)
	p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xf, 0, 0)
	p.add(equal, unix.SOCK_STREAM, 2, 0)
	p.add(equal, unix.SOCK_SEQPACKET, 1, 0)
	p.add(result, failing(unix.EPERM), 0, 0)
	p.add(load, 0, 0, 0) // there is more about it
}

// forReading refuses a call that opens a file neither for reading nor for writing, which Landlock
// does not look at, and one that truncates a file without opening it for writing, which it does not
// look at before it can forbid truncating.
func (p *program) forReading(o open, abi int) {
	refused := []uint32{unix.O_ACCMODE, unix.O_ACCMODE | unix.O_TRUNC}
	if abi < landlock.Truncating {
		refused = append(refused, unix.O_RDONLY|unix.O_TRUNC)
	}
	n := uint8(len(refused))
	p.add(equal, o.number, 0, n+5)
	p.add(load, argument(o.flags), 0, 0)
	p.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, unix.O_ACCMODE|unix.O_TRUNC, 0, 0)
	for i, flags := range refused {
		p.add(equal, flags, n-uint8(i), 0)
	}
	p.add(unix.BPF_JMP|unix.BPF_JA, 1, 0, 0)
	p.add(result, failing(unix.EPERM), 0, 0)
	p.add(load, 0, 0, 0) // there is more about it
}
