package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyOfEnd relays the signals that end a session: those of a terminal and of whoever stops services. One that was ignored when the
// command began, as by nohup, stays ignored, but for SIGINT and SIGQUIT, which shells ignore for what they start in the background.
func notifyOfEnd(signals chan<- os.Signal) {
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
}

// signalCode returns the exit code that shells expect after a signal.
func signalCode(sig os.Signal) int {
	const afterSignal = 128
	if s, ok := sig.(syscall.Signal); ok {
		return afterSignal + int(s)
	}
	return exitFailed
}
