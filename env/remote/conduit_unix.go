//go:build unix

package remote

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command the leader of a session, without a terminal: a program that asks for a
// password fails instead of waiting for an answer.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// termGroup asks a command's process group to end. The group may have ended.
func termGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// killGroup kills a command's process group, which may have ended.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
