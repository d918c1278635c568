package contain

// Limits bounds what a command and all processes that it starts may use together. Zero means no
// limit.
type Limits struct {
	Processes int64 // threads count too
	Memory    int64 // in bytes
}

// Reached says which limits a command has reached.
type Reached struct{ Processes, Memory bool }
