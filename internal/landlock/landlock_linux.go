package landlock

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights say what a rule allows.
type Rights uint8

// The rights, each with those before it.
const (
	List  Rights = iota + 1 // list directories
	Read                    // read and execute files
	Write                   // change everything, but make no devices
)

// Rule allows rights to a file, or to a directory and everything in it. With NoFollow a symbolic
// link that is in its place allows nothing.
type Rule struct {
	Path     string
	Rights   Rights
	NoFollow bool
}

const (
	reading = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	ofFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	devices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
)

// The versions of Landlock with which something is restricted for the first time.
const (
	Truncating = 3 // truncating files, Linux 6.2
	network    = 4 // the size of the attributes: TCP
	devicing   = 5 // ioctl of devices
	Scoped     = 6 // signals to other processes, and abstract Unix sockets, Linux 6.12
)

// ABI returns the version of Landlock that the kernel has.
func ABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("this kernel has no Landlock (CONFIG_SECURITY_LANDLOCK, and landlock in the kernel "+
			"parameter lsm): %w", errno)
	}
	return int(abi), nil
}

// New returns a ruleset that allows nothing but the rules, as far as a version of Landlock knows. A
// path that cannot be reached needs no rule. The caller closes the ruleset.
func New(abi int, rules []Rule) (_ *os.File, err error) {
	attr := attributes{files: unix.LANDLOCK_ACCESS_FS_REFER - 1} // all before it, which version 1 has
	if abi >= 2 {
		attr.files |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= Truncating {
		attr.files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= devicing {
		attr.files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= Scoped {
		attr.scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	ruleset, err := attr.create(abi)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		if err := add(ruleset.Fd(), r, attr.files); err != nil {
			return nil, errors.Join(err, ruleset.Close())
		}
	}
	return ruleset, nil
}

// NewScoped returns a ruleset that keeps the abstract Unix sockets of others from the thread, and
// allows everything else. It needs the version Scoped. The caller closes it.
func NewScoped(abi int) (*os.File, error) {
	attr := attributes{scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET}
	return attr.create(abi)
}

// attributes is the kernel's struct landlock_ruleset_attr.
type attributes struct{ files, network, scoped uint64 }

// beneath is the kernel's struct landlock_path_beneath_attr, which has no padding at its end.
type beneath struct {
	allowed uint64
	parent  int32
}

// create makes a ruleset, of which a version of Landlock knows only the first attributes.
func (a *attributes) create(abi int) (*os.File, error) {
	size := unsafe.Sizeof(*a)
	if abi < network {
		size = unsafe.Offsetof(a.network)
	} else if abi < Scoped {
		size = unsafe.Offsetof(a.scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(a)), size, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("landlock_create_ruleset", errno)
	}
	return os.NewFile(fd, "ruleset"), nil
}

// add adds a rule, with those of its rights that the ruleset handles.
func add(ruleset uintptr, r Rule, handled uint64) error {
	access := handled &^ devices
	switch r.Rights {
	case List:
		access &= unix.LANDLOCK_ACCESS_FS_READ_DIR
	case Read:
		access &= reading
	}
	flags := unix.O_PATH | unix.O_CLOEXEC
	if r.NoFollow {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Open(r.Path, flags, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: r.Path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }() // it is only a name
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return &os.PathError{Op: "stat", Path: r.Path, Err: err}
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
	case unix.S_IFLNK:
		return nil
	default:
		access &= ofFiles
	}
	if access == 0 {
		return nil
	}
	rule := beneath{allowed: access, parent: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return &os.PathError{Op: "landlock_add_rule", Path: r.Path, Err: errno}
	}
	return nil
}

// Restrict restricts the calling thread to a ruleset. What it starts gains no privileges by a
// set-user-id bit any more.
func Restrict(ruleset *os.File) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset.Fd(), 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return nil
}
