package env

// Confinement describes what tools and commands can reach, for people and models. Empty fields are
// unknown.
type Confinement struct {
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

// A Confined is an Environment that reports its confinement. The system prompt shows it to the
// model.
type Confined interface{ Confinement() Confinement }

// ConfinementOf returns e's confinement, or the zero value if e does not report one.
func ConfinementOf(e Environment) Confinement {
	if c, ok := e.(Confined); ok {
		return c.Confinement()
	}
	return Confinement{}
}
