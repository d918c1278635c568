package env

import "time"

// SetSettle gives what l starts from now on so long to end after KILL. Tests that are about what is
// killed, and not about how fast, are right on a busy machine, too.
func SetSettle(l *Local, d time.Duration) { l.settle = d }

// SetLockWait makes l give up waiting for locks after d.
func SetLockWait(l *Local, d time.Duration) { l.locks.wait = d }
