//go:build unix

package env

import (
	"errors"
	"syscall"
)

// KillNow sends KILL to every process tree that is still running, without grace and without waiting: for a host that is about to
// exit. Everybody else calls Close. At ContainCgroup the empty directories of the commands' cgroups stay when nobody calls Close,
// until a later Local in the same place removes them.
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
