package sandbox

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter of system calls. Calls that it refuses fail with EPERM, as if the kernel did not
// permit them; clone3 and openat2 fail with ENOSYS, so that programs use clone and openat, whose
// flags and modes a filter can see.

// architecture holds what differs between processors.
type architecture struct {
	audit   uint32   // the kernel's number of the architecture
	maximum uint32   // calls with larger numbers belong to another one, such as x32; 0 if there is none
	refused []uint32 // calls that only this one has
	chmods  []call   // calls whose argument is the mode of a file
	opens   []open   // calls that make a file with a mode
	changes []uint32 // calls that only this one has, and that change files
}

// call is a system call and the index of one of its arguments.
type call struct {
	number uint32
	arg    uint32
}

// open is a system call with flags and a mode.
type open struct {
	number, flags, mode uint32
}

// refused lists system calls that no command of a model needs: they change mounts or namespaces,
// reach keys of the kernel, watch or change the kernel itself, or open ways around this filter.
var refused = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT,
	unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
	unix.SYS_IO_URING_REGISTER,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT,
	unix.SYS_SYSLOG,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_FANOTIFY_INIT,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME,
	unix.SYS_SETDOMAINNAME,
	unix.SYS_VHANGUP, unix.SYS_OPEN_TREE_ATTR, unix.SYS_QUOTACTL_FD, unix.SYS_FILE_SETATTR, unix.SYS_NFSSERVCTL,
	unix.SYS_LOOKUP_DCOOKIE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
}

const (
	namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	setUID = unix.S_ISUID
)

// namespaced returns the families of sockets that a network namespace confines. Others, such as
// VSOCK, reach the host.
func namespaced() []uint32 {
	return []uint32{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
}

// program is a filter while it is written.
type program []unix.SockFilter

const (
	load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	above  = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
	anyBit = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	result = unix.BPF_RET | unix.BPF_K

	allow = uint32(unix.SECCOMP_RET_ALLOW)
)

// failing returns the result by which a call fails with an error.
func failing(err unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(err) }

func (p *program) add(code uint16, k uint32, yes, no uint8) {
	*p = append(*p, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

// argument returns the offset of the lower half of an argument in the kernel's seccomp_data. Both
// architectures are little-endian.
func argument(i uint32) uint32 { return 16 + 8*i }

// filter returns the filter of an architecture. Commands may open sockets of the given families.
func filter(a *architecture, families []uint32) program {
	var p program
	p.begin(a)
	p.answer(unix.ENOSYS, unix.SYS_CLONE3) // its flags cannot be seen
	p.common(a, families)
	return p
}

// begin refuses calls of other architectures, and those that are refused at all levels.
func (p *program) begin(a *architecture) {
	p.add(load, 4, 0, 0) // the architecture of the call
	p.add(equal, a.audit, 1, 0)
	p.add(result, failing(unix.ENOSYS), 0, 0)
	p.add(load, 0, 0, 0) // the number of the call
	if a.maximum > 0 {
		p.add(above, a.maximum, 0, 1)
		p.add(result, failing(unix.ENOSYS), 0, 0)
	}
	p.answer(unix.EPERM, refused...)
	p.answer(unix.EPERM, a.refused...)
	p.answer(unix.ENOSYS, unix.SYS_OPENAT2) // nor can its
}

// answer answers calls with an error.
func (p *program) answer(err unix.Errno, numbers ...uint32) {
	for _, number := range numbers {
		p.add(equal, number, 0, 1)
		p.add(result, failing(err), 0, 0)
	}
}

// common ends the filter with what is refused at all levels by the arguments of a call.
func (p *program) common(a *architecture, families []uint32) {
	p.bits(call{unix.SYS_CLONE, 0}, namespaces)
	for _, c := range a.chmods {
		p.bits(c, setUID)
	}
	for _, o := range a.opens {
		p.create(o)
	}
	p.first(call{unix.SYS_PTRACE, 1})
	p.first(call{unix.SYS_PROCESS_VM_WRITEV, 0})
	p.ioctl(unix.TIOCSTI)
	p.ioctl(unix.TIOCLINUX)
	p.socket(unix.SYS_SOCKET, families)
	p.socket(unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX})
	p.add(result, allow, 0, 0)
}

// bits refuses a call if its argument has one of the bits. Each of these blocks ends with the
// decision, so the next one may load.
func (p *program) bits(c call, mask uint32) {
	p.add(equal, c.number, 0, 4)
	p.add(load, argument(c.arg), 0, 0)
	p.add(anyBit, mask, 0, 1)
	p.add(result, failing(unix.EPERM), 0, 0)
	p.add(result, allow, 0, 0)
}

// create refuses a call that makes a set-user-id file.
func (p *program) create(o open) {
	p.add(equal, o.number, 0, 6)
	p.add(load, argument(o.flags), 0, 0)
	p.add(anyBit, unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY, 0, 3)
	p.add(load, argument(o.mode), 0, 0)
	p.add(anyBit, setUID, 0, 1)
	p.add(result, failing(unix.EPERM), 0, 0)
	p.add(result, allow, 0, 0)
}

// first refuses a call that changes the first process, which is bubblewrap's: it holds the lock
// that keeps protected files protected.
func (p *program) first(c call) {
	p.add(equal, c.number, 0, 4)
	p.add(load, argument(c.arg), 0, 0)
	p.add(equal, 1, 0, 1)
	p.add(result, failing(unix.EPERM), 0, 0)
	p.add(result, allow, 0, 0)
}

// ioctl refuses a request of ioctl. The kernel compares only its lower half.
func (p *program) ioctl(request uint32) {
	p.add(equal, unix.SYS_IOCTL, 0, 4)
	p.add(load, argument(1), 0, 0)
	p.add(equal, request, 0, 1)
	p.add(result, failing(unix.EPERM), 0, 0)
	p.add(load, 0, 0, 0) // there are more requests
}

// socket refuses the families that are not in the list.
func (p *program) socket(number uint32, families []uint32) {
	p.add(equal, number, 0, uint8(2+len(families)+1))
	p.add(load, argument(0), 0, 0)
	for i, family := range families {
		p.add(equal, family, uint8(len(families)-i), 0)
	}
	p.add(result, failing(unix.EAFNOSUPPORT), 0, 0)
	p.add(result, allow, 0, 0)
}

// bytes returns the program in the form of the kernel's struct sock_filter.
func (p program) bytes() []byte {
	b := make([]byte, 0, len(p)*int(unsafe.Sizeof(unix.SockFilter{})))
	for _, i := range p {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b
}

// filterOf returns the filter of system calls that is written for this processor.
func filterOf(write func(a *architecture) program) ([]byte, error) {
	a := processor()
	if a == nil {
		return nil, lacking{errors.New("there is no filter of system calls for this processor")}
	}
	return write(a).bytes(), nil
}
