// Package undo takes back what a session has changed in its directory: it reads the points at which the
// session has recorded its tree, plans, carries out and reports. Package checkpoint does the work on
// trees.
package undo
