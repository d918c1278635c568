package main

import "syscall"

// endWithParent kills the command if this process is killed: without it, the command has no way to
// the network.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
