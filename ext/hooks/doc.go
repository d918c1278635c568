// Package hooks runs other people's programs at fixed moments of a session, in the format and the
// protocol of Claude Code's hooks. A hook is a command. It gets JSON about an event on its standard
// input, and answers by its exit code or by JSON on its standard output.
//
// [Parse] reads a file of hooks. [New] returns [Hooks], and [Hooks.Attach] adds them to the options
// of a session:
//
//	h := hooks.New(hooks.Options{Hooks: hooks.Parse(file).Hooks, Env: where, Dir: dir})
//	h.Attach(&options)
//	session, err := agent.New(ctx, options)
//	...
//	err = h.Start(ctx, session, "startup", model)
//
// Hosts that need another order call the methods one by one: [Hooks.BeforeRules] and
// [Hooks.BeforeQuestion] judge tool calls, [Hooks.Middleware] wraps them, and [Hooks.BeforeInput],
// [Hooks.BeforeStop] and [Hooks.BeforeCompact] are those of agent.Hooks. Start, OnEvent and End
// tell hooks about the session itself.
//
// Hooks in Go need none of this: they are agent.Hooks. The package looks for no files and trusts
// nobody; a host decides which files count.
//
// Hooks see calls as Claude Code's tools: its names and its parameters, whatever the model's tools
// are called. A hook that hangs, floods, dies or prints nonsense is a warning. If it is a guard
// that must not fail, it blocks.
package hooks
