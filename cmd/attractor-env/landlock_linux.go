package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/internal/landlock"
)

// paths is a flag that can be repeated.
type paths []string

func (p *paths) String() string { return "" }

func (p *paths) Set(value string) error {
	*p = append(*p, value)
	return nil
}

// runLandlock becomes a command that is confined by Landlock: it reads only --read and --write, and
// writes only --write. It also loses the capabilities of root and gets the filter of system calls
// that --filter, a descriptor, holds, and the variables of --environ. Nothing is left out silently:
// if the kernel cannot do something of it, the command does not run.
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
		return errors.Join(confine(read, write), landlock.DropCapabilities(unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER,
			unix.CAP_CHOWN), installFilter(*filter))
	})
}

// become confines this program and makes it a command, with the variables that a descriptor has. It
// returns only if that fails.
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

// confine confines the thread to the paths.
func confine(read, write []string) error {
	abi, err := landlock.ABI()
	if err == nil && abi < landlock.Truncating {
		err = fmt.Errorf("this kernel has version %d of Landlock, and version %d is needed (Linux 6.2)", abi,
			landlock.Truncating)
	}
	if err != nil {
		return err
	}
	var rules []landlock.Rule
	for _, name := range read {
		rules = append(rules, landlock.Rule{Path: name, Rights: landlock.Read})
	}
	for _, name := range write {
		rules = append(rules, landlock.Rule{Path: name, Rights: landlock.Write})
	}
	ruleset, err := landlock.New(abi, rules)
	if err != nil {
		return err
	}
	return errors.Join(landlock.Restrict(ruleset), ruleset.Close())
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
	return landlock.Filter(data)
}
