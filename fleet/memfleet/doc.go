// Package memfleet keeps a fleet in memory, for tests and for programs whose tasks need not survive
// them. [New] returns the engine; all that use it share its tenants, tasks and sessions.
//
// Nothing is kept on a disk, and other processes do not reach it: package natsfleet does both.
package memfleet
