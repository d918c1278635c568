// Command attractor runs coding agents from a terminal or a script. It has flags and rendering; package internal/host prepares the
// sessions. Each command is a file: run.go, demo.go, inspect.go (tools, tool, prompt).
package main
