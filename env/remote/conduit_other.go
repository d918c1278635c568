//go:build !unix

package remote

import "os/exec"

// ownGroup does nothing: there are no process groups here.
func ownGroup(*exec.Cmd) {}

// termGroup kills a command, which may have ended: there is no way to ask it.
func termGroup(cmd *exec.Cmd) { killGroup(cmd) }

// killGroup kills a command, which may have ended.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
