//go:build linux

package main

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// makeshm makes a segment of System V shared memory with a text, and shm reads it.
func makeshm(args []string) error {
	id, err := unix.SysvShmGet(pid(args[0]), 4096, unix.IPC_CREAT|unix.IPC_EXCL|0o666)
	if err != nil {
		return err
	}
	data, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		return err
	}
	copy(data, args[1])
	fmt.Println("id", id)
	return nil
}

func shm(args []string) error {
	id, err := unix.SysvShmGet(pid(args[0]), 4096, 0)
	if err != nil {
		return err
	}
	data, err := unix.SysvShmAttach(id, 0, unix.SHM_RDONLY)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", bytes.TrimRight(data, "\x00"))
	return nil
}

// makekey puts a key into the user's keyring, and keyring reads it.
func makekey(args []string) error {
	id, err := unix.AddKey("user", args[0], []byte(args[1]), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		return err
	}
	const everybody = 0x3f3f3f3f
	if err := unix.KeyctlSetperm(id, everybody); err != nil {
		return err
	}
	fmt.Println("id", id)
	return nil
}

func keyring(args []string) error {
	for _, ring := range []int{unix.KEY_SPEC_USER_KEYRING, unix.KEY_SPEC_SESSION_KEYRING, unix.KEY_SPEC_USER_SESSION_KEYRING} {
		if id, err := unix.KeyctlSearch(ring, "user", args[0], 0); err == nil {
			args[1] = strconv.Itoa(id)
		}
	}
	buf := make([]byte, 200)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, pid(args[1]), buf, len(buf))
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", buf[:min(n, len(buf))])
	return nil
}

// receive takes a descriptor from a Unix socket and writes a file below that directory.
func receive(args []string) error {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: args[0], Net: "unix"})
	if err != nil {
		return err
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.ReadMsgUnix(make([]byte, 1), control)
	if err != nil {
		return err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) == 0 {
		return fmt.Errorf("no descriptor: %v", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return err
	}
	fd, err := unix.Openat(fds[0], "new", unix.O_WRONLY|unix.O_CREAT, 0o644)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte("attack\n"))
	return err
}
