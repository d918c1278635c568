// Package memfleet keeps a fleet in memory, for tests and for programs whose tasks need not survive
// them.
package memfleet
