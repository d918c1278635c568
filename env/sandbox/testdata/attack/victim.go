//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// victim is a process of the host: it has a secret in its memory, its environment and an open file, and prints the signals that it gets.
func victim(args []string) error {
	secret := []byte(args[0])
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGTERM, unix.SIGUSR1, unix.SIGHUP, unix.SIGINT, unix.SIGWINCH)
	fmt.Printf("%d %#x\n", os.Getpid(), &secret[0])
	for s := range signals {
		fmt.Println("signalled", s)
	}
	return errors.New(string(secret))
}

// listen accepts connections on a Unix socket and says so; it is a server that a command leaves running.
func listen(args []string) error {
	l, err := net.Listen("unix", args[0])
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
}
