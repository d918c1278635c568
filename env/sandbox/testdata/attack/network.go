//go:build linux

package main

import (
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// say connects and sends a line, and waits for the answer: a listener that counts it has then done so.
func say(network, address string) error {
	c, err := net.DialTimeout(network, address, patience)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "attack\n"); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 8))
	return err
}

func connect(args []string) error { return say(args[0], args[1]) }

func udp(args []string) error { return say("udp", args[0]) }

func abstract(args []string) error { return say("unix", "@"+args[0]) }

func raw([]string) error {
	_, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
	return err
}

func packet([]string) error {
	_, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	return err
}

func vsock([]string) error {
	_, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	return err
}

// netlink sets the loopback interface down and up again, in the network namespace in which it runs, if it may.
func netlink([]string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo); err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo) // to what it is
}
