// Package fault has errors of a kind that is no part of their text: a program tells its user what
// to do about each kind.
package fault
