// Package tty uses a person's terminal line by line: finished text scrolls by as that of any
// command, and a few lines at the bottom, which are drawn again when they change, hold what the
// person types. It sends the terminal no queries, whose answers could end up in the input, and
// changes no mode that would spoil the terminal for the shell if the process is killed.
//
// Bubble Tea v2 with its inline renderer is not used: it leaves blank lines in the terminal's
// history when it prints more lines than fit, draws lines twice after a resize, sends such queries,
// and leaves the keyboard in another mode if the process is killed.
package tty
