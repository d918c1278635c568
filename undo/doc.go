// Package undo takes back what a session has changed in its directory.
//
// [Read] returns the points at which the session has recorded its tree, [New] plans an undo of what
// it did after one of them, and [Undo.Run] carries it out. What somebody else has changed since
// stays, unless it is forced. Package checkpoint does the work on trees; the root package records
// them.
package undo
