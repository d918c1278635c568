package env

// Confinement holds what tools and commands are allowed to reach, for people and models. What is empty is unknown.
type Confinement struct {
	// Writable are the directories in which files may be changed; nil means that they are unknown, and empty that there are none.
	Writable []string
	// ReadOnly are the directories below these in which files may not be changed.
	ReadOnly []string
	// Network says in a few words what commands reach of the network, such as "none" or "only proxy.golang.org".
	Network string
	// Sandbox says in a few words what confines commands, such as "bubblewrap; only the working directory can be written to".
	Sandbox string
}

// Confined is implemented by environments that can say what tools and commands are allowed to reach. The system prompt tells the model.
type Confined interface{ Confinement() Confinement }

// ConfinementOf returns what e says about its confinement, the zero value if it says nothing.
func ConfinementOf(e Environment) Confinement {
	if c, ok := e.(Confined); ok {
		return c.Confinement()
	}
	return Confinement{}
}
