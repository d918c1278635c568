//go:build unix

package workspace

import (
	"os/exec"
	"syscall"
)

// endGroup makes a command the leader of a process group, which is killed as a whole when the
// context ends: git starts ssh and others.
func endGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
