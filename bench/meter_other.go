//go:build !linux

package main

import "os/exec"

// meter measures processes by rusage, which counts the descendants that were waited for.
type meter struct{}

func newMeter() *meter { return &meter{} }

func (*meter) how() string { return "rusage: without processes that nobody waited for" }

func (*meter) run(cmd *exec.Cmd) (c cost, err error) {
	err = cmd.Run()
	if cmd.ProcessState != nil {
		c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return c, err
}

func (*meter) close() {}
