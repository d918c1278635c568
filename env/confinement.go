package env

import (
	"cmp"
	"time"
)

// Confinement describes what tools and commands can reach. Empty fields are unknown.
type Confinement struct {
	// Containment says what confines commands. It begins with the level of containment,
	// cgroup+pidns, pidns, cgroup or group, and a semicolon if there is more, such as a sandbox and
	// limits. SESSION_START shows it.
	Containment string
	// HidesHost says that the host's processes, and with them their environment and memory, are
	// hidden from commands.
	HidesHost bool
	// KillGrace is the time between asking a process tree to end and killing it.
	KillGrace time.Duration
	// Writable lists the directories in which files may be changed. Nil means unknown; empty means
	// none.
	Writable []string
	// ReadOnly lists directories inside the writable ones in which files may not be changed.
	ReadOnly []string
	// Network says briefly what commands reach of the network, such as "none" or "only
	// proxy.golang.org".
	Network string
	// Sandbox says briefly what confines commands, such as "bubblewrap; only the working directory
	// is writable".
	Sandbox string
	// Limits holds the limits of commands. Zero means none.
	Limits Limits
}

// A Confined is an Environment that reports its confinement. The system prompt shows the model what
// it can reach.
type Confined interface{ Confinement() Confinement }

// ConfinementOf returns what e reports. A Containment that it does not report is "unknown".
func ConfinementOf(e Environment) (c Confinement) {
	if confined, ok := e.(Confined); ok {
		c = confined.Confinement()
	}
	c.Containment = cmp.Or(c.Containment, "unknown")
	return c
}
