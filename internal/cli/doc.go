// Package cli is the command attractor: its flags and what it prints. The package at the root
// prepares the sessions. A program that adds something to the command, such as traces, calls
// Program.Main with an Instrument. Most commands have a file of their own, such as run.go and
// demo.go; inspect.go has tools, tool and prompt.
package cli
