// Command attractor runs coding-agent sessions from a terminal or a script. It is one host of package agent, and a thin one:
// flags, wiring and rendering. Each command is a file: run.go, demo.go, inspect.go (tools, tool, prompt).
package main
