//go:build unix

package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// runCommand runs a command to its end and returns its exit code. If a signal has ended the
// command, the helper ends by the same one.
//
// The command stays in the helper's process group, so signals to the group and from the terminal
// reach it directly. The helper outlasts them, because the command's connections are its own, and
// does not pass them on: the command would get each twice.
func runCommand(args, environ []string) (code int, err error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endings()...)
	runtime.LockOSThread() // the command ends if the thread that has started it ends
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ, os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = endWithParent()
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return exitNotFound, err
	case err != nil && !errors.As(err, &exit):
		return exitCannotRun, err
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return cmd.ProcessState.ExitCode(), nil
	}
	endBy(status.Signal())
	return 128 + int(status.Signal()), nil
}

// endings returns the signals that ask programs to end.
func endings() []os.Signal {
	return []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM}
}

// endBy ends this process by a signal, if that leaves no trace such as a core file.
func endBy(s syscall.Signal) {
	switch s {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL:
		signal.Reset(s)
		if syscall.Kill(syscall.Getpid(), s) == nil {
			time.Sleep(time.Second) // until it arrives
		}
	}
}
