// Package tty is a person's terminal, used line by line: finished text scrolls by as that of any command, and a few lines at the bottom, which
// are drawn again when they change, hold what the person types. It sends the terminal no queries, whose answers could end up in the input, and
// changes no mode that would spoil the terminal for the shell if the process is killed.
package tty
