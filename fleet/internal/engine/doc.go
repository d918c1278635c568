// Package engine has the parts of an engine that are the same whatever keeps its data: tasks and
// their claims, leases, slots, ledgers and asks, over a [Table] of records that are written by
// compare and swap, and a [Queue].
package engine
