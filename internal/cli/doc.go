// Package cli is the command attractor: its flags and what it prints. Package internal/host prepares the sessions. Programs that add
// something to the command, such as traces, are a main function around Main. Each command is a file: run.go, demo.go, inspect.go (tools,
// tool, prompt).
package cli
