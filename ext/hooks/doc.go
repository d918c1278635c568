// Package hooks runs other people's programs at fixed moments of a session, in the format and the protocol of Claude Code's hooks. A hook is a
// command. It gets JSON about an event on its standard input, and says what it thinks by its exit code or by JSON on its standard output.
//
// [Parse] reads a file of hooks. [New] returns Hooks, whose methods fit the doors of a session: [Hooks.BeforeRules] and [Hooks.BeforeQuestion]
// judge tool calls, [Hooks.Middleware] stands around them, and [Hooks.BeforeInput], [Hooks.BeforeStop] and [Hooks.BeforeCompact] are those of
// agent.Hooks. Start, OnEvent and End tell hooks about the session itself.
//
// Hooks see calls as Claude Code's tools: its names and its parameters, whatever the model's tools are called. A hook that hangs, floods, dies
// or prints nonsense is a warning. If it is a guard that must not fail, it blocks.
package hooks
