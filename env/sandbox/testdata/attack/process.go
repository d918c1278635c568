//go:build linux

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func ptrace(args []string) error {
	p := pid(args[0])
	if err := unix.PtraceSeize(p); err != nil {
		return err
	}
	fmt.Println("attached to", args[0])
	return nil
}

// vmread reads the secret from the memory of the victim.
func vmread(args []string) error {
	address, err := strconv.ParseUint(strings.TrimPrefix(args[1], "0x"), 16, 64)
	if err != nil {
		return err
	}
	buf := make([]byte, pid(args[2]))
	local := []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
	_, err = unix.ProcessVMReadv(pid(args[0]), local, []unix.RemoteIovec{{Base: uintptr(address), Len: len(buf)}}, 0)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", buf)
	return nil
}

func getfd(args []string) error {
	p, err := unix.PidfdOpen(pid(args[0]), 0)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdGetfd(p, 0, 0)
	if err != nil {
		return err
	}
	buf := make([]byte, 100)
	n, _ := unix.Pread(fd, buf, 0)
	fmt.Printf("%s\n", buf[:max(n, 0)])
	return nil
}

func pidfdsignal(args []string) error {
	p, err := unix.PidfdOpen(pid(args[0]), 0)
	if err != nil {
		return err
	}
	return unix.PidfdSendSignal(p, unix.SIGUSR1, nil, 0)
}

// capabilities succeeds if this process has a capability that reaches beyond its own files, or can get one.
func capabilities([]string) error {
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return err
	}
	const files = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_FOWNER | 1<<unix.CAP_CHOWN
	noNew, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil {
		return err
	}
	held := caps[0].Permitted | caps[0].Effective | caps[0].Inheritable
	if more := held &^ files; more != 0 || caps[1].Permitted != 0 || noNew != 1 {
		fmt.Printf("capabilities %#x %#x, no new privileges %d\n", held, caps[1].Permitted, noNew)
		return nil
	}
	return errors.New("none")
}

func priority([]string) error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -20) }
