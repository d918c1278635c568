package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// paths is a flag that can be repeated.
type paths []string

func (p *paths) String() string { return "" }

func (p *paths) Set(value string) error {
	*p = append(*p, value)
	return nil
}

// runLandlock becomes a command that is confined by Landlock: it reads only --read and --write, and writes only --write. It also loses the
// capabilities of root and gets the filter of system calls that --filter, a descriptor, holds, and the variables of --environ. Nothing is left
// out silently: if the kernel cannot do something of it, the command does not run.
func runLandlock(args []string) (code int, err error) {
	flags := flag.NewFlagSet("landlock", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	var read, write paths
	flags.Var(&read, "read", "")
	flags.Var(&write, "write", "")
	filter := flags.Int("filter", -1, "")
	given := flags.Int("environ", -1, "")
	if err := flags.Parse(args); err != nil {
		return exitUsage, err
	}
	if *filter < 0 || flags.NArg() == 0 {
		return exitUsage, errors.New("it needs --filter DESCRIPTOR and, after --, a command")
	}
	return become(flags.Args(), *given, func() error {
		return errors.Join(confine(read, write), dropCapabilities(), installFilter(*filter))
	})
}

// become confines this program and makes it a command, with the variables that a descriptor has. It returns only if that fails.
func become(args []string, variables int, confine func() error) (code int, err error) {
	environment, err := environ(variables)
	if err != nil {
		return exitUsage, err
	}
	program, err := exec.LookPath(args[0])
	if err != nil {
		return exitNotFound, err
	}
	runtime.LockOSThread() // what follows confines this thread, which becomes the command
	if err := confine(); err != nil {
		return exitUsage, err
	}
	return exitCannotRun, os.NewSyscallError("exec "+program, unix.Exec(program, args, environment))
}

const (
	reading = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	ofFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	devices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK

	// minimumABI is the first version of Landlock that can forbid to truncate files.
	minimumABI = 3
)

// rights returns the attributes of a ruleset that handles all that a version of Landlock knows.
func rights(abi uintptr) unix.LandlockRulesetAttr {
	attr := unix.LandlockRulesetAttr{Access_fs: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV - 1} // all before it
	if abi >= 5 {
		attr.Access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return attr
}

// confine confines the thread to the paths.
func confine(read, write []string) error {
	abi, err := landlockABI()
	if err != nil {
		return err
	}
	if abi < minimumABI {
		return fmt.Errorf("this kernel has version %d of Landlock, and version %d is needed (Linux 6.2)", abi, minimumABI)
	}
	attr := rights(abi)
	size := unsafe.Sizeof(attr)
	if abi < 4 {
		size = unsafe.Sizeof(attr.Access_fs)
	} else if abi < 6 {
		size = unsafe.Offsetof(attr.Scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	for _, name := range read {
		if err := allow(fd, name, attr.Access_fs&reading); err != nil {
			return err
		}
	}
	for _, name := range write {
		if err := allow(fd, name, attr.Access_fs&^devices); err != nil {
			return err
		}
	}
	return restrict(fd)
}

// landlockABI returns the version of Landlock that the kernel has.
func landlockABI() (uintptr, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("this kernel has no Landlock (CONFIG_SECURITY_LANDLOCK, and landlock in the kernel parameter lsm): %w", errno)
	}
	return abi, nil
}

// restrict confines the thread to a ruleset, which it closes.
func restrict(ruleset uintptr) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return os.NewSyscallError("landlock_restrict_self", errno)
	}
	return os.NewSyscallError("close", unix.Close(int(ruleset)))
}

// allow adds a rule for a directory and everything in it, or for a file. One that does not exist needs no rule.
func allow(ruleset uintptr, name string, access uint64) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return errors.Join(&os.PathError{Op: "stat", Path: name, Err: err}, unix.Close(fd))
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errors.Join(&os.PathError{Op: "landlock_add_rule", Path: name, Err: errno}, unix.Close(fd))
	}
	return unix.Close(fd)
}

// dropCapabilities takes from root all capabilities but those with which it uses files of other users, as soon as it executes a program.
func dropCapabilities() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for c := uintptr(0); ; c++ {
		held, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, c, 0, 0, 0)
		if err != nil {
			break // there are no more
		}
		if held == 0 || c == unix.CAP_DAC_OVERRIDE || c == unix.CAP_FOWNER || c == unix.CAP_CHOWN {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			return os.NewSyscallError("prctl PR_CAPBSET_DROP", err)
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	caps[0].Inheritable, caps[1].Inheritable = 0, 0
	return os.NewSyscallError("capset", unix.Capset(&head, &caps[0]))
}

// installFilter installs the filter of system calls that a file holds.
func installFilter(fd int) error {
	f := os.NewFile(uintptr(fd), "filter")
	if f == nil {
		return fmt.Errorf("the descriptor %d of the filter is not open", fd)
	}
	data, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	const size = int(unsafe.Sizeof(unix.SockFilter{}))
	if len(data) == 0 || len(data)%size != 0 {
		return fmt.Errorf("the filter has %d bytes, which is not a number of instructions", len(data))
	}
	program := unix.SockFprog{Len: uint16(len(data) / size), Filter: (*unix.SockFilter)(unsafe.Pointer(&data[0]))}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(data)
	if errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	return nil
}
