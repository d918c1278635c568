//go:build linux

// Command attack makes the system calls of the attacks in the tests of package sandbox. It prints "GOT name" for what it was allowed to do,
// and otherwise the error. What it does is harmless if it is allowed.
//
//	attack NAME [argument...]
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds every wait for a peer.
const patience = 20 * time.Second

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: attack NAME [argument...]")
		os.Exit(2)
	}
	name, args := os.Args[1], append(os.Args[2:], "", "", "", "")
	attack, ok := attacks()[name]
	if !ok {
		fmt.Fprintln(os.Stderr, "there is no attack", name)
		os.Exit(2)
	}
	if err := attack(args); err != nil {
		fmt.Println(name+":", err)
		os.Exit(1)
	}
	switch name {
	case "connect", "udp", "abstract", "proxy", "proxytls", "proxyget", "smuggle", "receive", "shm", "keyring", "vmread", "getfd", "pair", "owner": // what it reached says so
		fmt.Println("done:", name)
	default:
		fmt.Println("GOT", name)
	}
}

func attacks() map[string]func(args []string) error {
	return map[string]func([]string) error{
		"victim": victim, "stay": stay,
		"connect": connect, "udp": udp, "abstract": abstract, "proxy": proxy, "proxytls": proxyTLS, "proxyget": proxyGet, "smuggle": smuggle, "raw": raw, "vsock": vsock, "packet": packet, "netlink": netlink,
		"ptrace": ptrace, "vmread": vmread, "getfd": getfd, "pidfdsignal": pidfdsignal, "shm": shm, "makeshm": makeshm, "keyring": keyring, "makekey": makekey,
		"userns": userns, "clonens": clonens, "mounttmpfs": mountTmpfs, "opentree": openTree, "fsopen": fsopen, "chroot": chroot, "pivot": pivot, "setns": setns,
		"handle": handle, "io_uring": ioUring, "bpf": bpf, "perf": perf, "userfaultfd": userfaultfd, "fanotify": fanotify, "module": module,
		"kexec": kexec, "swapon": swapon, "clock": clock, "hostname": hostname, "reboot": reboot, "syslog": syslog, "iopl": iopl, "acct": acct,
		"setuidfile": setuidFile, "openat2": openat2, "int80": x32, "dropcaps": capabilities,
		"receive": receive, "nice": priority, "pair": pair, "owner": owner, "setattr": setattr, "neither": neither, "lease": lease, "exclusive": exclusive,
	}
}

// errno returns an error for a failed system call.
func errno(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// permitted returns nil if a call that was made with useless arguments failed only because of them.
func permitted(e syscall.Errno) error {
	switch e {
	case unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EOPNOTSUPP:
		return e
	}
	return nil
}

func pid(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func asErrno(err error) syscall.Errno {
	var e syscall.Errno
	if errors.As(err, &e) {
		return e
	}
	return 0
}
