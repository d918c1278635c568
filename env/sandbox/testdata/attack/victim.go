//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"time"

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

// stay writes a line to a FIFO and stays with the FIFO open, in a session of its own if it can have one, until it is killed.
func stay(args []string) error {
	f, err := os.OpenFile(args[0], os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGPIPE)
	_, _ = unix.Setsid() // the leader of a group cannot have one
	if _, err := fmt.Fprintln(f, args[1]); err != nil {
		return err
	}
	for {
		time.Sleep(time.Hour)
		runtime.KeepAlive(f)
	}
}
