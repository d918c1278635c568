//go:build unix

package env

import (
	"errors"
	"syscall"
)

// KillNow sends KILL to every process tree that is still running and does not wait. It is for a
// host that is about to exit; all others call Close. At ContainCgroup the commands' empty cgroups
// remain unless Close is called, until a later Local in the same place removes them.
func (l *Local) KillNow() error {
	l.table.mu.Lock()
	defer l.table.mu.Unlock()
	var errs []error
	for _, p := range l.table.live {
		if p, ok := p.(*process); ok {
			errs = append(errs, p.tree.Signal(syscall.SIGKILL))
		}
	}
	return errors.Join(errs...)
}
