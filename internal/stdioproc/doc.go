// Package stdioproc runs a server as a process to which one speaks by its standard input and
// output.
package stdioproc
