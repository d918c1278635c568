package host

// Permission says what becomes of the tool calls that the rules ask about.
type Permission uint8

// The permissions. A rule that denies counts in all of them.
const (
	Ask      Permission = iota // a person decides
	AllowAll                   // they are allowed
	ReadOnly                   // they are refused, and so is every call that changes or runs something
)
