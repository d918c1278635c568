// Package memfleet keeps a fleet in memory: the reference for other engines, and an engine for
// tests and for programs whose tasks need not survive them.
//
// Each part of the contract is one table under one lock, in a file of its own. An engine on a
// database has the same tables: where this one holds a lock, that one has a transaction, and where
// this one waits for a change, that one is notified or polls.
package memfleet
