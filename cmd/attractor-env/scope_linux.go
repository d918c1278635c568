package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// scopeABI is the first version of Landlock that can keep abstract Unix sockets from a command.
const scopeABI = 6

// runScope becomes a command that cannot connect to the abstract Unix sockets of other commands and of the machine. It has the variables of
// --environ.
func runScope(args []string) (code int, err error) {
	flags := flag.NewFlagSet("scope", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	given := flags.Int("environ", -1, "")
	if err := flags.Parse(args); err != nil {
		return exitUsage, err
	}
	if flags.NArg() == 0 {
		return exitUsage, errors.New("it needs a command after --")
	}
	return become(flags.Args(), *given, scope)
}

// scope confines the thread to abstract sockets of its own.
func scope() error {
	abi, err := landlockABI()
	if err != nil {
		return err
	}
	if abi < scopeABI {
		return fmt.Errorf("this kernel has version %d of Landlock, and version %d is needed (Linux 6.12)", abi, scopeABI)
	}
	attr := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return os.NewSyscallError("landlock_create_ruleset", errno)
	}
	return restrict(fd)
}
