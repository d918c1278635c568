package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyOfEnd relays the signals that end a session, which come from terminals and service managers. SIGHUP stays ignored if it was
// ignored at the start, as under nohup. SIGINT and SIGQUIT do not, because shells ignore them for background jobs.
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
